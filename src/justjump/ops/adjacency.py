"""The structure of a graph, computed once and shared by all layers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from justjump.ops import native, reference
from justjump.ops.sparse import SparseMatrix, by_rows

Aggregate = Literal["gcn", "mean", "sum"]


class Adjacency(SparseMatrix):
    """A graph with N nodes and E weighted edges: a square sparse matrix, row = target, column = source.

    :meth:`build` makes one from anything that describes a graph. Indices are validated there, once, so that
    operations may trust them.

    >>> adj = Adjacency.build(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> adj
    Adjacency(num_nodes=3, num_edges=4)
    >>> adj.with_self_loops().num_edges
    7
    """

    def __init__(self, rowptr: Tensor, col: Tensor, weight: Tensor | None = None) -> None:
        nodes = rowptr.numel() - 1
        super().__init__((nodes, nodes), rowptr, col, weight)
        self._looped: Adjacency | None = None
        self._normalized: dict[tuple[str, torch.dtype], Tensor] = {}

    @classmethod
    @torch.inference_mode(False)
    def build(cls, graph: Any, edge_weight: Tensor | None = None, num_nodes: int | None = None) -> Adjacency:
        """From an ``Adjacency``, an ``edge_index``, a sparse ``adj_t`` or a scipy matrix.

        Args:
            graph: ``edge_index`` ``[2, E]`` (sources, targets), int32 or int64, in any order; or a transposed
                adjacency matrix (row = target) as a torch sparse tensor, a ``torch_sparse.SparseTensor`` or a scipy
                sparse matrix, whose values are the weights
            edge_weight: ``[E]`` weights that belong to ``edge_index``
            num_nodes: N; the largest index decides where it is not given
        """
        if isinstance(graph, Tensor) and graph.layout == torch.strided:
            return cls._from_edge_index(graph, edge_weight, num_nodes)
        if edge_weight is not None:
            raise ValueError(f"edge_weight was given, but the graph ({type(graph).__name__}) holds its own weights")
        adj = graph if isinstance(graph, Adjacency) else cls._from_sparse(graph)
        if num_nodes is not None and num_nodes != adj.num_nodes:
            raise ValueError(f"the graph has {adj.num_nodes} nodes, but x has {num_nodes} rows")
        return adj

    @classmethod
    def _from_edge_index(cls, edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int | None) -> Adjacency:
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise ValueError(f"edge_index has shape {list(edge_index.shape)}, expected [2, num_edges]")
        if edge_index.dtype not in (torch.int32, torch.int64):
            raise TypeError(f"edge_index has dtype {edge_index.dtype}, expected torch.int64 or torch.int32")
        edges = edge_index.size(1)
        low, high = (int(edge_index.min()), int(edge_index.max())) if edges else (0, -1)
        if num_nodes is None:
            num_nodes = high + 1
        _check_range(low, high, num_nodes, "edge_index")
        weight = None if edge_weight is None else _check_weight(edge_weight, edges)
        source, target = edge_index
        return cls(*by_rows((num_nodes, num_nodes), target, source, weight))

    @classmethod
    def _from_sparse(cls, adj_t: Any) -> Adjacency:
        if isinstance(adj_t, Tensor):
            coo = adj_t.to_sparse().coalesce()
            (target, source), value, shape = coo.indices(), coo.values(), tuple(coo.shape)
        elif hasattr(adj_t, "sparse_sizes"):  # torch_sparse.SparseTensor
            target, source, value = adj_t.coo()
            shape = tuple(adj_t.sparse_sizes())
        elif hasattr(adj_t, "tocoo"):  # scipy
            coo = adj_t.tocoo()
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
        return cls._from_edge_index(torch.stack([source, target]), value, shape[0])

    @property
    def num_nodes(self) -> int:
        return self.shape[0]

    @property
    def num_edges(self) -> int:
        return self.num_entries

    @cached_property
    @torch.inference_mode(False)
    def target(self) -> Tensor:
        """``[E]`` target of each edge in CSR order."""
        return reference.edge_targets(self.rowptr)

    @cached_property
    @torch.inference_mode(False)
    def order(self) -> Tensor | None:
        """``[N]`` nodes with communities together, for passes that gather much; None without native kernels."""
        if not native.available() or self.device.type != "cpu":
            return None
        return native.community_order(self.rowptr, self.col)

    @property
    def edge_index(self) -> Tensor:
        """``[2, E]`` (sources, targets) in CSR order."""
        return torch.stack([self.col, self.target]).long()

    def with_self_loops(self) -> Adjacency:
        """The graph with exactly one self-loop a node: an existing one keeps its weight, a new one weighs 1."""
        if self._looped is not None:
            return self._looped
        looped = self._add_self_loops()
        looped._looped = looped
        if not self._learned:
            self._looped = looped
        return looped

    @property
    def _learned(self) -> bool:
        """Weights that get gradients: what is computed from them belongs to one step and is not kept."""
        return self.weight is not None and self.weight.requires_grad

    @torch.inference_mode(False)  # what is kept must serve training later
    def _add_self_loops(self) -> Adjacency:
        loop = self.col == self.target
        nodes = torch.arange(self.num_nodes, device=self.device)
        edge_index = torch.cat([self.edge_index[:, ~loop], torch.stack([nodes, nodes])], dim=1)
        weight = None
        if self.weight is not None:
            # Where a node has several loops, the last one counts, as in PyG.
            where = loop.nonzero()[:, 0]
            last = torch.full_like(nodes, -1).scatter_reduce(0, self.target[where].long(), where, "amax")
            padded = torch.cat([self.weight, self.weight.new_ones(1)])  # position -1 is the weight of a new loop
            weight = torch.cat([self.weight[~loop], padded[last]])
        return Adjacency.build(edge_index, weight, self.num_nodes)

    def normalized(self, aggregate: Aggregate, dtype: torch.dtype = torch.float32) -> Tensor:
        """Edge weights ``[E]`` for one way to aggregate: symmetric (gcn), by in-degree (mean) or as they are (sum)."""
        if aggregate not in get_args(Aggregate):
            raise ValueError(f"aggregate={aggregate!r} is unknown: choose 'gcn', 'mean' or 'sum'")
        if (aggregate, dtype) in self._normalized:
            return self._normalized[aggregate, dtype]
        weight = self._normalize(aggregate, dtype)
        if not self._learned:
            self._normalized[aggregate, dtype] = weight
        return weight

    @torch.inference_mode(False)
    def _normalize(self, aggregate: Aggregate, dtype: torch.dtype) -> Tensor:
        weight = torch.ones(self.num_edges, device=self.device) if self.weight is None else self.weight
        weight = weight.to(dtype)
        if aggregate == "gcn":
            weight = reference.gcn_norm(self.rowptr, self.col, weight)
        elif aggregate == "mean":
            degree = reference.segment_sum(weight, self.rowptr)
            weight = weight / torch.where(degree > 0, degree, 1)[self.target]
        return weight

    @torch.inference_mode(False)  # it must serve training, too
    def toward(self, nodes: Tensor | Sequence[int]) -> Targets:
        """The part of the graph that a last layer needs when only some nodes' output is wanted.

        Args:
            nodes: their numbers, in the order in which their output shall come, or a mask ``[N]``
        """
        nodes = torch.as_tensor(nodes, device=self.device)
        if nodes.dtype == torch.bool and nodes.shape == (self.num_nodes,):
            nodes = nodes.nonzero()[:, 0]
        if nodes.numel() == 0 and nodes.dim() == 1:  # an empty list makes a tensor of floats
            nodes = nodes.long()
        if nodes.dim() != 1 or nodes.dtype not in (torch.int32, torch.int64):
            kind = f"{nodes.dtype} of shape {list(nodes.shape)}"
            raise ValueError(f"nodes is {kind}, expected node numbers [n] or a mask [{self.num_nodes}]")
        if len(nodes):
            _check_range(int(nodes.min()), int(nodes.max()), self.num_nodes, "nodes")
        return Targets(self, nodes)

    def flipped(self) -> Adjacency:
        """The graph with every edge reversed."""
        return Adjacency.build(torch.stack([self.target, self.col]), self.weight, self.num_nodes)

    def to(self, device: torch.device | str) -> Adjacency:
        """The same graph on another device."""
        if self.device == torch.device(device):
            return self
        weight = None if self.weight is None else self.weight.to(device)
        return Adjacency(self.rowptr.to(device), self.col.to(device), weight)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_nodes={self.num_nodes}, num_edges={self.num_edges})"


class Targets(Adjacency):
    """A graph with the edges to some of its nodes only; the weights are those of the whole graph.

    The other nodes stay, as sources and with empty rows, so that a layer needs to know nothing of it.

    >>> adj = Adjacency.build(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> adj.toward(torch.tensor([1]))
    Targets(num_nodes=3, num_edges=2)
    """

    def __init__(self, whole: Adjacency, nodes: Tensor) -> None:
        wanted = torch.zeros(whole.num_nodes, dtype=torch.bool, device=whole.device)
        wanted[nodes] = True
        edges = wanted[whole.target].nonzero()[:, 0]
        count = torch.diff(whole.rowptr) * wanted
        rowptr = torch.cat([whole.rowptr.new_zeros(1), count.cumsum(0).to(whole.rowptr.dtype)])
        super().__init__(rowptr, whole.col[edges], None if whole.weight is None else whole.weight[edges])
        self.nodes = nodes
        self.whole = whole
        self._edges = edges

    @property
    def order(self) -> Tensor | None:
        order = self.whole.order
        return None if order is None else order.to(self.col.dtype)

    def with_self_loops(self) -> Adjacency:
        whole = self.whole.with_self_loops()
        return self if whole is self.whole else whole.toward(self.nodes)

    def _normalize(self, aggregate: Aggregate, dtype: torch.dtype) -> Tensor:
        return self.whole.normalized(aggregate, dtype)[self._edges]

    def flipped(self) -> Adjacency:
        raise ValueError("the edges to some nodes cannot be reversed: reverse the whole graph, then take toward(nodes)")

    def to(self, device: torch.device | str) -> Targets:
        return self.whole.to(device).toward(self.nodes.to(device))


def _check_range(low: int, high: int, num_nodes: int, what: str) -> None:
    if low < 0 or high >= num_nodes:
        bad = low if low < 0 else high
        raise ValueError(f"{what} holds node {bad}, but there are {num_nodes} nodes (0 to {num_nodes - 1})")


def _check_weight(weight: Tensor, edges: int) -> Tensor:
    if not isinstance(weight, Tensor):
        raise TypeError(f"edge_weight is {weight!r}, expected a tensor (the number of nodes is num_nodes=...)")
    if weight.shape != (edges,):
        raise ValueError(f"edge_weight has shape {list(weight.shape)}, expected [{edges}], one weight an edge")
    if not weight.is_floating_point():
        raise TypeError(f"edge_weight has dtype {weight.dtype}, expected a floating point type")
    bad = ~(torch.isfinite(weight) & (weight >= 0))
    if bad.any():
        edge = int(bad.nonzero()[0])
        raise ValueError(f"edge_weight[{edge}] is {weight[edge].item()}: weights must be finite and not negative")
    return weight
