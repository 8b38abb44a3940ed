"""Neighbour sampling: some of the edges around some nodes, hop by hop, as a pure function of a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import torch
from torch import Tensor
from torch.utils.data import get_worker_info

from justjump.ops import native as kernels
from justjump.ops.adjacency import Adjacency
from justjump.ops.edge_index import check_nodes
from justjump.ops.matrix import INT32_MAX
from justjump.ops.sample import native, reference
from justjump.ops.sample.reference import absorb


@dataclass(frozen=True, eq=False)
class Sample:
    """A part of a graph around some nodes.

    The nodes are in the order of their hops: the n nodes that were asked for come first, then those that one of their
    edges comes from, and so on. Every node but those of the last hop is a target.

    Attributes:
        nodes: ``[n]`` numbers in the graph
        rowptr: ``[targets + 1]`` edges of target v are ``rowptr[v] .. rowptr[v + 1]``
        col: ``[E]`` sources, as places in ``nodes``
        edge: ``[E]`` position of each edge in the CSR order of the graph
        num_nodes: new nodes of each hop, T + 1 numbers
        num_edges: edges of each hop, T numbers
    """

    nodes: Tensor
    rowptr: Tensor
    col: Tensor
    edge: Tensor
    num_nodes: list[int]
    num_edges: list[int]


class Sampler:
    """Draws neighbours in a graph.

    Which edges a node takes is a pure function of (seed, batch, hop, node): the same for any number of threads and of
    processes, and in any order of calls.

    Args:
        adj: the graph, whole
        fanout: how many edges a node of each hop takes at most; -1 takes all
        replace: draw with replacement: an edge may come more than once
        seed: any integer
        keep_loops: every node takes its self-loop in addition; each node of the graph must have exactly one

    >>> adj = Adjacency.build(torch.tensor([[1, 2, 3, 0], [0, 0, 0, 3]]))
    >>> Sampler(adj, [2])(torch.tensor([0])).num_edges
    [2]
    """

    def __init__(
        self, adj: Adjacency, fanout: Sequence[int], replace: bool = False, seed: int = 0, keep_loops: bool = False
    ) -> None:
        if not isinstance(adj, Adjacency):
            what = f"adj is of type {type(adj).__name__}, expected an Adjacency"
            raise TypeError(f"{what}: make one with Adjacency.build(edge_index)")
        if adj.shape[0] != adj.shape[1] or adj.nodes is not None:
            raise ValueError(f"{adj} is a part of a graph: sample from the whole graph")
        if adj.device.type != "cpu":
            raise ValueError(f"the graph is on {adj.device}: sample on the CPU, then move the batch there")
        self.adj, self.fanout, self.replace, self.seed = adj, check_fanout(fanout), replace, int(seed)
        self.always = _self_loops(adj) if keep_loops else None
        self._free: list[Tensor] = []

    def __call__(self, nodes: Tensor, *batch: int) -> Sample:
        """Sample around some nodes.

        Args:
            nodes: ``[n]`` their numbers; one that comes twice is there twice
            batch: numbers that tell this call from others, such as epoch and batch
        """
        if nodes.dim() != 1 or nodes.dtype not in (torch.int32, torch.int64):
            raise ValueError(f"nodes is {nodes.dtype} of shape {list(nodes.shape)}, expected node numbers [n]")
        if len(nodes):
            check_nodes("nodes", nodes, self.adj.num_nodes)
        adj, key = self.adj, absorb(0, self.seed, *batch)
        if not kernels.available():
            always = None if self.always is None else self.always.numpy()
            *arrays, new_nodes, new_edges = reference.sample(
                adj.rowptr.numpy(), adj.col.numpy(), always, nodes.tolist(), self.fanout, self.replace, key
            )
            found, rowptr, col, edge = (torch.tensor(array, dtype=torch.int64) for array in arrays)
            return Sample(found, rowptr, col, edge, new_nodes, new_edges)
        # Each call has a table of its own, so that threads may share a sampler. A call that fails does not return it.
        place = self._free.pop() if self._free else torch.full((adj.num_nodes,), -1, dtype=adj.col.dtype)
        # In a worker process that was forked, the threads of its parent are gone.
        threads = kernels.threads() if get_worker_info() is None else 1
        found, rowptr, col, edge, new_nodes, new_edges = native.sample(
            adj.rowptr, adj.col, self.always, place, nodes, self.fanout, self.replace, key, threads
        )
        self._free.append(place)
        return Sample(found.long(), rowptr, col.long(), edge.long(), new_nodes, new_edges)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_free": []}


def check_fanout(fanout: Sequence[int], name: str = "fanout") -> list[int]:
    """Numbers of neighbours per hop, as ints; ValueError about the argument of this name if they are none."""
    if isinstance(fanout, str) or not isinstance(fanout, Sequence) or not len(fanout):
        raise ValueError(f"{name}={fanout!r} must be a list with a number of neighbours for each hop, such as [15, 10]")
    for size in fanout:
        if isinstance(size, bool) or not isinstance(size, Integral) or size < -1:
            raise ValueError(
                f"{name}={list(fanout)} holds {size!r}: a number of neighbours is 0 or more, or -1 for all"
            )
        if size > INT32_MAX:  # with replacement, the number of edges could wrap around
            raise ValueError(f"{name} holds {size:.3g}, expected at most {INT32_MAX}: -1 takes all neighbours")
    return [int(size) for size in fanout]


def _self_loops(adj: Adjacency) -> Tensor:
    """``[N]`` the position of each node's self-loop."""
    edges = (adj.col == adj.target).nonzero()[:, 0]
    if not torch.equal(adj.target[edges].long(), torch.arange(adj.num_nodes)):
        raise ValueError(f"{adj} has nodes without a self-loop or with several: call with_self_loops() first")
    return edges.to(adj.col.dtype)


__all__ = ["Sample", "Sampler", "absorb", "check_fanout"]
