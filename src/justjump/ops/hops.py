"""The graphs of the layers of a mini-batch: layer t computes only what a later layer reads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from justjump.ops.adjacency import Adjacency
from justjump.ops.matrix import check_csr, check_index, check_range
from justjump.ops.sample import Sample


class Hops:
    """A part of a normalised graph around some nodes, for a network of T layers.

    The nodes are in the order of their hops. Layer t, counted from 1, computes the nodes within T - t hops from those
    within T - t + 1 hops: both are the first rows of every tensor. A network that is given it returns rows for the
    nodes of hop 0 alone.

    Args:
        adj: the graph that the sample was drawn from, with self-loops and normalised
        sample: with the self-loops of all targets

    The weights are those of the whole graph. Where a node takes k of its d neighbours, the weights of these are
    multiplied by d / k: the weighted sum over them is then right on average. The self-loop keeps its weight.

    >>> from justjump.ops import Sampler
    >>> adj = Adjacency.build(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])).with_self_loops().normalized("gcn")
    >>> hops = Hops(adj, Sampler(adj, [-1, -1], keep_loops=True)(torch.tensor([0])))
    >>> hops
    Hops(nodes=[1, 2, 3], edges=[5, 2])
    >>> hops.layer(2).shape
    (1, 2)
    """

    def __init__(self, adj: Adjacency, sample: Sample) -> None:
        if adj.aggregate is None or adj.weight is None:
            raise ValueError(f"{adj} is not normalised: call with_self_loops().normalized() before sampling")
        self.sizes = list(accumulate(sample.num_nodes))  # nodes within 0 .. T hops
        _check(adj, sample, self.sizes)
        self.aggregate = adj.aggregate
        self.rowptr, self.col = sample.rowptr, sample.col
        self.weight = adj.weight[sample.edge] * _scale(adj, sample)
        self._layers: dict[int, Adjacency] = {}

    def __len__(self) -> int:
        """T"""
        return len(self.sizes) - 1

    def layer(self, t: int) -> Adjacency:
        """The graph of layer t, counted from 1."""
        if not 1 <= t <= len(self):
            raise ValueError(f"there is no graph for layer {t}: the batch is one of {len(self)} hops")
        if t not in self._layers:
            targets, sources = self.sizes[len(self) - t], self.sizes[len(self) - t + 1]
            edges = int(self.rowptr[targets])
            self._layers[t] = Adjacency._trusted(
                (targets, sources),
                self.rowptr[: targets + 1],
                self.col[:edges],
                self.weight[:edges],
                self.aggregate,
            )
        return self._layers[t]

    def check(self, layers: int, rows: int) -> None:
        """Raise ValueError unless this is a batch for a network of so many layers and for features of so many rows."""
        if layers != len(self):
            raise ValueError(
                f"the batch has {len(self)} hops, but the network has {layers} layers: sample as many hops"
            )
        if rows != self.num_nodes:
            raise ValueError(f"the batch has {self.num_nodes} nodes, but x has {rows} rows")

    def __iter__(self) -> Iterator[Adjacency]:
        return (self.layer(t) for t in range(1, len(self) + 1))

    @property
    def nodes(self) -> None:
        """As of an :class:`~justjump.ops.Adjacency`: the rows of the last layer are in their order already."""
        return None

    @property
    def num_nodes(self) -> int:
        """Nodes of all hops: the rows of the features."""
        return self.sizes[-1]

    def __repr__(self) -> str:
        return f"Hops(nodes={self.sizes}, edges={[adj.num_edges for adj in self]})"


def _check(adj: Adjacency, sample: Sample, sizes: list[int]) -> None:
    """Raise ValueError unless the indices of a sample, which anyone can make, fit each other and the graph."""
    check_index("nodes", sample.nodes)
    check_index("edge", sample.edge)
    targets, edges = sizes[-2] if len(sizes) > 1 else 0, len(sample.edge)
    check_csr((targets, len(sample.nodes)), sample.rowptr, sample.col, None)
    if len(sizes) < 2 or min(sample.num_nodes) < 0 or sizes[-1] != len(sample.nodes) or edges != len(sample.col):
        raise ValueError(
            f"the sample has num_nodes={sample.num_nodes}, {len(sample.nodes)} nodes, {len(sample.col)} columns and "
            f"{edges} edges, which do not fit each other: take one that a Sampler draws"
        )
    check_range("nodes", sample.nodes, adj.num_nodes)
    check_range("edge", sample.edge, adj.num_edges)
    for inner, outer in pairwise(sizes):
        check_range("col", sample.col[: int(sample.rowptr[inner])], outer)


def _scale(adj: Adjacency, sample: Sample) -> Tensor:
    """``[E]`` for each edge: neighbours of its target by those that the target takes; 1 for a self-loop."""
    assert adj.weight is not None
    targets = sample.nodes[: len(sample.rowptr) - 1]
    taken = sample.rowptr.diff()
    there = (adj.rowptr[targets + 1] - adj.rowptr[targets]).long()
    scale = ((there - 1) / (taken - 1).clamp(min=1)).to(adj.weight.dtype)
    loop = sample.nodes[sample.col] == targets.repeat_interleave(taken)
    return torch.where(loop, 1, scale.repeat_interleave(taken))
