"""A graph whose edges are an input of a compiled or exported program.

While torch traces a program, the values of ``edge_index`` are not known, and no size may depend on them. So sorting is
an operation of the program, and each node has a place for its self-loop: E + N edges. Where ``edge_index`` holds
self-loops already, there are fewer edges. ``rowptr`` ends with the last edge, and what follows it is *room*: it has
weight 0, and its two ends are those of a loop that was there before.

The same serves tensors on ``meta``, which have no values at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.adjacency import Adjacency, Aggregate
from justjump.ops.edge_index import check_edge_index, check_nodes, check_weight_type
from justjump.ops.matrix import INT32_MAX, Made, sort_entries
from justjump.ops.operation import operation


class Sorted(NamedTuple):
    """The edges in CSR order, then the room; M is E, or E + N with self-loops.

    Attributes:
        rowptr, col, target: ``[N + 1], [M], [M]``
        entry: ``[M]`` the number of each edge in ``edge_index``; E for a new loop, E + 1 for room
        colptr, row, position: ``[N + 1], [M], [M]`` by source; None without native kernels
    """

    rowptr: Tensor
    col: Tensor
    target: Tensor
    entry: Tensor
    colptr: Tensor | None = None
    row: Tensor | None = None
    position: Tensor | None = None


class TracedAdjacency(Adjacency):
    """The graph of an ``edge_index`` whose values are not known yet; it is sorted when a layer asks for the edges."""

    traced = True

    def __init__(
        self,
        edge_index: Tensor,
        num_nodes: int,
        given: Tensor | None = None,
        loops: bool = False,
        weight: Tensor | None = None,
        aggregate: Aggregate | None = None,
    ) -> None:
        """
        Args:
            given: ``[E]`` weights in the order of ``edge_index``
            loops: with one self-loop per node
            weight: ``[M]`` normalised weights in CSR order
        """
        if given is not None:
            check_weight_type(given, edge_index.size(1))
        self.shape = (num_nodes, num_nodes)
        self.room = self._looped = loops
        self.nodes, self.aggregate, self._derived, self._structure = None, aggregate, {}, {}
        self._edge_index, self._given, self._weight = edge_index, given, weight

    @classmethod
    def of(cls, edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int | None) -> TracedAdjacency:
        check_edge_index(edge_index)
        if num_nodes is None:
            raise ValueError("num_nodes is not given, and edge_index has no values while torch traces: give num_nodes")
        return cls(edge_index, num_nodes, edge_weight)

    @classmethod
    def sizes_of(cls, adj: Adjacency) -> TracedAdjacency:
        """A graph of the same sizes on ``meta``."""
        weight = None if adj.weight is None else adj.weight.to("meta")
        sizes = cls(adj.edge_index.to("meta"), adj.num_nodes, weight=weight, aggregate=adj.aggregate)
        sizes._looped = adj._looped
        return sizes

    @property
    def _sorted(self) -> Sorted:
        return self._once("sorted", lambda: sort_edges(self._edge_index, self.num_nodes, self.room))

    def _once(self, name: str, make: Callable[[], Made]) -> Made:
        if name not in self._structure:
            self._structure[name] = make()
        found: Made = self._structure[name]
        return found

    @property
    def rowptr(self) -> Tensor:
        return self._sorted.rowptr

    @property
    def col(self) -> Tensor:
        return self._sorted.col

    @property
    def target(self) -> Tensor:
        return self._sorted.target

    @property
    def weight(self) -> Tensor | None:
        if self._weight is not None:
            return self._weight
        if self._given is not None:
            loop, room = self._given.new_ones(1), self._given.new_zeros(1)
            return torch.cat([self._given, loop, room])[self._sorted.entry]
        return None if self.present is None else self.present.to(torch.get_default_dtype())

    @property
    def present(self) -> Tensor | None:
        """``[M]`` True for edges, False for room; None without room."""
        return self._sorted.entry <= self._edge_index.size(1) if self.room else None

    @property
    def num_entries(self) -> int:
        return self._edge_index.size(1) + (self.num_nodes if self.room else 0)

    @property
    def device(self) -> torch.device:
        return self._edge_index.device

    @property
    def order(self) -> Tensor | None:
        return None  # it takes longer than a pass, and it changes no number

    def _by_columns(self) -> tuple[Tensor, Tensor, Tensor]:
        colptr, row, position = self._sorted[4:]
        if colptr is None or row is None or position is None:
            raise ValueError(f"the graph is on {self.device}, but x is not: bring both to one device")
        return colptr, row, position

    @property
    def weight_by_column(self) -> Tensor | None:
        return None if self.weight is None else self.weight[self.position]

    def with_self_loops(self) -> Adjacency:
        if self._looped or self.aggregate is not None:
            return self
        given = self._given if self._weight is None else self._weight
        return TracedAdjacency(self._edge_index, self.num_nodes, given, loops=True)

    def _with_weight(self, weight: Tensor | None, aggregate: Aggregate | None = None) -> Adjacency:
        adj = TracedAdjacency(self._edge_index, self.num_nodes, self._given, self.room, weight, aggregate)
        adj._structure = self._structure
        return adj

    def flipped(self) -> Adjacency:
        if self._looped or self.aggregate is not None:
            raise ValueError("the graph has its self-loops or weights already: reverse it before")
        return TracedAdjacency(self._edge_index.flip(0), self.num_nodes, self._given)

    def toward(self, nodes: Tensor | Sequence[int]) -> NoReturn:
        raise ValueError(
            "toward(nodes) needs the values of edge_index, which are not known while torch traces: take rows of the "
            "output instead, or give the program a graph that was sliced before"
        )

    def to(self, device: torch.device | str) -> NoReturn:
        raise ValueError(f"a graph that torch traces cannot go to {device}: bring edge_index there before")

    def __repr__(self) -> str:
        return f"TracedAdjacency(num_nodes={self.num_nodes}, num_edges={self.num_edges})"


def sort_edges(edge_index: Tensor, num_nodes: int, loops: bool) -> Sorted:
    """By an operation that checks the nodes, which the kernels trust; where these do not serve, by PyTorch alone."""
    if native.available() and edge_index.device.type == "cpu":
        return Sorted(*sort_checked(edge_index, num_nodes, loops))
    return sort_plainly(edge_index, num_nodes, loops)


@operation("justjump::sort_edges", learned=0)
def sort_checked(
    edge_index: Tensor, num_nodes: int, loops: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """:class:`Sorted` with int32 indices (entry: int64). A node that is not there is a ValueError."""
    edges, size = edge_index.size(1), edge_index.size(1) + (num_nodes if loops else 0)
    if max(size, num_nodes) > INT32_MAX:
        raise ValueError(f"the graph has {size} edges: a compiled or exported program takes up to {INT32_MAX}")
    if edges:
        check_nodes("edge_index", edge_index, num_nodes)
    source, target = edge_index
    rowptr, entry = sort_entries((num_nodes, num_nodes), target, source)
    adj, ends = Adjacency._trusted((num_nodes, num_nodes), rowptr, source[entry]), source[:0]
    if loops:
        ends = source[source == target]  # of the loops that are replaced: the ends of the room
        adj, origin = adj._add_self_loops()
        entry = torch.cat([entry, entry.new_tensor([edges])])[origin]
    room, ends = torch.arange(adj.num_edges, size), ends.to(torch.int32)
    return (
        adj.rowptr.clone(),
        torch.cat([adj.col, ends]),
        torch.cat([adj.target, ends]),
        torch.cat([entry, torch.full_like(room, edges + 1)]),
        adj.colptr.clone(),
        torch.cat([adj.row, ends]),
        torch.cat([adj.position, room.to(torch.int32)]),
    )


@sort_checked.register_fake
def _(edge_index: Tensor, num_nodes: int, loops: bool) -> Any:
    size = edge_index.size(1) + (num_nodes if loops else 0)
    pointer = edge_index.new_empty(num_nodes + 1, dtype=torch.int32)
    array = edge_index.new_empty(size, dtype=torch.int32)
    entry = edge_index.new_empty(size, dtype=torch.int64)
    like = torch.empty_like
    return pointer, array, like(array), entry, like(pointer), like(array), like(array)


def sort_plainly(edge_index: Tensor, num_nodes: int, loops: bool) -> Sorted:
    """By operations that every backend has, with int64 indices and without a check of the nodes."""
    source, target = edge_index.long()
    edges, device = edge_index.size(1), edge_index.device
    entry = torch.arange(edges, device=device)
    key = target * num_nodes + source
    if loops:
        nodes = torch.arange(num_nodes, device=device)
        loop = source == target
        # Where a node has several loops, the last one counts, as in PyG.
        last = torch.full_like(nodes, -1).scatter_reduce(0, target, torch.where(loop, entry, -1), "amax")
        key = torch.cat([torch.where(loop, num_nodes * num_nodes, key), nodes * (num_nodes + 1)])
        entry = torch.cat([torch.where(loop, edges + 1, entry), torch.where(last < 0, edges, last)])
        source, target = torch.cat([source, nodes]), torch.cat([target, nodes])
    # ONNX has no stable sort: there, edges with the same ends may come in any order, which changes rounding at most.
    order = torch.argsort(key) if torch.onnx.is_in_onnx_export() else torch.argsort(key, stable=True)
    count = (entry <= edges).long()
    degree = torch.zeros(num_nodes, dtype=torch.int64, device=device).index_add(0, target, count)
    rowptr = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
    return Sorted(rowptr, source[order], target[order], entry[order])
