"""Reading the edges of a graph: validated once, sorted once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from justjump.matrices import check_tensor, checked_scipy
from justjump.memory import available_memory
from justjump.ops.matrix import sort_entries
from justjump.ops.operation import is_traced

_NODE_BYTES = 20  # of each node while edges are sorted: its number of edges, and two pointers


@dataclass(eq=False)
class SortedEdges:
    """What an ``edge_index`` was sorted into.

    Attributes:
        edge_index: its values when it was sorted
        num_nodes: N
        fewest: the number of nodes that the edges need
        order: ``[E]`` from the order of ``edge_index`` to CSR order
        graph: the edges without weights
        weighted: the weights that came last, and the graph with them
    """

    edge_index: Tensor
    num_nodes: int
    fewest: int
    order: Tensor
    graph: Any
    weighted: tuple[Tensor, Any] | None = None

    def with_weight(self, edge_weight: Tensor) -> Any:
        """The graph with weights ``[E]`` in the order of ``edge_index``; the same weights give the same graph."""
        weight = check_weight(edge_weight, self.edge_index.size(1))
        if weight.requires_grad:
            return self.graph._with_weight(weight[self.order])
        kept = self.weighted  # another thread may replace it at any moment
        if kept is None or not same_values(kept[0], weight):
            kept = self.weighted = weight.clone(), self.graph._with_weight(weight[self.order])
        return kept[1]


# Keyed by the tensor itself, which it does not keep alive. A copy of the values tells whether they have changed, by
# whatever way: a version counter would miss changes through numpy or .data.
_SORTED: WeakIdKeyDictionary = WeakIdKeyDictionary()


def sorted_edges(
    edge_index: Tensor, num_nodes: int | None, make: Callable[[int, Tensor, Tensor, Tensor], Any]
) -> SortedEdges:
    """The edges by target and then by source; those of the same tensor with the same values are not sorted again.

    ``make(num_nodes, rowptr, col, order)`` makes the graph.
    """
    check_edge_index(edge_index)
    if num_nodes is not None and (not isinstance(num_nodes, Integral) or num_nodes < 0):
        raise ValueError(f"num_nodes={num_nodes!r} is no number of nodes: give 0 or more, or leave it out")
    if edge_index in _SORTED:
        found: SortedEdges = _SORTED[edge_index]
        wanted = found.fewest if num_nodes is None else num_nodes
        if wanted == found.num_nodes and same_values(found.edge_index, edge_index):
            return found
    fewest = int(edge_index.max()) + 1 if edge_index.numel() else 0
    num_nodes = fewest if num_nodes is None else num_nodes
    if edge_index.numel():
        check_nodes("edge_index", edge_index, num_nodes)
    _check_memory(num_nodes, fewest)
    copy = edge_index.clone()
    source, target = copy
    rowptr, order = sort_entries((num_nodes, num_nodes), target, source)
    found = SortedEdges(copy, num_nodes, fewest, order, make(num_nodes, rowptr, source[order], order))
    _SORTED[edge_index] = found
    return found


def _check_memory(num_nodes: int, fewest: int) -> None:
    """Raise a ValueError if the pointer of a graph takes more memory than there is."""
    need = _NODE_BYTES * num_nodes
    if need > 2**30 and need > (room := available_memory()):
        raise ValueError(
            f"a graph of {num_nodes} nodes (edge_index holds {fewest - 1}) takes {need / 1e9:.3g} GB, but only "
            f"{room / 1e9:.3g} GB of memory are available: number the nodes from 0 without gaps"
        )


def same_values(saved: Tensor, now: Tensor) -> bool:
    return saved.dtype == now.dtype and saved.device == now.device and torch.equal(saved, now)


def edges_of_matrix(adj_t: Any) -> tuple[Tensor, Tensor | None, int]:
    """``edge_index``, weights and N of a square adjacency matrix, row = target: torch, torch_sparse or scipy."""
    if isinstance(adj_t, Tensor):
        if not is_traced(adj_t) and not adj_t.is_meta:
            check_tensor(adj_t)
        coo = adj_t.to_sparse().coalesce()
        (target, source), value, shape = coo.indices(), coo.values(), tuple(coo.shape)
    elif hasattr(adj_t, "sparse_sizes"):  # torch_sparse.SparseTensor
        target, source, value = adj_t.coo()
        shape = tuple(adj_t.sparse_sizes())
    elif hasattr(adj_t, "tocoo"):  # scipy
        coo = checked_scipy(adj_t).tocoo()
        target, source = torch.as_tensor(coo.row).long(), torch.as_tensor(coo.col).long()
        value, shape = torch.as_tensor(coo.data), tuple(coo.shape)
    else:
        raise TypeError(
            "a graph is an Adjacency, an edge_index tensor, a sparse adj_t or a scipy matrix, "
            f"not {type(adj_t).__name__}"
        )
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"the adjacency matrix has shape {list(shape)}, expected a square one")
    if value is not None and not value.is_floating_point():
        value = value.to(torch.get_default_dtype())
    return torch.stack([source, target]), value, shape[0]


def check_edge_index(edge_index: Tensor) -> None:
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise ValueError(f"edge_index has shape {list(edge_index.shape)}, expected [2, num_edges]")
    if edge_index.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"edge_index has dtype {edge_index.dtype}, expected torch.int64 or torch.int32")


def check_nodes(name: str, nodes: Tensor, num_nodes: int) -> None:
    low, high = int(nodes.min()), int(nodes.max())
    if low < 0 or high >= num_nodes:
        bad = low if low < 0 else high
        raise ValueError(f"{name} holds node {bad}, but there are {num_nodes} nodes (0 to {num_nodes - 1})")


def check_weight_type(weight: Tensor, edges: int) -> None:
    if not isinstance(weight, Tensor):
        raise TypeError(f"edge_weight is {weight!r}, expected a tensor (the number of nodes is num_nodes=...)")
    if weight.shape != (edges,):
        raise ValueError(f"edge_weight has shape {list(weight.shape)}, expected [{edges}], one weight per edge")
    if not weight.is_floating_point():
        raise TypeError(f"edge_weight has dtype {weight.dtype}, expected a floating point type")


def check_weight(weight: Tensor, edges: int) -> Tensor:
    check_weight_type(weight, edges)
    bad = ~(torch.isfinite(weight) & (weight >= 0))
    if bad.any():
        edge = int(bad.nonzero()[0])
        raise ValueError(f"edge_weight[{edge}] is {weight[edge].item()}: weights must be finite and not negative")
    return weight
