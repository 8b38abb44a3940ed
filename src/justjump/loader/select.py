"""The part of a PyG ``Data`` that a sample is."""

from copy import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from justjump.matrices import check_tensor
from justjump.ops import Sample, SparseMatrix

# What the sample says itself.
OWN = ("edge_index", "num_nodes")


class Selection:
    """Selects nodes and edges of a ``Data``: everything with one entry per node or per edge, the rest as it is.

    Sparse features are kept by rows, so that taking some of them does not read all.
    """

    def __init__(self, data: Data) -> None:
        self.data = data
        node, edge = data.is_node_attr, data.is_edge_attr
        names = [name for name, _ in data if name not in OWN]
        self.of_nodes = [name for name in names if node(name)]
        self.of_edges = [name for name in names if name not in self.of_nodes and edge(name)]
        self.sparse = {name: _by_rows(data[name]) for name in self.of_nodes if _is_sparse(data[name])}

    def __call__(self, nodes: Tensor, edge_index: Tensor, edges: Tensor) -> Data:
        """The nodes, and the edges with their ends as places among them."""
        out = copy(self.data)
        for name in self.of_nodes:
            value = self.data[name]
            out[name] = self._rows(name, nodes) if name in self.sparse else _take(self.data, name, value, nodes)
        for name in self.of_edges:
            out[name] = _take(self.data, name, self.data[name], edges)
        out.edge_index = edge_index
        if "num_nodes" in self.data:
            out.num_nodes = len(nodes)
        return out

    def _rows(self, name: str, nodes: Tensor) -> Tensor:
        part = self.sparse[name].take(nodes)
        assert part.weight is not None
        place = torch.stack([part.target, part.col]).long()
        return torch.sparse_coo_tensor(place, part.weight, part.shape, is_coalesced=True, check_invariants=False)


def induced(adj_rowptr: Tensor, adj_col: Tensor, sample: Sample) -> tuple[Tensor, Tensor]:
    """All edges between the nodes of a sample: ``edge_index`` ``[2, E]`` and their positions in the graph ``[E]``."""
    place = torch.full((len(adj_rowptr) - 1,), -1, dtype=torch.int64)
    place[sample.nodes.flip(0)] = torch.arange(len(sample.nodes) - 1, -1, -1)
    rows = SparseMatrix.__new__(SparseMatrix)
    rows._set((len(adj_rowptr) - 1, len(adj_rowptr) - 1), adj_rowptr, adj_col, torch.arange(len(adj_col)))
    part = rows.take(sample.nodes)
    source = place[part.col.long()]
    inside = source >= 0
    assert part.weight is not None
    return torch.stack([source, part.target.long()])[:, inside], part.weight[inside]


def _is_sparse(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout != torch.strided


def _by_rows(x: Tensor) -> SparseMatrix:
    check_tensor(x)
    coo = x.detach().cpu().to_sparse(layout=torch.sparse_coo).coalesce()
    row, col = coo.indices()
    return SparseMatrix.from_entries((x.size(0), x.size(1)), row, col, coo.values())


def _take(data: Data, name: str, value: Any, index: Tensor) -> Any:
    dim = data.__cat_dim__(name, value)
    if isinstance(value, Tensor):
        return value.index_select(dim, index.to(value.device))
    if isinstance(value, np.ndarray):
        return np.take(value, index.numpy(), axis=dim)
    if isinstance(value, list | tuple):
        return [value[i] for i in index.tolist()]
    return value[index]
