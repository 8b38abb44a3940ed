"""The structure of a graph, computed once and shared by all layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.edge_index import check_weight, edges_of_matrix, sorted_edges
from justjump.ops.matrix import SparseMatrix, sort_entries
from justjump.ops.normalize import Aggregate, check_aggregate, gcn_norm, normalized_weight
from justjump.ops.operation import is_scripted, is_traced
from justjump.ops.self_loops import add_self_loops

__all__ = ["Adjacency", "Aggregate", "gcn_norm"]


class Adjacency(SparseMatrix):
    """A graph with N nodes and E weighted edges: a sparse matrix, row = target, column = source.

    :meth:`build` makes one from anything that describes a graph. :meth:`with_self_loops`, :meth:`normalized` and
    :meth:`toward` give graphs again; what they compute is kept with the graph that they are asked of. A part of a graph
    may have fewer targets than sources: the targets are then the first of the sources.

    Attributes:
        aggregate: how the weights are normalised, or None where they are as they were given
        nodes: the nodes that :meth:`toward` was asked for, or None for a whole graph

    >>> adj = Adjacency.build(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> adj
    Adjacency(num_nodes=3, num_edges=4)
    >>> adj.with_self_loops().num_edges
    7
    >>> adj.with_self_loops().normalized("gcn").weight[:2]
    tensor([0.5000, 0.4082])
    """

    # Whether the values of the edges are unknown: ops/traced.py.
    traced = False

    def __init__(self, rowptr: Tensor, col: Tensor, weight: Tensor | None = None) -> None:
        nodes = max(rowptr.numel() - 1, 0) if isinstance(rowptr, Tensor) else 0
        super().__init__((nodes, nodes), rowptr, col, weight)
        if weight is not None:
            check_weight(weight, self.num_edges)

    def _set(self, shape: tuple[int, int], rowptr: Tensor, col: Tensor, weight: Tensor | None) -> None:
        super()._set(shape, rowptr, col, weight)
        self.aggregate: Aggregate | None = None
        self.nodes: Tensor | None = None
        self._looped = False
        self._derived: dict[Any, Adjacency] = {}

    @classmethod
    def _trusted(
        cls,
        shape: tuple[int, int],
        rowptr: Tensor,
        col: Tensor,
        weight: Tensor | None = None,
        aggregate: Aggregate | None = None,
    ) -> Adjacency:
        """Of indices that are known to be right: the one way around the checks."""
        adj = cls.__new__(cls)
        adj._set(shape, rowptr, col, weight)
        adj.aggregate = aggregate
        return adj

    def _with_weight(self, weight: Tensor | None, aggregate: Aggregate | None = None) -> Adjacency:
        """The same edges, and what was computed of them, with other weights."""
        adj = Adjacency._trusted(self.shape, self.rowptr, self.col, weight, aggregate)
        adj._structure, adj.first = self._structure, self.first
        return adj

    @classmethod
    @torch.inference_mode(False)
    def build(cls, graph: Any, edge_weight: Tensor | None = None, num_nodes: int | None = None) -> Adjacency:
        """From an ``Adjacency``, an ``edge_index``, a sparse ``adj_t`` or a scipy matrix.

        An ``edge_index`` that comes again, the same tensor with the same values, is not sorted again.

        Args:
            graph: ``edge_index`` ``[2, E]`` (sources, targets), int32 or int64, in any order; or a transposed
                adjacency matrix (row = target) as a torch sparse tensor, a ``torch_sparse.SparseTensor`` or a scipy
                sparse matrix, whose values are the weights
            edge_weight: ``[E]`` weights that belong to ``edge_index``
            num_nodes: N; the largest index decides where it is not given
        """
        if is_scripted():
            raise RuntimeError(
                "torch.jit.trace cannot follow a graph: use torch.export.export or torch.compile instead"
            )
        if isinstance(graph, Tensor) and graph.layout == torch.strided:
            return cls._from_edge_index(graph, edge_weight, num_nodes)
        if edge_weight is not None:
            raise ValueError(f"edge_weight was given, but the graph ({type(graph).__name__}) holds its own weights")
        adj = graph if isinstance(graph, Adjacency) else cls._from_edge_index(*edges_of_matrix(graph))
        if num_nodes is not None and num_nodes != adj.num_nodes:
            raise ValueError(f"the graph has {adj.num_nodes} nodes, but x has {num_nodes} rows")
        return adj

    @classmethod
    def _of_sorted(cls, nodes: int, rowptr: Tensor, col: Tensor, order: Tensor) -> Adjacency:
        adj = cls._trusted((nodes, nodes), rowptr, col)
        adj._structure["edge_id"] = order
        return adj

    @classmethod
    def _from_edge_index(cls, edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int | None) -> Adjacency:
        if is_traced(edge_index) or edge_index.is_meta:
            from justjump.ops.traced import TracedAdjacency  # a graph of its own kind, built on this one

            return TracedAdjacency.of(edge_index, edge_weight, num_nodes)
        edges = sorted_edges(edge_index, num_nodes, cls._of_sorted)
        adj: Adjacency = edges.graph if edge_weight is None else edges.with_weight(edge_weight)
        return adj

    @property
    def whole(self) -> Adjacency:
        """The graph that :meth:`toward` was asked of; a whole graph itself."""
        return self

    @property
    def num_nodes(self) -> int:
        return self.shape[1]

    @property
    def present(self) -> Tensor | None:
        """``[E]`` which edges there are; None where all are. Only a graph that torch traces has room for more."""
        return None

    @property
    def num_edges(self) -> int:
        return self.num_entries

    @property
    def order(self) -> Tensor | None:
        """``[N]`` nodes with communities together, for passes that gather much; None without native kernels."""
        if not native.available() or self.device.type != "cpu" or self.shape[0] != self.shape[1]:
            return None
        return self._once("order", lambda: native.community_order(self.rowptr, self.col))

    @property
    def edge_index(self) -> Tensor:
        """``[2, E]`` (sources, targets) in CSR order."""
        return torch.stack([self.col, self.target]).long()

    @property
    def edge_id(self) -> Tensor:
        """``[E]`` the number of each edge in the ``edge_index`` that the graph was built of; -1 for the self-loops of
        :meth:`with_self_loops`, new or not."""
        return self._once("edge_id", self._edge_ids)

    def _edge_ids(self) -> Tensor:
        if "origin" not in self._structure:
            return torch.arange(self.num_edges, device=self.device)
        ids, source = self._structure["origin"]
        ids = source if ids is None else torch.cat([ids, ids.new_tensor([-1])])[source]
        return torch.where(self.col == self.target, -1, ids)

    @property
    def _keeps(self) -> bool:
        """Not what is computed from weights that get gradients, which belongs to one step, or while torch traces."""
        return not (self.weight is not None and self.weight.requires_grad) and not is_traced()

    def _derive(self, key: Any, make: Callable[[], Adjacency]) -> Adjacency:
        """A graph that follows from this one, made when first needed."""
        if key in self._derived:
            return self._derived[key]
        with torch.inference_mode(False):  # what is kept must serve training later
            made = make()
        if self._keeps:
            self._derived[key] = made
        return made

    def with_self_loops(self) -> Adjacency:
        """The graph with exactly one self-loop per node. An existing one keeps its weight, a new one weighs 1."""
        if self._looped or self.aggregate is not None:  # a normalised graph has the loops that it was made with
            return self
        return self._derive("looped", self._with_looped_weight)

    def _with_looped_weight(self) -> Adjacency:
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"{self} has fewer targets than sources: add the self-loops to the whole graph")
        structure, source = self._once("looped", self._add_self_loops)
        weight = None if self.weight is None else torch.cat([self.weight, self.weight.new_ones(1)])[source]
        looped = structure._with_weight(weight)
        looped._looped = True
        return looped

    def _add_self_loops(self) -> tuple[Adjacency, Tensor]:
        """The looped edges, and for each the edge that its weight comes from; E stands for the weight of a new loop."""
        rowptr, col, source = add_self_loops(self)
        looped = Adjacency._trusted(self.shape, rowptr, col)
        looped._structure["origin"] = self._structure.get("edge_id"), source
        return looped, source

    def normalized(self, aggregate: Aggregate = "gcn", dtype: torch.dtype = torch.float32) -> Adjacency:
        """The graph with weights for one way to aggregate: symmetric (gcn), by in-degree (mean) or as they are (sum).

        A graph that is normalised already is returned as it is.
        """
        check_aggregate(aggregate)
        if self.aggregate is not None:
            return self._again(aggregate, dtype)
        return self._derive((aggregate, dtype), lambda: self._normalize(aggregate, dtype))

    def _again(self, aggregate: Aggregate, dtype: torch.dtype) -> Adjacency:
        if self.aggregate != aggregate:
            raise ValueError(
                f"the graph is normalised for aggregate={self.aggregate!r}, not {aggregate!r}: give the layer the "
                "graph that it was made of"
            )
        assert self.weight is not None
        return self if self.weight.dtype == dtype else self._with_weight(self.weight.to(dtype), aggregate)

    def _normalize(self, aggregate: Aggregate, dtype: torch.dtype) -> Adjacency:
        weight = torch.ones(self.num_edges, device=self.device) if self.weight is None else self.weight
        return self._with_weight(normalized_weight(self, weight.to(dtype), aggregate), aggregate)

    def scaled(self, factor: Tensor) -> Adjacency:
        """The same edges with their weights times ``factor`` ``[E]``, in CSR order."""
        if factor.shape != (self.num_edges,):
            raise ValueError(f"factor has shape {list(factor.shape)}, expected [{self.num_edges}], one per edge")
        return self._with_weight(factor if self.weight is None else self.weight * factor, self.aggregate)

    def toward(self, nodes: Tensor | Sequence[int]) -> Adjacency:
        """The slice of the graph that a last layer needs when only some nodes' output is wanted.

        The other nodes stay, as sources and with empty rows. A network that is given the slice returns rows for these
        nodes alone.

        Args:
            nodes: their numbers, in the order in which their output shall come, or a mask ``[N]``

        >>> adj = Adjacency.build(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> adj.toward([1])
        Adjacency(num_nodes=3, num_edges=2, toward=1)
        """
        from justjump.ops.slice import Slice, node_numbers  # a graph of its own kind, built on this one

        numbers = node_numbers(nodes, self)
        with torch.inference_mode(False):  # it must serve training, too
            return Slice.of(self, numbers)

    def flipped(self) -> Adjacency:
        """The graph with every edge reversed."""
        if self.aggregate not in (None, "sum"):
            raise ValueError(f"the graph is normalised for aggregate={self.aggregate!r}: reverse it, then normalise it")
        return self._derive("flipped", self._flip)

    def _flip(self) -> Adjacency:
        rowptr, order = sort_entries(self.shape, self.col, self.target)
        weight = None if self.weight is None else self.weight[order]
        flipped = Adjacency._trusted(self.shape, rowptr, self.target[order], weight, self.aggregate)
        flipped._structure["edge_id"] = self.edge_id[order]
        return flipped

    def to(self, device: torch.device | str) -> Adjacency:
        """The same graph on another device; on ``meta`` it has sizes alone."""
        if self.device == torch.device(device):
            return self
        if torch.device(device).type == "meta":
            from justjump.ops.traced import TracedAdjacency  # a graph of its own kind, built on this one

            return TracedAdjacency.sizes_of(self)
        weight = None if self.weight is None else self.weight.to(device)
        moved = Adjacency._trusted(self.shape, self.rowptr.to(device), self.col.to(device), weight, self.aggregate)
        moved._looped, moved._structure["edge_id"] = self._looped, self.edge_id.to(device)
        return moved

    def __repr__(self) -> str:
        toward = "" if self.nodes is None else f", toward={len(self.nodes)}"
        return f"Adjacency(num_nodes={self.num_nodes}, num_edges={self.num_edges}{toward})"
