"""Mini-batches that a network of justjump trains on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from justjump.loader.order import shuffled
from justjump.ops import Adjacency, Hops, Sampler, SparseMatrix
from justjump.ops.matrix import rows_of


@dataclass(frozen=True, eq=False)
class Batch:
    """Some nodes, and sampled neighbours around them: ``model(batch.x, batch.hops)`` gives the rows of the former.

    Attributes:
        x: ``[n, F]`` features of all nodes of the batch
        hops: the graph of each layer
        nodes: ``[n]`` their numbers in the graph, in the order of their hops
        size: how many of them, the first ones, the batch is for
        labels: of these, as the graph has them; None if there are none
    """

    x: Tensor | SparseMatrix
    hops: Hops
    nodes: Tensor
    size: int
    labels: Tensor | None = None


class Batches:
    """Mini-batches of some nodes of a graph. Each is a function of (seed, epoch, its number in the epoch).

    Args:
        x: ``[N, F]`` features, dense or sparse
        adj: the graph
        nodes: ``[n]`` the nodes to make batches of
        batch_size: how many of them are in a batch; the last batch of an epoch has those that are left
        fanout: how many neighbours a node of each hop takes at most, one number per layer; -1 takes all, and a network
            computes what it computes on the whole graph
        labels: of all nodes
        replace: sample with replacement
        shuffle: give the nodes another order in each epoch
        seed: of order and neighbours

    >>> adj = Adjacency.build(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> batches = Batches(torch.eye(4), adj, torch.tensor([0, 1, 3]), batch_size=2, fanout=[-1])
    >>> [batch.size for batch in batches.epoch(0)]
    [2, 1]
    """

    def __init__(
        self,
        x: Tensor | SparseMatrix,
        adj: Adjacency,
        nodes: Tensor,
        batch_size: int,
        fanout: Sequence[int],
        *,
        labels: Tensor | None = None,
        replace: bool = False,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size} must be at least 1")
        dtype = x.dtype if isinstance(x, Tensor) else torch.float32 if x.weight is None else x.weight.dtype
        self.x, self.nodes, self.labels = x, nodes, labels
        self.adj = adj.with_self_loops().normalized("gcn", dtype)
        self.batch_size, self.shuffle, self.seed = batch_size, shuffle, seed
        self.sampler = Sampler(self.adj, fanout, replace, seed, keep_loops=True)

    def __len__(self) -> int:
        """Batches of an epoch."""
        return -(-len(self.nodes) // self.batch_size)

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of an epoch, counted from 0."""
        nodes = self.nodes[shuffled(len(self.nodes), self.seed, number)] if self.shuffle else self.nodes
        for count, part in enumerate(torch.split(nodes, self.batch_size)):
            if len(part):
                yield self.of(part, number, count)

    def of(self, nodes: Tensor, *number: int) -> Batch:
        """The batch of some nodes, whose neighbours are a function of (seed, number, node)."""
        sample = self.sampler(nodes, *number)
        found = sample.nodes
        x = rows_of(self.x, found)
        labels = None if self.labels is None else self.labels[nodes]
        return Batch(x, Hops(self.adj, sample), found, len(nodes), labels)
