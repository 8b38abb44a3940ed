"""The tensors that a network takes, made from a graph as it was read."""

import hashlib
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_matrix, diags
from torch import Tensor

from justjump.data import Graph, Split
from justjump.ops import Adjacency, SparseMatrix

# Below this share of non-zeros, the product with a sparse feature matrix is faster than with a dense one.
SPARSE_BELOW = 0.1


@dataclass(frozen=True, eq=False)
class Inputs:
    """Features ``[N, F]``, graph structure and labels of one graph.

    ``batch`` ``[N]`` is the number of the graph that each node belongs to, where whole graphs have labels.
    """

    x: Tensor | SparseMatrix
    adj: Adjacency
    labels: Tensor
    batch: Tensor | None = None


def prepare(graph: Graph, normalize_features: bool = False) -> Inputs:
    """Tensors of a graph. The features become a sparse matrix if most of them are zero.

    >>> from justjump.data import load
    >>> prepare(load("cora")).x
    SparseMatrix(shape=(2708, 1433), entries=49216)
    """
    features = graph.features
    if isinstance(features, np.ndarray) and np.count_nonzero(features) < SPARSE_BELOW * features.size:
        features = csr_matrix(features)
    if normalize_features:
        features = _row_normalized(features)
    if isinstance(features, np.ndarray):
        x: Tensor | SparseMatrix = _tensor(features.astype(np.float32, copy=False))
    else:
        x = SparseMatrix.from_scipy(features.astype(np.float32))
    weight = None if graph.edge_weight is None else _tensor(graph.edge_weight)
    adj = Adjacency.build(_tensor(graph.edge_index), weight, graph.num_nodes).with_self_loops()
    batch = None if graph.batch is None else _tensor(graph.batch)
    return Inputs(x, adj, _tensor(graph.labels), batch)


def _tensor(array: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory; read-only memory is copied, because torch would warn."""
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def data_hash(graph: Graph, split: Split) -> str:
    """A digest of everything that training reads: equal digests mean equal data."""
    return _digest(graph, [split.train, split.val, split.test])


def graph_hash(graph: Graph) -> str:
    """A digest of a graph and of its masks, if it has some."""
    return _digest(graph, [] if graph.masks is None else list(graph.masks))


def _digest(graph: Graph, node_sets: list[np.ndarray]) -> str:
    features = graph.features
    arrays = [features] if isinstance(features, np.ndarray) else [features.indptr, features.indices, features.data]
    arrays += [graph.edge_index, graph.labels, *node_sets]
    arrays += [array for array in (graph.edge_weight, graph.batch) if array is not None]
    names = [str(graph.features.shape), *graph.class_names, "|", *(graph.feature_names or ())]
    digest = hashlib.sha256("\0".join(names).encode())
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _row_normalized(features: csr_matrix | np.ndarray) -> csr_matrix | np.ndarray:
    """Each row divided by the sum of its absolute values; an empty row stays empty."""
    if isinstance(features, np.ndarray):
        total = np.abs(features).sum(axis=1, keepdims=True)
        return features / np.where(total > 0, total, 1)
    total = abs(features) @ np.ones(features.shape[1])
    return csr_matrix(diags(1 / np.where(total > 0, total, 1)) @ features)
