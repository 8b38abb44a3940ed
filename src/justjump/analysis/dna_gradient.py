"""Gradients of a DNA layer at its inputs, by the native kernels: no forward pass, no gradients of weights."""

import math
from collections.abc import Iterator, Sequence
from functools import partial

from torch import Tensor, nn

from justjump.analysis.copies import Copies
from justjump.nn import DNAConv
from justjump.ops import native


class DNAGradient:
    """A layer and its ReLU on the whole graph, ready for gradients on any part of it.

    What backward needs is projected here, once for every node. As in :mod:`justjump.ops.dna_native`, keys and values
    are never formed where every head sees its own channels only.

    Args:
        conv: the layer, without dropout
        history: the packed representations that it gets, ``[N, stride]`` each
        out: its output after the ReLU, ``[N, stride]``
    """

    def __init__(self, conv: nn.Module, history: Sequence[Tensor], out: Tensor) -> None:
        assert isinstance(conv, DNAConv)
        head = conv.multi_head
        self.heads, self.channels = head.heads, head.in_channels // head.heads
        self.linear = partial(native.grouped_linear, heads=self.heads, channels=self.channels)
        self.weights = head.projections
        self.newest, self.steps = len(history) - 1, conv.attended(len(history))
        self.positive = (out > 0).to(out.dtype)
        self.query = self.linear(history[-1], self.weights.query, self.weights.query_bias)
        self.folds = head.groups % head.heads == 0
        self.keys = [history[s] for s in self.steps]
        self.values: list[Tensor] = []
        self.bias: Tensor | None = None
        if self.folds:
            self.query, self.bias = self._linear_dot(self.query, self.weights.key, self.weights.key_bias)
        else:
            self.values = [self.linear(h, self.weights.value, self.weights.value_bias) for h in self.keys]
            self.keys = [self.linear(h, self.weights.key, self.weights.key_bias) for h in self.keys]

    def __call__(self, grad: Tensor, nodes: Tensor, edges: Copies) -> Iterator[tuple[int, Tensor]]:
        """Gradients at each h^(s) that the layer sees.

        Args:
            grad: ``[R, P, stride]`` at the outputs of the targets
            nodes: ``[p]`` the sources, targets first
            edges: R copies of the graph from sources to targets

        Yields:
            s, and the gradient at h^(s) ``[R, p, stride]``, or of the first nodes only
        """
        sources, targets = nodes.repeat(edges.copies), nodes[: edges.targets].repeat(edges.copies)
        grad = grad.reshape(len(targets), -1) * self.positive[targets]
        grad_total = None
        if self.folds:
            grad, grad_total = self._linear_dot(grad, self.weights.value, self.weights.value_bias)
        grad_query, grad_bias, grad_keys, grad_values, _ = native.dna_backward(
            edges.csr,
            edges.csc,
            edges.normalized("gcn", grad.dtype),
            self.query[targets],
            [key[sources] for key in self.keys],
            [value[sources] for value in self.values] if not self.folds else None,
            None if self.bias is None else self.bias[targets],
            grad,
            grad_total,
            heads=self.heads,
            channels=self.channels,
            scale=1 / math.sqrt(self.channels),
        )
        assert grad_query is not None
        assert grad_keys is not None
        if self.folds:
            grad_query = self.linear(grad_query, self.weights.key, self.weights.key_bias, scale=grad_bias)
        for number, (s, found) in enumerate(zip(self.steps, grad_keys, strict=True)):
            if grad_values is not None:
                found = self.linear(found, self.weights.key, transpose=True)
                self.linear(grad_values[number], self.weights.value, transpose=True, out=found, accumulate=True)
            yield s, found.view(edges.copies, edges.sources, -1)
        asks = self.linear(grad_query, self.weights.query, transpose=True)
        yield self.newest, asks.view(edges.copies, edges.targets, -1)

    def _linear_dot(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        """The transposed map of x, and x . bias head by head. ``[R, stride], [R, P]``"""
        assert bias is not None  # the network's projections have one
        return native.grouped_linear_dot(x, weight, bias, heads=self.heads, channels=self.channels, transpose=True)
