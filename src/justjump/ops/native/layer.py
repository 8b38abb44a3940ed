"""A whole DNA layer in one call: projections and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from justjump.ops.native.checks import _address, _dense, _dropout, _tensor
from justjump.ops.native.graph import Csc, Csr, _graph
from justjump.ops.native.grouped import _group_count
from justjump.ops.native.layout import _Layout
from justjump.ops.native.module import _kernel, empty, threads

# One number for each edge, step and head is kept up to this size: it stays in the cache from one pass to the next.
# Larger layers compute such numbers again.
KEPT_BYTES = 2**23


def keeps(edges: int, steps: int, layout: _Layout) -> bool:
    return edges * steps * layout.padded * layout.itemsize <= KEPT_BYTES


def folds(groups: int, heads: int) -> bool:
    """Whether every head sees its own channels only."""
    return groups % heads == 0


def is_sparse(layout: _Layout, groups: int, edges: int, steps: int, dropout_p: float) -> bool:
    """Whether a layer on rows in the standard layout leaves them there and skips what dropout takes.

    So it does where heads are whole cache lines, groups whole vectors, and there are not too many weights to keep. With
    one head most of a vector would be empty.
    """
    lines = layout.channels * layout.itemsize % 64 == 0 and layout.width // groups * layout.itemsize % 32 == 0
    fits = layout.heads > 1 and folds(groups, layout.heads) and lines
    return dropout_p > 0 and fits and keeps(edges, steps, layout)


def saved_shapes(
    layout: _Layout, groups: int, nodes: int, sources: int, edges: int, steps: int, sparse: bool
) -> list[tuple[int, ...]]:
    """Of what forward leaves for backward besides packed rows.

    Separate: queries, keys and values. Folded: queries, folded queries, score bias, aggregate, total weight. Sparse:
    the same without queries, then the weights of all edges.
    """
    row, head_row = (nodes, layout.stride), (nodes, layout.padded)
    if sparse:
        row = (nodes, layout.width)
        return [row, head_row, row, head_row, (edges * steps * layout.padded + 64 // layout.itemsize,)]
    if folds(groups, layout.heads):
        return [row, row, head_row, row, head_row]
    return [row, (sources, 2, steps, layout.stride)]


def count_steps(attended: Sequence[Tensor]) -> int:
    return sum(x.size(1) if x.dim() == 3 else 1 for x in attended)


class Layer:
    """The inputs of a layer with N targets and M sources.

    Args:
        attended: tensors ``[M, d]`` or ``[M, t, d]`` (packed: stride), T former representations in all
        newest: ``[N, d]``, None for the last of those attended
        weights: of query, key and value, ``[g, d / g, d / g]``
        biases: ``[d]`` or None
        edge_weight: ``[E]``
        packed: rows come and go in the packed layout
        relu: of the output
    """

    def __init__(
        self,
        attended: Sequence[Tensor],
        newest: Tensor | None,
        weights: Sequence[Tensor],
        biases: Sequence[Tensor | None],
        edge_weight: Tensor,
        heads: int,
        dropout_p: float,
        seed: int,
        packed: bool,
        relu: bool = False,
    ) -> None:
        like = weights[0]
        self.steps = count_steps(attended)
        if self.steps == 0:
            raise ValueError("there are no former representations to attend to")
        for x in attended:
            _tensor("x", x, like.dtype)
        self.groups, width = like.size(0), like.size(0) * like.size(1)
        self.layout = layout = _Layout(heads, width // heads, like)
        for weight, bias in zip(weights, biases, strict=True):
            if _group_count(weight, layout.width, like.dtype) != self.groups:
                raise ValueError(f"a weight has {weight.size(0)} groups, another {self.groups}")
            if bias is not None:
                _dense("bias", bias, like.dtype, (width,))
        self.like, self.packed, self.relu = like, packed, relu
        self.given = [*attended, *([] if newest is None else [newest])]  # M rows each, the newest has N
        self.sources = attended[0].size(0)
        self.has_newest = newest is not None
        self.edge_weight = edge_weight
        self.folds = folds(self.groups, heads)
        self.sparse = not packed and is_sparse(layout, self.groups, edge_weight.numel(), self.steps, dropout_p)
        self.row_size = layout.stride if packed else width
        self.history_size = width if self.sparse else layout.stride
        self.numbers = (
            heads, layout.channels, self.groups, 1 / math.sqrt(layout.channels), *_dropout(dropout_p, seed),
            edge_weight.data_ptr(), [_address(x) for pair in zip(weights, biases, strict=True) for x in pair],
            packed, relu, self.has_newest,
        )  # fmt: skip

    def graph(self, csr: Csr, csc: Csc, order: Tensor | None) -> tuple[Any, int]:
        graph, nodes = _graph(csr, csc, self.sources, order)
        _dense("edge_weight", self.edge_weight, self.like.dtype, (csr.col.numel(),))
        if not self.has_newest and nodes != self.sources:
            raise ValueError(f"{nodes} targets attend to {self.sources} sources: newest must be given")
        return graph, nodes

    def saved_shapes(self, nodes: int) -> list[tuple[int, ...]]:
        edges = self.edge_weight.numel()
        return saved_shapes(self.layout, self.groups, nodes, self.sources, edges, self.steps, self.sparse)

    def saved_addresses(self, saved: Sequence[Tensor]) -> list[int]:
        """Of queries, keys, folded, bias, aggregate, total and weights, 0 for those the form does not have."""
        addresses = [x.data_ptr() for x in saved]
        if self.sparse:
            return [0, 0, *addresses]
        return [addresses[0], 0, *addresses[1:], 0] if self.folds else [*addresses, 0, 0, 0, 0, 0]

    def matrices(self, name: str, tensors: Sequence[Tensor], nodes: int, width: int) -> tuple[list[int], list[int]]:
        """Addresses of the T representations, then of the newest if it is apart, and the distance of their rows."""
        addresses: list[int] = []
        strides: list[int] = []
        for i, x in enumerate(tensors):
            _tensor(name, x, self.like.dtype)
            rows = nodes if self.has_newest and i == len(tensors) - 1 else self.sources
            if x.dim() not in (2, 3) or x.size(0) != rows or x.size(-1) != width:
                expected = f"[{rows}, {width}] or [{rows}, t, {width}]"
                raise ValueError(f"{name} has shape {list(x.shape)}, expected {expected}")
            if width > 1 and x.stride(-1) != 1:
                raise ValueError(f"{name} has strides {x.stride()}, expected contiguous rows: call .contiguous()")
            start, step, steps = x.data_ptr(), x.stride(1) * x.itemsize, x.size(1) if x.dim() == 3 else 1
            addresses += [start + t * step for t in range(steps)]
            strides += [x.stride(0)] * steps
        return addresses, strides


def layer_forward(layer: Layer, csr: Csr, csc: Csc, order: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
    """Attention of the targets to the former representations of their sources, from rows to rows.

    ``order`` ``[N]`` in which to take the targets is a permutation; it changes no bit of the result.

    Returns:
        ``[N, d]``, and what backward needs: the packed rows if they are made here, then :func:`saved_shapes`
    """
    call = _kernel("layer", layer.like)
    graph, nodes = layer.graph(csr, csc, order)
    made = [] if layer.packed or layer.sparse else [empty(x, *x.shape[:-1], layer.layout.stride) for x in layer.given]
    saved = [empty(layer.like, *shape) for shape in layer.saved_shapes(nodes)]
    out = empty(layer.like, nodes, layer.row_size)
    given = layer.matrices("attended", layer.given, nodes, layer.row_size)
    history = layer.matrices("packed", made, nodes, layer.history_size) if made else given
    if nodes:
        call(
            graph, *layer.numbers, *given, *history, layer.saved_addresses(saved), out.data_ptr(), 0, 0, [], [], [],
            False, threads(),
        )  # fmt: skip
    return out, [*made, *saved]


def layer_backward(
    layer: Layer, csr: Csr, csc: Csc, saved: Sequence[Tensor], grad: Tensor, out: Tensor | None = None
) -> list[Tensor]:
    """Gradients of weight and bias of query, key and value, of each tensor attended, and of newest if it was given.

    ``out`` ``[N, d]`` is the output, with ReLU only.
    """
    call, like, layout = _kernel("layer", layer.like), layer.like, layer.layout
    graph, nodes = layer.graph(csr, csc, None)
    _dense("grad", grad, like.dtype, (nodes, layer.row_size))
    if layer.relu:
        if out is None:
            raise ValueError("out is None, expected the output of the layer")
        _dense("out", out, like.dtype, (nodes, layer.row_size))
    count = 0 if layer.packed or layer.sparse else len(layer.given)
    history, saved = saved[:count] or layer.given, [x.contiguous() for x in saved[count:]]
    for shape, x in zip(layer.saved_shapes(nodes), saved, strict=True):
        _dense("saved", x, like.dtype, shape)
    grads = [x for _ in range(3) for x in (torch.empty_like(like), like.new_empty(layout.width))]
    grad_given = [empty(x, *x.shape) for x in layer.given]
    if nodes == 0:
        return [x.zero_() for x in (*grads, *grad_given)]
    keep = not layer.folds or keeps(csr.col.numel(), layer.steps, layout)
    call(
        graph, *layer.numbers, [], [], *layer.matrices("history", history, nodes, layer.history_size),
        layer.saved_addresses(saved), 0, _address(out), grad.data_ptr(), [x.data_ptr() for x in grads],
        *layer.matrices("gradient", grad_given, nodes, layer.row_size),
        keep, threads(),
    )  # fmt: skip
    return [*grads, *grad_given]
