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

# Gradients of the scores of folded layers up to this size stay in the cache between the two passes of backward; larger
# ones are computed in both.
KEPT_SCORE_BYTES = 2**23


def keeps_scores(edges: int, steps: int, layout: _Layout, dtype: torch.dtype) -> bool:
    return edges * steps * layout.padded * dtype.itemsize <= KEPT_SCORE_BYTES


def folds(groups: int, heads: int) -> bool:
    """Whether every head sees its own channels only."""
    return groups % heads == 0


def saved_shapes(layout: _Layout, groups: int, nodes: int, sources: int, steps: int) -> list[tuple[int, ...]]:
    """Of what forward leaves for backward besides packed rows.

    Separate: queries, keys and values. Folded: queries, folded queries, score bias, aggregate, total weight.
    """
    row, head_row = (nodes, layout.stride), (nodes, layout.padded)
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
        self.row_size = layout.stride if packed else width
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
        return saved_shapes(self.layout, self.groups, nodes, self.sources, self.steps)

    def saved_addresses(self, saved: Sequence[Tensor]) -> list[int]:
        """Of queries, keys, folded, bias, aggregate and total, 0 for those the form does not have."""
        addresses = [x.data_ptr() for x in saved]
        return [addresses[0], 0, *addresses[1:]] if self.folds else [*addresses, 0, 0, 0, 0]

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
    call, stride = _kernel("layer", layer.like), layer.layout.stride
    graph, nodes = layer.graph(csr, csc, order)
    made = [] if layer.packed else [empty(x, *x.shape[:-1], stride) for x in layer.given]
    saved = [empty(layer.like, *shape) for shape in layer.saved_shapes(nodes)]
    out = empty(layer.like, nodes, layer.row_size)
    call(
        graph, *layer.numbers, *layer.matrices("attended", layer.given, nodes, layer.row_size),
        *layer.matrices("packed", made or layer.given, nodes, stride), layer.saved_addresses(saved), out.data_ptr(),
        0, 0, [], [], [], False, threads(),
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
    count = 0 if layer.packed else len(layer.given)
    history, saved = saved[:count] or layer.given, saved[count:]
    for shape, x in zip(layer.saved_shapes(nodes), saved, strict=True):
        _dense("saved", x, like.dtype, shape)
    grads = [x for _ in range(3) for x in (torch.empty_like(like), like.new_empty(layout.width))]
    grad_given = [empty(x, *x.shape) for x in layer.given]
    keep = not layer.folds or keeps_scores(csr.col.numel(), layer.steps, layout, like.dtype)
    call(
        graph, *layer.numbers, [], [], *layer.matrices("packed", history, nodes, layout.stride),
        layer.saved_addresses(saved), 0, _address(out), grad.data_ptr(), [x.data_ptr() for x in grads],
        *layer.matrices("gradient", grad_given, nodes, layer.row_size),
        keep, threads(),
    )  # fmt: skip
    return [*grads, *grad_given]
