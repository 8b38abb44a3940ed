r"""Influence of nodes on each other, from the exact Jacobian.

One reverse sweep serves many rows of the Jacobian at once:

- Layer t is differentiated for the nodes within T - t hops of a start node only.
- Start nodes stand side by side as one graph of pairs (start node, node), nearest pairs first: the nodes within k hops
  are the first rows of every tensor.
- Where groups and heads keep blocks of channels apart, the gradients of one channel of each block don't meet, and one
  copy of the graph serves them all: d / blocks copies give the Jacobian of all d channels.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from justjump.analysis.hops import Balls, balls, check_node
from justjump.analysis.pairs import PairGraph
from justjump.data import Graph
from justjump.nn import NodeClassifier
from justjump.ops import Adjacency
from justjump.train import Inputs, prepare

# Numbers in one tensor of a sweep: as large as the caches like it.
SWEEP_ELEMENTS = 2**21


class Influence(NamedTuple):
    """What influences one node.

    Attributes:
        nodes: ``[n]`` the nodes within T hops, nearest first; the first is the node itself
        share: ``[n]`` their shares of the influence: they sum to 1, or are all 0 where nothing has any influence
        hops: ``[n]`` their distances
    """

    nodes: np.ndarray
    share: np.ndarray
    hops: np.ndarray


def influence(model: NodeClassifier, graph: Graph, node: int, *, inputs: Inputs | None = None) -> Influence:
    r"""How much each node within T hops influences the final representation of one node.

    .. math:: I_v(w) = \mathbb{1}^\top \left| \frac{\partial h_v^{(T)}}{\partial h_w^{(0)}} \right| \mathbb{1}

    divided by the sum over w. :math:`h^{(0)}` are the projected features that enter the first graph layer (after
    their ReLU). :math:`h^{(T)}` is what the last linear map sees: the output of the last graph layer after its ReLU, or
    of jumping knowledge where the network has it.

    Args:
        model: any network; differentiated without dropout
        graph: the graph
        node: its number v
        inputs: ``prepare(graph)`` where it was made before, or with normalised features

    >>> from justjump.data import load
    >>> from justjump.nn import ModelConfig
    >>> cora = load("cora")
    >>> model = NodeClassifier(ModelConfig(layers=2, hidden=16), cora.num_features, cora.num_classes)
    >>> influence(model, cora, node=0).hops[:8]
    array([0, 1, 1, 1, 1, 1, 2, 2])
    """
    check_node(node, graph.num_nodes)
    inputs = inputs or prepare(graph)
    return next(influences(model, inputs, np.array([node])))


def influences(model: NodeClassifier, inputs: Inputs, nodes: Sequence[int] | np.ndarray) -> Iterator[Influence]:
    """:func:`influence` of many nodes, one after the other, computed in batches and by several threads."""
    starts, threads = np.asarray(nodes), torch.get_num_threads()
    # One thread for each batch: threads that share one wait for each other after every operation.
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    waiting: deque[Future[list[Influence]]] = deque()
    try:
        network = pool.submit(_Network, model, inputs).result()
        size = network.batch_size(starts)
        for begin in range(0, len(starts), size):
            waiting.append(pool.submit(network.influences, starts[begin : begin + size]))
            if len(waiting) > 2 * threads:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


class _Network:
    """A model and its representations of a graph, ready to be differentiated.

    Gradients are in the layout of the history, whatever it is; the padding of packed rows adds nothing to a sum.
    """

    def __init__(self, model: NodeClassifier, inputs: Inputs) -> None:
        model = self.model = deepcopy(model).eval().requires_grad_(False)
        with torch.no_grad():
            self.history = model.representations(inputs.x, inputs.adj)
        self.adj = inputs.adj.with_self_loops().normalized("gcn", self.history.dtype)
        self.rowptr, self.col = self.adj.rowptr.numpy().astype(np.int64), self.adj.col.numpy()
        self.width = model.config.hidden
        self.copies = model.config.hidden // independent_blocks(model)

    def batch_size(self, starts: np.ndarray) -> int:
        """How many start nodes fill a sweep, judged by a few of them."""
        few = starts[:: max(1, len(starts) // 16)]
        pairs = balls(self.rowptr, self.col, few, self.model.config.layers).sizes[-1] / max(1, len(few))
        return max(1, int(SWEEP_ELEMENTS / max(1.0, pairs * self.width * self.copies)))

    def influences(self, starts: np.ndarray) -> list[Influence]:
        ball = balls(self.rowptr, self.col, starts, self.model.config.layers)
        score, hops = self.scores(ball), ball.hops
        order = np.argsort(ball.start, kind="stable")
        ends = np.cumsum(np.bincount(ball.start))
        found = []
        for pairs in np.split(order, ends[:-1]):
            total = score[pairs].sum()
            share = score[pairs] / total if total > 0 else score[pairs]
            found.append(Influence(ball.nodes[pairs], share, hops[pairs]))
        return found

    def scores(self, ball: Balls) -> np.ndarray:
        """``[P]`` the influence of each pair's node on its start node."""
        score = torch.zeros(len(ball.nodes), dtype=torch.float64)
        for seeds in torch.split(self.seeds(), max(1, SWEEP_ELEMENTS // (self.width * len(ball.nodes)))):
            rows = self.sweep(ball, seeds).abs().sum(1, dtype=torch.float64)
            score += rows.view(-1, len(seeds)).sum(1)
        return score.numpy()

    def seeds(self) -> Tensor:
        """Rows of the final representation to differentiate: one channel of each independent block. ``[R, D]``"""
        channel = torch.arange(self.model.lin_out.in_features)
        segment, block = channel // self.width, channel % self.copies
        row = segment * self.copies + block
        return torch.nn.functional.one_hot(row).T.to(self.history.dtype)

    def sweep(self, ball: Balls, seeds: Tensor) -> Tensor:
        """Gradients at h(0) of some rows of the final representation. ``[R, D] -> [P * R, d]``"""
        layers, copies = self.model.config.layers, len(seeds)
        graph = PairGraph(self.adj, self.rowptr, self.col, ball)
        nodes = torch.from_numpy(ball.nodes).repeat_interleave(copies)
        adjoint = self.final_gradients(nodes[: ball.sizes[0] * copies], seeds)
        for t in range(layers, 0, -1):
            grad, adjoint[t] = adjoint[t], None
            assert grad is not None
            adj = graph.toward(layers - t, copies)
            for s, found in self.layer_gradients(t, grad, nodes[: adj.num_nodes], adj):
                adjoint[s] = _add(found, adjoint[s])
        assert adjoint[0] is not None
        return adjoint[0]

    def layer_gradients(self, t: int, grad: Tensor, nodes: Tensor, adj: Adjacency) -> Iterator[tuple[int, Tensor]]:
        """Gradients of layer t (from 1) at the rows of each h(s) that it sees."""
        first = 0 if self.model.config.model == "dna" else t - 1  # the others see the newest one only
        history = self.history[first:t].take(nodes)
        rows = [history.rows(s).requires_grad_() for s in range(len(history))]
        with torch.enable_grad():
            self.model.layer(t, history, adj)
            out = history.rows(len(history) - 1)
        for s, found in enumerate(torch.autograd.grad(out, rows, grad, allow_unused=True), first):
            if found is not None:  # a window leaves out some
                yield s, found

    def final_gradients(self, nodes: Tensor, seeds: Tensor) -> list[Tensor | None]:
        """Gradients of the start nodes' final representations at the rows of each h(t), T + 1 of them or None."""
        history = self.history.take(nodes)
        rows = [history.rows(t).requires_grad_() for t in range(len(history))]
        with torch.enable_grad():
            final = self.model.final(history)
        grad = seeds.repeat(len(nodes) // len(seeds), 1)
        return list(torch.autograd.grad(final, rows, grad, allow_unused=True))


def independent_blocks(model: NodeClassifier) -> int:
    """Into how many blocks of channels groups and heads part the network: no block depends on another."""
    config = model.config
    if config.update != "none" or config.jump == "lstm":  # dense maps and scores of all channels
        return 1
    return config.groups if config.model == "gcn" else min(config.groups, config.heads)


def _add(new: Tensor, old: Tensor | None) -> Tensor:
    """The sum of gradients of which one covers more of the ball, in place. ``[P, d], [p, d] -> [P, d]``"""
    if old is None:
        return new
    larger, smaller = (new, old) if len(new) >= len(old) else (old, new)
    larger[: len(smaller)] += smaller
    return larger
