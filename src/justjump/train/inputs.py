"""The tensors that a network takes, made from a graph as it was read."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from justjump.data import Graph, Preprocessing, Split, Table
from justjump.ops import Adjacency, SparseMatrix
from justjump.train.protocol import Scale


@dataclass(frozen=True, eq=False)
class Inputs:
    """Features ``[N, F]``, graph structure and labels of one graph.

    ``batch`` ``[N]`` is the number of the graph that each node belongs to, where whole graphs have labels.
    ``preprocessing`` is what made the features of those of the graph. With ``by_layer``, outputs are computed layer by
    layer in blocks of nodes, in less memory and more time.
    """

    x: Tensor | SparseMatrix
    adj: Adjacency
    labels: Tensor
    preprocessing: Preprocessing
    batch: Tensor | None = None
    by_layer: bool = False

    def with_labels(self, graph: Graph) -> "Inputs":
        """The same with the labels of a graph, which may have been read for another task."""
        return replace(self, labels=_tensor(graph.labels).to(self.labels.device))

    def to(self, device: torch.device) -> "Inputs":
        """The same tensors on another device."""
        if self.labels.device == device:
            return self
        batch = None if self.batch is None else self.batch.to(device)
        return replace(self, x=self.x.to(device), adj=self.adj.to(device), labels=self.labels.to(device), batch=batch)


def prepare(graph: Graph, preprocessing: Preprocessing | Scale = "auto") -> Inputs:
    """Tensors of a graph. The features become a sparse matrix if most of them are zero.

    Args:
        graph: with features of any kind
        preprocessing: what is done with them; a scale stands for one that is fitted on this graph

    >>> from justjump.data import load
    >>> prepare(load("cora")).x
    SparseMatrix(shape=(2708, 1433), entries=49216)
    """
    if not isinstance(preprocessing, Preprocessing):
        preprocessing = Preprocessing.fit(graph.features, preprocessing, graph.feature_names)
    features = preprocessing.apply(graph.features)
    if isinstance(features, np.ndarray):
        x: Tensor | SparseMatrix = _tensor(features.astype(np.float32, copy=False))
    else:
        x = SparseMatrix.from_scipy(features.astype(np.float32))
    weight = None if graph.edge_weight is None else _tensor(graph.edge_weight)
    adj = Adjacency.build(_tensor(graph.edge_index), weight, graph.num_nodes).with_self_loops()
    batch = None if graph.batch is None else _tensor(graph.batch)
    return Inputs(x, adj, _tensor(graph.labels), preprocessing, batch)


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
    names = [str(graph.features.shape), *graph.class_names, "|", *(graph.feature_names or ())]
    features, arrays = graph.features, []
    if isinstance(features, Table):
        arrays = [column.values for column in features.columns]
        names += [text for column in features.columns for text in (column.kind, *column.texts)]
    else:
        arrays = [features] if isinstance(features, np.ndarray) else [features.indptr, features.indices, features.data]
    arrays += [graph.edge_index, graph.labels, *node_sets]
    arrays += [array for array in (graph.edge_weight, graph.batch) if array is not None]
    digest = hashlib.sha256("\0".join(names).encode())
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
