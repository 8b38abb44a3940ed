"""Parts of a graph, several times side by side, for gradients of many outputs at once."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from justjump.analysis.hops import Balls, incoming
from justjump.ops import Adjacency, Aggregate
from justjump.ops.native import Csc, Csr
from justjump.ops.sparse import pointer


class Part:
    """The edges into the pairs of a ball, as they are in the whole graph, self-loops among them.

    Args:
        whole: the graph; its indices are ``rowptr`` and ``col``
        ball: its outermost nodes are sources only
    """

    def __init__(self, whole: Adjacency, rowptr: np.ndarray, col: np.ndarray, ball: Balls) -> None:
        inside = ball.sizes[-2]
        edges, degree = incoming(rowptr, ball.nodes[:inside])
        start = np.repeat(ball.start[:inside] * (len(rowptr) - 1), degree)
        self.whole, self.sizes = whole, ball.sizes
        self.edges = torch.from_numpy(edges)
        self.rowptr = torch.from_numpy(np.concatenate([[0], np.cumsum(degree)]).astype(np.int32))
        self.col = torch.from_numpy(ball.place[start + col[edges]])

    def copies(self, hops: int, copies: int) -> "Copies":
        """The edges into the pairs at most ``hops`` apart, so many times."""
        targets, sources = self.sizes[hops : hops + 2]
        rowptr = self.rowptr[: targets + 1]
        edges = int(rowptr[-1])
        return Copies(self.whole, self.edges[:edges], Csr(rowptr, self.col[:edges]), targets, sources, copies)


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies of a graph from ``sources`` to ``targets`` nodes, which are the first of the sources.

    Attributes:
        whole: the graph that it is a part of
        edges: ``[E]`` positions of its edges in the whole
        one: one copy
        targets, sources: number of nodes of a copy
        copies: R
    """

    whole: Adjacency
    edges: Tensor
    one: Csr
    targets: int
    sources: int
    copies: int

    def normalized(self, aggregate: Aggregate, dtype: torch.dtype) -> Tensor:
        """``[R * E]`` the normalised weights of the whole."""
        return self.whole.normalized(aggregate, dtype)[self.edges].repeat(self.copies)

    @property
    def csr(self) -> Csr:
        """All copies by target."""
        return Csr(_pointers(self.one.rowptr, self.copies), _shifted(self.one.col, self.sources, self.copies))

    @property
    def csc(self) -> Csc:
        """All copies by source."""
        position = torch.argsort(self.one.col, stable=True)
        target = torch.repeat_interleave(torch.arange(self.targets, dtype=torch.int32), self.one.rowptr.diff())
        colptr = pointer(self.one.col.long(), self.sources).int()
        return Csc(
            _pointers(colptr, self.copies),
            _shifted(target[position], self.targets, self.copies),
            _shifted(position.int(), len(position), self.copies),
        )

    def square(self) -> Adjacency:
        """All copies as a graph that layers take: the sources that are no targets get no edges."""
        rowptr = torch.cat([self.one.rowptr, self.one.rowptr[-1:].expand(self.sources - self.targets)])
        return _Square(self, _pointers(rowptr, self.copies), self.csr.col)


class _Square(Adjacency):
    """A graph with the self-loops and normalised weights of the whole that it is a part of."""

    def __init__(self, part: Copies, rowptr: Tensor, col: Tensor) -> None:
        super().__init__(rowptr, col)
        self.part = part

    def with_self_loops(self) -> Adjacency:
        return self

    def normalized(self, aggregate: Aggregate, dtype: torch.dtype = torch.float32) -> Tensor:
        return self.part.normalized(aggregate, dtype)


def _pointers(one: Tensor, copies: int) -> Tensor:
    return torch.cat([one[:1], _shifted(one[1:], int(one[-1]), copies)])


def _shifted(index: Tensor, by: int, copies: int) -> Tensor:
    """``index``, ``index + by``, ``index + 2 * by``, ... one after the other."""
    offsets = by * torch.arange(copies, dtype=index.dtype)
    return (index + offsets[:, None]).flatten()
