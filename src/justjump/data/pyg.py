"""Conversion of graphs from and to PyTorch Geometric."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_matrix, csr_matrix, issparse
from torch_geometric.data import Batch, Data, Dataset, HeteroData

from justjump.matrices import check_tensor
from justjump.warn import warn

from .columns import Table
from .errors import DataError, DataWarning
from .graph import Graph
from .labels import Labels, Task, find_labels
from .masks import MASK_KEYS
from .preprocess import Preprocessing


def from_pyg(data: Data, task: Task | None = None) -> dict[str, Any]:
    """Arguments of `Graph` for a `Data` object, as copies on the CPU; `y` is read for `task`, if that is given."""
    if hasattr(data, "columns"):
        raise DataError("expected a graph, got a data frame: use Graph.from_pandas(nodes, edges)")
    if not isinstance(data, Data):
        remedy = "make a Data(x=..., edge_index=..., y=...) of what you have"
        if isinstance(data, str | Path):
            remedy = "read it first, with justjump.load(name) or justjump.read_graph(path)"
        elif isinstance(data, HeteroData):
            remedy = "convert a HeteroData with .to_homogeneous()"
        raise DataError(f"expected a graph (a torch_geometric.data.Data), got {type(data).__name__}: {remedy}")
    if data.x is None:
        raise DataError("data.x is missing: give every node features, or use torch.eye(num_nodes)")
    if issparse(data.x):  # of which PyG cannot tell the number of nodes
        data = copy(data)
        data.x = _sparse_tensor(data.x)
    edge_index, edge_weight = _edges(data)
    labels = _labels(data, task)
    return {
        "edge_index": edge_index,
        "features": _features(data.x),
        "labels": labels.values,
        "class_names": labels.names,
        "task": labels.task,
        "edge_weight": edge_weight,
        "masks": _masks(data),
    }


def several(graphs: Any, whole: bool = False) -> Any:
    """The graphs of a list, of a PyG dataset, or of a `Batch` with a label per graph; otherwise what was given.

    A list or dataset of one graph with labels of nodes is that graph. With `whole`, one graph is a list of one, and
    labels of its nodes are left out.
    """
    if isinstance(graphs, Batch) and (whole or _is_other_count(graphs)):
        graphs = graphs.to_data_list()
    if whole and isinstance(graphs, Data):
        graphs = [graphs]
    if not isinstance(graphs, list | tuple | Dataset) or isinstance(graphs, Data):
        return graphs
    data = list(graphs)
    if not data:
        raise DataError("there are no graphs in the list: give at least one")
    for number, one in enumerate(data):
        if not isinstance(one, Data):
            advice = ": join graphs with Graph.from_graphs(graphs, labels)" if isinstance(one, Graph) else ""
            raise DataError(f"graph {number} of the list is a {type(one).__name__}, expected a PyG Data{advice}")
    if len(data) == 1:  # a dataset such as Planetoid holds one graph, with labels for its nodes
        if _is_label_of_graph(data[0]):
            return data
        return [without_labels(data[0])] if whole else data[0]
    return data


def _is_other_count(data: Data) -> bool:
    """Whether there is another number of labels than of nodes."""
    y = None if data.y is None else torch.as_tensor(data.y)
    return y is not None and (y.ndim == 0 or y.shape[0] != data.num_nodes)


def labels_of_graphs(graphs: list[Data]) -> np.ndarray:
    """`[G]` or `[G, K]`: the `y` of each graph; if no graph has one, all are unknown."""
    if all(data.y is None for data in graphs):
        return np.full(len(graphs), -1)
    for number, data in enumerate(graphs):
        if data.y is None:
            raise DataError(f"graph {number} of the list has no y: give each graph a label")
        if not _is_label_of_graph(data):
            raise DataError(
                f"graph {number} of the list has {torch.as_tensor(data.y).shape[0]} labels, one per node: a list means "
                "whole graphs with one label each. To learn the labels of nodes in several graphs, join them with "
                "torch_geometric.data.Batch.from_data_list and pass the one Data"
            )
    labels = [_array(torch.as_tensor(data.y)).reshape(-1) for data in graphs]
    for number, label in enumerate(labels):
        if len(label) != len(labels[0]):
            raise DataError(f"graph {number} has {len(label)} labels, graph 0 has {len(labels[0])}: all need the same")
    rows = np.stack(labels)
    return rows[:, 0] if rows.shape[1] == 1 else rows


def without_labels(data: Data) -> Data:
    data = copy(data)
    data.y = None
    return data


def _is_label_of_graph(data: Data) -> bool:
    """Whether `y` is one row: a number, `[1]` or `[1, K]`; a vector `[K]` counts unless it has an entry per node."""
    y = torch.as_tensor(data.y) if data.y is not None else torch.empty(0)
    return y.ndim == 0 or (y.ndim <= 2 and y.shape[0] == 1) or (y.ndim == 1 and 0 < len(y) != data.num_nodes)


def to_pyg(graph: Graph) -> Data:
    """Make a `Data` object with copies of the arrays of a graph."""
    features = graph.features
    if isinstance(features, Table):
        features = Preprocessing.fit(features, "none").apply(features)
    x = torch.tensor(features) if isinstance(features, np.ndarray) else _sparse_tensor(features)
    data = Data(x=x, edge_index=torch.tensor(graph.edge_index), y=torch.tensor(graph.labels))
    if graph.edge_weight is not None:
        data.edge_weight = torch.tensor(graph.edge_weight)
    if graph.masks is not None:
        for key, mask in zip(MASK_KEYS, graph.masks, strict=True):
            data[key] = torch.tensor(mask)
    return data


def _array(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:  # numpy has no such type
        tensor = tensor.float()
    return tensor.detach().cpu().numpy().copy()


def _coo(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Row, column and value `[nnz]` of a sparse torch tensor or of a `torch_sparse.SparseTensor`."""
    if not isinstance(matrix, torch.Tensor):
        row, column, value = matrix.coo()
    else:
        try:
            check_tensor(matrix)
        except ValueError as error:
            raise DataError(
                f"data holds a sparse tensor that is none: {error}; make it with check_invariants=True"
            ) from error
        matrix = matrix.detach().to_sparse(layout=torch.sparse_coo).coalesce()
        (row, column), value = matrix.indices(), matrix.values()
    return _array(row), _array(column), None if value is None else _array(value)


def _is_sparse(matrix: Any) -> bool:
    return hasattr(matrix, "coo") if not isinstance(matrix, torch.Tensor) else matrix.layout != torch.strided


def _features(x: Any) -> Any:
    if not _is_sparse(x):
        return _array(torch.as_tensor(x))
    row, column, value = _coo(x)
    shape = tuple(x.size()) if isinstance(x, torch.Tensor) else tuple(x.sizes())
    return coo_matrix((np.ones(len(row), np.float32) if value is None else value, (row, column)), shape=shape).tocsr()


def _edges(data: Data) -> tuple[np.ndarray, np.ndarray | None]:
    if data.edge_index is not None:
        weight = data.get("edge_weight")
        if weight is not None:
            weight = _array(weight)
            weight = weight[:, 0] if weight.ndim == 2 and weight.shape[1] == 1 else weight
        return _array(data.edge_index), _weight_of_attributes(data) if weight is None else weight
    adj_t = data.get("adj_t")
    if adj_t is None:
        raise DataError("data has neither edge_index nor adj_t: set edge_index to a [2, E] tensor (E may be 0)")
    if not _is_sparse(adj_t):
        raise DataError(
            f"data.adj_t must be a sparse matrix, got {type(adj_t).__name__}: use torch_geometric's ToSparseTensor"
        )
    target, source, weight = _coo(adj_t)  # row i of the transposed adjacency holds the edges into node i
    if weight is not None and (weight == 1).all():
        weight = None
    return np.stack([source, target]), weight


def _weight_of_attributes(data: Data) -> np.ndarray | None:
    """One number per edge in `edge_attr` is its weight, if it can be one; a warning says if it is ignored."""
    attributes = data.get("edge_attr")
    if attributes is None:
        return None
    values = _array(torch.as_tensor(attributes))
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1:
        why = f"has {values.shape[-1]} values per edge, and the layers take one weight"
    elif len(values) != data.edge_index.size(1):
        raise DataError(f"data.edge_attr has {len(values)} rows for {data.edge_index.size(1)} edges: give one per edge")
    elif values.dtype.kind not in "iufb" or not np.isfinite(values).all() or (values < 0).any():
        why = "holds numbers that cannot be weights: these are finite and not negative"
    else:
        return values
    message = f"data.edge_attr is ignored: it {why}; set data.edge_weight to numbers [E] to use weights"
    warn(message, DataWarning)
    return None


def _labels(data: Data, task: Task | None) -> Labels:
    if data.y is None:
        return Labels(np.full(data.x.size(0), -1), (), "multiclass")
    try:
        y = torch.as_tensor(data.y)
    except (TypeError, ValueError, RuntimeError):
        raise DataError(
            f"data.y is a {type(data.y).__name__} and no tensor of numbers: give each class a number, counted from 0"
        ) from None
    if _is_other_count(data):
        raise DataError(
            f"data.y has the shape {list(y.shape)} for {data.num_nodes} nodes: give each node a label; if whole graphs "
            "have the labels, pass a list of these, or torch_geometric.data.Batch.from_data_list of it"
        )
    return find_labels(_array(y), task)


def _masks(data: Data) -> tuple[np.ndarray, ...] | None:
    found = [data.get(key) for key in MASK_KEYS]
    if all(mask is None for mask in found):
        return None
    # Some datasets have only a training mask. The other masks are then empty.
    return tuple(np.zeros(data.x.size(0), bool) if mask is None else _array(mask) for mask in found)


def _sparse_tensor(matrix: Any) -> torch.Tensor:
    """A scipy matrix as PyG has features."""
    csr = csr_matrix(matrix, copy=True)
    csr.sum_duplicates()
    coo = csr.tocoo()
    return torch.sparse_coo_tensor(
        torch.tensor(np.stack([coo.row, coo.col]), dtype=torch.long),
        torch.tensor(coo.data),
        size=coo.shape,
        is_coalesced=True,
        check_invariants=True,
    )
