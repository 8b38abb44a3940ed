"""A whole DNA layer by the native kernels, as an operation of torch: ``csrc/dna/layer.h``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from justjump.ops import native
from justjump.ops.adjacency import Adjacency
from justjump.ops.layout import Layout
from justjump.ops.operation import operation
from justjump.ops.plan import Plan, keeps_scores, saved_shapes

if TYPE_CHECKING:
    from justjump.ops.dna import Projections

WEIGHTS = ("query_weight", "query_bias", "key_weight", "key_bias", "value_weight", "value_bias")
GIVEN = (*WEIGHTS, "step_bias", "qk_scale")


def dna_conv(
    plan: Plan,
    newest: Tensor | None,
    attended: Sequence[Tensor],
    projections: Projections,
    adj: Adjacency,
    heads: int,
    dropout_p: float,
    seed: Tensor,
    layout: Layout | None,
    relu: bool,
) -> Tensor:
    """The layer's output in the layout of the rows that it is given.

    Args:
        newest: ``[N, d]`` (packed: stride) the rows that ask, or None for the last of those attended
        attended: tensors ``[M, d]`` or ``[M, t, d]`` (packed: stride), T representations in all
        layout: of these rows
    """
    weight = adj.weight
    if weight is None:
        raise ValueError(f"{adj} has no weights: call with_self_loops().normalized() of the graph before")
    if attended[0].dtype != projections.query.dtype:
        expected = projections.query.dtype
        raise TypeError(f"x has dtype {attended[0].dtype}, but the layer has {expected}: convert one of them")
    order = adj.order if plan.by_community else None
    structure = (adj.rowptr, adj.col, adj.colptr, adj.row, adj.position, order)
    learns = any(p is not None and p.requires_grad for p in projections[:6])
    *weights, step_bias, qk_scale = projections
    padding = (0, _layout(projections.query, heads).padded - heads)
    step_bias = None if step_bias is None else pad(step_bias, padding)  # [T, P]
    qk_scale = None if qk_scale is None else pad(qk_scale, padding)  # [P]
    options = (heads, plan.form == "folded", layout is not None, relu, plan.keeps_scores, dropout_p, seed)
    wanted = (learns, weight.requires_grad, adj.room, adj.first)
    learned = (list(attended), newest, weight, *weights, step_bias, qk_scale)
    out: Tensor = dna_layer(*learned, *structure, *options, *wanted)
    return out


@operation("justjump::dna_layer", learned=11)
def dna_layer(
    attended: Sequence[Tensor],
    newest: Tensor | None,
    edge_weight: Tensor,
    query_weight: Tensor,
    query_bias: Tensor | None,
    key_weight: Tensor,
    key_bias: Tensor | None,
    value_weight: Tensor,
    value_bias: Tensor | None,
    step_bias: Tensor | None,
    qk_scale: Tensor | None,
    rowptr: Tensor,
    col: Tensor,
    colptr: Tensor,
    row: Tensor,
    position: Tensor,
    order: Tensor | None,
    heads: int,
    folded: bool,
    packed: bool,
    relu: bool,
    keep_scores: bool | None,
    dropout_p: float,
    seed: Tensor,
    learns: bool,
    learns_edges: bool,
    room: bool,
    first: int,
) -> tuple[Tensor, list[Tensor]]:
    """The output, and for backward: the packed rows if they are made here, then :func:`saved_shapes`."""
    if room:
        col, row, position, edge_weight = native.filled(rowptr, col, row, position, edge_weight)
    dtype, targets, sources = query_weight.dtype, rowptr.numel() - 1, attended[0].size(0)
    layout = _layout(query_weight, heads)
    given = [native.readable(x) for x in attended]
    given_newest = None if newest is None else native.readable(newest)
    history, last, made = given, given_newest, []
    if not packed:
        history = [native.empty(x, *x.shape[:-1], layout.stride) for x in given]
        last = None if given_newest is None else native.empty(given_newest, len(given_newest), layout.stride)
        made = history if last is None else [*history, last]
    shapes = saved_shapes(folded, qk_scale is not None, layout, targets, sources, _count(attended))
    saved = {name: native.empty(query_weight, *shape) for name, shape in shapes.items()}
    out = native.empty(query_weight, targets, layout.stride if packed else layout.width)
    weights = _weights(query_weight, query_bias, key_weight, key_bias, value_weight, value_bias, step_bias, qk_scale)
    if targets:
        native.run(
            "DnaForward", dtype, graph=native.graph(sources, rowptr, col, colptr, row, position, order), heads=heads,
            groups=query_weight.size(0), folded=folded, packed=packed, relu=relu, dropout=dropout_p,
            seed=native.unsigned(seed), first=first, edge_weight=edge_weight.contiguous(), **weights, history=history,
            newest=last, given=[] if packed else given, given_newest=None if packed else given_newest, **saved, out=out,
        )  # fmt: skip
    return out, [*made, *saved.values()]


@operation("justjump::dna_layer_backward")
def dna_layer_backward(
    grad: Tensor,
    out: Tensor | None,
    history: Sequence[Tensor],
    newest: Tensor | None,
    saved: Sequence[Tensor],
    edge_weight: Tensor,
    query_weight: Tensor,
    query_bias: Tensor | None,
    key_weight: Tensor,
    key_bias: Tensor | None,
    value_weight: Tensor,
    value_bias: Tensor | None,
    step_bias: Tensor | None,
    qk_scale: Tensor | None,
    rowptr: Tensor,
    col: Tensor,
    colptr: Tensor,
    row: Tensor,
    position: Tensor,
    heads: int,
    folded: bool,
    packed: bool,
    keep_scores: bool | None,
    dropout_p: float,
    seed: Tensor,
    learns: bool,
    learns_edges: bool,
    room: bool,
    first: int,
) -> list[Tensor]:
    """Gradients of each tensor of the history, of newest, steps' bias and scale if they were given, then of the rest.

    Args:
        out: the output where there is a ReLU
        history, newest: packed
        learns: whether weights and biases get gradients: query, key and value in turn
        learns_edges: whether the edge weights do: theirs comes last
        room: whether the arrays of edges have room for more edges than there are
        first: number of the first edge, for dropout
    """
    dtype, targets, sources = query_weight.dtype, rowptr.numel() - 1, history[0].size(0)
    layout = _layout(query_weight, heads)
    size = layout.stride if packed else layout.width
    grad_history = [native.empty(x, *x.shape[:-1], size) for x in history]
    grad_newest = [] if newest is None else [native.empty(newest, len(newest), size)]
    grad_steps = [] if step_bias is None else [torch.zeros_like(step_bias)]
    grad_scale = [] if qk_scale is None else [torch.zeros_like(qk_scale)]
    grad_weights = _gradients_like(query_weight) if learns else []
    grad_edges = [torch.zeros_like(edge_weight) if room else torch.empty_like(edge_weight)] if learns_edges else []
    grads = [*grad_history, *grad_newest, *grad_steps, *grad_scale, *grad_weights, *grad_edges]
    if keep_scores is None:
        keep_scores = keeps_scores(layout, col.numel(), _count(history))
    if targets == 0:
        return [x.zero_() for x in grads]
    grad_edge_weight = grad_edges[0] if grad_edges else None
    if room:
        edges = (col, row, position, edge_weight, grad_edge_weight)
        col, row, position, edge_weight, grad_edge_weight = native.filled(rowptr, *edges)
    weights = _weights(query_weight, query_bias, key_weight, key_bias, value_weight, value_bias, step_bias, qk_scale)
    shapes = saved_shapes(folded, qk_scale is not None, layout, targets, sources, _count(history))
    named = {name: x.contiguous() for name, x in zip(shapes, saved, strict=True)}
    by_target = None if step_bias is None else native.empty(step_bias, targets, step_bias.numel())
    scale_by_target = None if qk_scale is None else native.empty(qk_scale, targets, qk_scale.numel())
    learned = {f"grad_{name}": x for name, x in zip(WEIGHTS, grad_weights, strict=False)}
    native.run(
        "DnaBackward", dtype, graph=native.graph(sources, rowptr, col, colptr, row, position), heads=heads,
        groups=query_weight.size(0), folded=folded, packed=packed, relu=out is not None, dropout=dropout_p,
        seed=native.unsigned(seed), first=first, edge_weight=edge_weight.contiguous(), **weights,
        history=[native.readable(x) for x in history], newest=None if newest is None else native.readable(newest),
        **named, out=None if out is None else out.contiguous(), grad_out=grad.contiguous(), **learned,
        grad_edge_weight=grad_edge_weight, grad_history=grad_history,
        grad_newest=grad_newest[0] if grad_newest else None, grad_step_bias=by_target,
        grad_qk_scale=scale_by_target, keep_scores=keep_scores,
    )  # fmt: skip
    if by_target is not None:
        torch.sum(by_target, 0, out=grad_steps[0].view(-1))
    if scale_by_target is not None:
        torch.sum(scale_by_target, 0, out=grad_scale[0])
    return grads


@dna_layer.register_fake
def _(  # type: ignore[no-untyped-def]
    attended, newest, edge_weight, query_weight, query_bias, key_weight, key_bias, value_weight, value_bias,
    step_bias, qk_scale, rowptr, col, colptr, row, position, order, heads, folded, packed, *_,
):  # fmt: skip
    layout, targets = _layout(query_weight, heads), rowptr.numel() - 1
    made = [] if packed else [*attended, *([] if newest is None else [newest])]
    made = [x.new_empty(*x.shape[:-1], layout.stride) for x in made]
    shapes = saved_shapes(folded, qk_scale is not None, layout, targets, attended[0].size(0), _count(attended))
    out = query_weight.new_empty(targets, layout.stride if packed else layout.width)
    return out, [*made, *(out.new_empty(shape) for shape in shapes.values())]


@dna_layer_backward.register_fake
def _(  # type: ignore[no-untyped-def]
    grad, out, history, newest, saved, edge_weight, query_weight, query_bias, key_weight, key_bias, value_weight,
    value_bias, step_bias, qk_scale, rowptr, col, colptr, row, position, heads, folded, packed, keep_scores, dropout_p,
    seed, learns, learns_edges, *_,
):  # fmt: skip
    rows = [*history, *([] if newest is None else [newest])]
    grads = [x.new_empty(*x.shape[:-1], grad.size(-1)) for x in rows]
    grads += [torch.empty_like(x) for x in (step_bias, qk_scale) if x is not None]
    grads += _gradients_like(query_weight) if learns else []
    return [*grads, *([torch.empty_like(edge_weight)] if learns_edges else [])]


def _save(learned: Sequence[Any], constants: Sequence[Any], output: Any) -> list[Tensor | None]:
    """The output if there is a ReLU, newest, edge weights, weights and biases, the packed history, and the rest."""
    attended, newest, *weights = learned
    packed, relu = constants[8:10]
    out, saved = output
    history = attended if packed else []
    if not packed and newest is not None:
        count = len(attended)
        newest, saved = saved[count], [*saved[:count], *saved[count + 1 :]]
    return [out if relu else None, newest, *weights, *history, *saved]


def _gradient(grad: Tensor, saved: Sequence[Any], constants: Sequence[Any]) -> tuple[Any, ...]:
    out, newest, edge_weight, *rest = saved
    weights, step_bias, qk_scale, rest = rest[:6], rest[6], rest[7], rest[8:]
    rowptr, col, colptr, row, position, _, heads, folded, packed, _, keep_scores, *options = constants
    count = len(rest) - (5 if folded else 2) - (0 if qk_scale is None else 2)  # saved_shapes
    history, others = rest[:count], rest[count:]
    structure = (rowptr, col, colptr, row, position)
    grads = dna_layer_backward(
        grad, out, history, newest, others, edge_weight, *weights, step_bias, qk_scale, *structure, heads, folded,
        packed, keep_scores, *options,
    )  # fmt: skip
    learns, learns_edges = options[2:4]
    grad_history, rest = grads[:count], grads[count:]
    grad_newest = None
    if newest is not None:
        grad_newest, *rest = rest
    grad_steps = None
    if step_bias is not None:
        grad_steps, *rest = rest
    grad_scale = None
    if qk_scale is not None:
        grad_scale, *rest = rest
    grad_edges = rest.pop() if learns_edges else None
    given = [None if w is None else g for w, g in zip(weights, rest, strict=True)] if learns else [None] * 6
    return grad_history, grad_newest, grad_edges, *given, grad_steps, grad_scale


dna_layer.register_gradient(_save, _gradient)


def _layout(query_weight: Tensor, heads: int) -> Layout:
    return Layout(heads, query_weight.size(0) * query_weight.size(1) // heads, query_weight.dtype)


def _count(tensors: Sequence[Tensor]) -> int:
    """T, the number of representations in tensors ``[M, d]`` and ``[M, t, d]``."""
    return sum(x.size(1) if x.dim() == 3 else 1 for x in tensors)


def _weights(*tensors: Tensor | None) -> dict[str, Tensor | None]:
    return {name: None if x is None else x.contiguous() for name, x in zip(GIVEN, tensors, strict=True)}


def _gradients_like(weight: Tensor) -> list[Tensor]:
    """Room for the gradients of weight and bias of query, key and value."""
    bias = weight.size(0) * weight.size(1)
    return [x for _ in range(3) for x in (weight.new_empty(weight.shape), weight.new_empty(bias))]
