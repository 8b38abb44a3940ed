"""The part of a graph that a last layer needs when only some nodes' output is wanted."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from justjump.ops.adjacency import Adjacency, Aggregate
from justjump.ops.edge_index import check_nodes


class Slice(Adjacency):
    """The edges to some nodes of a graph; the weights are those of the whole graph."""

    nodes: Tensor
    _whole: Adjacency
    _edges: Tensor

    @classmethod
    def of(cls, whole: Adjacency, nodes: Tensor) -> Slice:
        wanted = torch.zeros(whole.num_nodes, dtype=torch.bool, device=whole.device)
        wanted[nodes] = True
        edges = wanted[whole.target].nonzero()[:, 0]
        count = torch.diff(whole.rowptr) * wanted
        rowptr = torch.cat([whole.rowptr.new_zeros(1), count.cumsum(0).to(whole.rowptr.dtype)])
        part = cls.__new__(cls)
        part._set(whole.shape, rowptr, whole.col[edges], None if whole.weight is None else whole.weight[edges])
        part._whole, part.nodes, part.aggregate, part._edges = whole, nodes, whole.aggregate, edges
        return part

    @property
    def whole(self) -> Adjacency:
        return self._whole

    @property
    def order(self) -> Tensor | None:
        order = self.whole.order
        return None if order is None else order.to(self.col.dtype)

    @property
    def edge_id(self) -> Tensor:
        return self.whole.edge_id[self._edges]

    def with_self_loops(self) -> Adjacency:
        whole = self.whole.with_self_loops()
        if whole is self.whole:
            return self
        if "looped" in self._derived and self._derived["looped"].whole is whole:
            return self._derived["looped"]
        looped = whole.toward(self.nodes)
        if self._keeps:
            self._derived["looped"] = looped
        return looped

    def normalized(self, aggregate: Aggregate = "gcn", dtype: torch.dtype = torch.float32) -> Adjacency:
        whole = self.whole.normalized(aggregate, dtype)
        if whole is self.whole:
            return self
        if (aggregate, dtype) in self._derived and self._derived[aggregate, dtype].whole is whole:
            return self._derived[aggregate, dtype]
        assert whole.weight is not None
        part = Slice.__new__(Slice)
        part._set(self.shape, self.rowptr, self.col, whole.weight[self._edges])
        part._structure = self._structure
        part._whole, part.nodes, part.aggregate, part._edges = whole, self.nodes, aggregate, self._edges
        if self._keeps:
            self._derived[aggregate, dtype] = part
        return part

    def toward(self, nodes: Tensor | Sequence[int]) -> Adjacency:
        """The slice of the whole graph toward other nodes."""
        return self.whole.toward(nodes)

    def flipped(self) -> Adjacency:
        raise ValueError("the edges to some nodes cannot be reversed: reverse the whole graph, then take toward(nodes)")

    def to(self, device: torch.device | str) -> Adjacency:
        return self.whole.to(device).toward(self.nodes.to(device))


def node_numbers(nodes: Tensor | Sequence[int], adj: Adjacency) -> Tensor:
    """The numbers ``[n]`` of some nodes of a graph, given as numbers or as a mask ``[N]``, checked."""
    expected = f"expected node numbers [n] or a mask [{adj.num_nodes}]"
    try:
        numbers = torch.as_tensor(nodes, device=adj.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"nodes is of type {type(nodes).__name__}, {expected}") from error
    if numbers.dtype == torch.bool and numbers.shape == (adj.num_nodes,):
        numbers = numbers.nonzero()[:, 0]
    if numbers.numel() == 0 and numbers.dim() == 1:  # an empty list makes a tensor of floats
        numbers = numbers.long()
    if numbers.dim() != 1 or numbers.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"nodes is {numbers.dtype} of shape {list(numbers.shape)}, {expected}")
    if len(numbers):
        check_nodes("nodes", numbers, adj.num_nodes)
    return numbers
