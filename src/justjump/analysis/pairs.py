"""The graph of pairs (start node, node), several times over, for gradients of many outputs at once."""

import numpy as np
import torch

from justjump.analysis.hops import Balls, incoming
from justjump.ops import Adjacency


class PairGraph:
    """The edges into the pairs of a ball, as they are in the whole graph, self-loops among them.

    Args:
        whole: the graph, normalised; its indices are ``rowptr`` and ``col``
        ball: its outermost nodes are sources only
    """

    def __init__(self, whole: Adjacency, rowptr: np.ndarray, col: np.ndarray, ball: Balls) -> None:
        inside = ball.sizes[-2]
        edges, degree = incoming(rowptr, ball.nodes[:inside])
        start = np.repeat(ball.start[:inside] * (len(rowptr) - 1), degree)
        assert whole.weight is not None
        self.sizes, self.aggregate = ball.sizes, whole.aggregate
        self.rowptr = np.concatenate([[0], np.cumsum(degree)])
        self.col = ball.place[start + col[edges]]
        self.weight = whole.weight.numpy()[edges]

    def toward(self, hops: int, copies: int) -> Adjacency:
        """The edges into the pairs at most ``hops`` apart, R times side by side.

        Copy r of pair p is node ``p * R + r``: so the targets are the first of the sources in all copies together.
        """
        targets, sources = self.sizes[hops : hops + 2]
        edges, degree = incoming(self.rowptr, np.repeat(np.arange(targets), copies))
        copy = np.repeat(np.tile(np.arange(copies), targets), degree)
        rowptr = np.concatenate([[0], np.cumsum(degree)])
        col = self.col[edges].astype(np.int64) * copies + copy
        return Adjacency._trusted(
            (targets * copies, sources * copies),
            torch.from_numpy(rowptr),
            torch.from_numpy(col),
            torch.from_numpy(self.weight[edges]),
            self.aggregate,
        )
