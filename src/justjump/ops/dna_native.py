"""The whole DNA layer on the native kernels, in their packed layout.

Two forms give the same numbers:

separate
    keys and values of all T representations are projected per node, then gathered per edge.
folded
    where every head sees its own channels only (groups a multiple of heads), the projections commute with the
    attention: ``q . (K x + b) = (K^T q) . x + q . b`` and ``sum a (V x + b) = V (sum a x) + (sum a) b``. The query is
    projected once more and the aggregate once per node; keys and values are never formed.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.adjacency import Adjacency
from justjump.ops.packed import contiguous_rows

if TYPE_CHECKING:
    from justjump.ops.dna import Projections


def dna_layer(
    newest: Tensor | None,
    attended: Sequence[Tensor],
    projections: "Projections",
    adj: Adjacency,
    weight: Tensor,
    heads: int,
    dropout_p: float,
    seed: Tensor,
    packed: bool,
) -> Tensor:
    """:func:`justjump.ops.dna.dna_conv` of rows in the standard or the packed layout.

    Args:
        newest: ``[N, d]`` or ``[N, stride]``, or None for the last of those attended
        attended: tensors ``[N, d]`` or ``[N, t, d]`` (packed: stride), T representations in all

    Returns:
        ``[N, d]`` or ``[N, stride]``
    """
    structure = (adj.rowptr, adj.col, adj.colptr, adj.row, adj.position, weight)
    order = None if _folds(projections.query, heads) else adj.order
    rest = (*projections, *structure, order, heads, dropout_p, seed, packed)
    if torch.compiler.is_compiling() or type(attended[0]) is not Tensor:
        out: Tensor = _forward(newest, list(attended), *rest)[0]
    else:
        out = _Layer.apply(len(attended), *attended, newest, *rest)  # type: ignore[no-untyped-call]
    return out


def _run_forward(
    newest: Tensor | None,
    attended: Sequence[Tensor],
    wq: Tensor,
    bq: Tensor | None,
    wk: Tensor,
    bk: Tensor | None,
    wv: Tensor,
    bv: Tensor | None,
    rowptr: Tensor,
    col: Tensor,
    colptr: Tensor,
    row: Tensor,
    position: Tensor,
    weight: Tensor,
    order: Tensor | None,
    heads: int,
    dropout_p: float,
    seed: Tensor,
    packed: bool,
) -> tuple[Tensor, list[Tensor]]:
    """The output, and what backward needs: the packed rows if they were made here, attended and newest; then folded
    (query, folded query, score bias, aggregate, total weight), or separate (query, keys and values [N, 2, T, stride]):
    one row a source to gather."""
    channels = wq.size(0) * wq.size(1) // heads
    made: list[Tensor] = []
    if not packed:
        attended = [_pack(x, heads) for x in attended]
        newest = None if newest is None else _pack(newest, heads)
        made = [*attended, *([] if newest is None else [newest])]
    csr, history = native.Csr(rowptr, col), _steps(attended)
    linear = partial(native.grouped_linear, heads=heads, channels=channels)
    scale = 1 / math.sqrt(channels)
    attend = partial(
        native.dna_forward, heads=heads, channels=channels, scale=scale, dropout_p=dropout_p, seed=int(seed)
    )
    query = linear(history[-1] if newest is None else newest, wq, bq)
    if not _folds(wq, heads):
        both = native.empty(query, query.size(0), 2, len(history), query.size(1))
        keys, values = _keys_values(both)
        for x, key, value in zip(history, keys, values, strict=True):
            linear(x, wk, bk, out=key)
            linear(x, wv, bv, out=value)
        out, _, _ = attend(csr, weight, query, keys, values, None, order=order)
        return out if packed else native.unpack(out, heads, channels), [*made, query, both]
    folded, bias = _linear_dot(query, wk, bk, heads, channels)
    aggregate, total, _ = attend(csr, weight, folded, history, None, bias)
    assert total is not None
    out = linear(aggregate, wv, bv, scale=total)
    return out if packed else native.unpack(out, heads, channels), [*made, query, folded, bias, aggregate, total]


def _run_backward(
    grad: Tensor,
    saved: Sequence[Tensor],
    newest: Tensor | None,
    attended: Sequence[Tensor],
    wq: Tensor,
    wk: Tensor,
    bk: Tensor | None,
    wv: Tensor,
    bv: Tensor | None,
    rowptr: Tensor,
    col: Tensor,
    colptr: Tensor,
    row: Tensor,
    position: Tensor,
    weight: Tensor,
    heads: int,
    dropout_p: float,
    seed: Tensor,
    packed: bool,
) -> list[Tensor]:
    """Gradients of wq, bq, wk, bk, wv, bv, of each attended tensor, and of newest if it was given."""
    csr, csc = native.Csr(rowptr, col), native.Csc(colptr, row, position)
    groups, channels = wq.size(0), wq.size(0) * wq.size(1) // heads
    if not packed:
        grad = _pack(grad, heads)
        attended, saved = saved[: len(attended)], saved[len(attended) :]
        if newest is not None:
            newest, saved = saved[0], saved[1:]
    linear = partial(native.grouped_linear, heads=heads, channels=channels)
    weight_grad = partial(native.grouped_linear_weight_grad, groups=groups, heads=heads, channels=channels)
    scale = 1 / math.sqrt(channels)
    attend_backward = partial(
        native.dna_backward, heads=heads, channels=channels, scale=scale, dropout_p=dropout_p, seed=int(seed)
    )
    query, history = saved[0], _steps(attended)
    grad = grad.contiguous()
    grad_attended = [native.empty(x, *x.shape) for x in attended]
    grad_history = _steps(grad_attended)
    if not _folds(wq, heads):
        keys, values = _keys_values(saved[1])
        grad_query, _, grad_keys, grad_values, _ = attend_backward(
            csr, csc, weight, query, keys, values, None, grad, None
        )
        assert grad_query is not None
        assert grad_keys is not None
        assert grad_values is not None
        grad_wk, grad_bk = _sum_grads(weight_grad, history, grad_keys)
        grad_wv, grad_bv = _sum_grads(weight_grad, history, grad_values)
        for grad_key, grad_value, into in zip(grad_keys, grad_values, grad_history, strict=True):
            linear(grad_key, wk, transpose=True, out=into)
            linear(grad_value, wv, transpose=True, out=into, accumulate=True)
    else:
        folded, bias, aggregate, total = saved[1:]
        grad_wv, grad_bv = weight_grad(aggregate, grad, scale=total)
        grad_aggregate, grad_total = _linear_dot(grad, wv, bv, heads, channels)
        grad_folded, grad_bias, _, _, _ = attend_backward(
            csr, csc, weight, folded, history, None, bias, grad_aggregate, grad_total, grad_keys=grad_history
        )
        assert grad_folded is not None
        assert grad_bias is not None
        grad_wk, grad_bk = weight_grad(grad_folded, query, scale=grad_bias)
        grad_query = linear(grad_folded, wk, bk, scale=grad_bias)
    grad_wq, grad_bq = weight_grad(history[-1] if newest is None else newest, grad_query)
    if newest is not None:
        grad_attended.append(linear(grad_query, wq, transpose=True))
    else:
        linear(grad_query, wq, transpose=True, out=grad_history[-1], accumulate=True)
    if not packed:
        grad_attended = [_unpack(x, heads, channels) for x in grad_attended]
    return [grad_wq, grad_bq, grad_wk, grad_bk, grad_wv, grad_bv, *grad_attended]


_forward = torch.library.custom_op("justjump::dna_layer", _run_forward, mutates_args=())
_backward = torch.library.custom_op("justjump::dna_layer_backward", _run_backward, mutates_args=())


@_forward.register_fake
def _(  # type: ignore[no-untyped-def]
    newest, attended, wq, bq, wk, bk, wv, bv, rowptr, col, colptr, row, position, weight, order, heads, p, seed, packed
):
    last, nodes = attended[-1] if newest is None else newest, attended[0].size(0)
    stride = native.row_stride(heads, wq.size(0) * wq.size(1) // heads, last.dtype)
    made = [] if packed else [*attended, *([] if newest is None else [newest])]
    made = [x.new_empty(*x.shape[:-1], stride) for x in made]
    out = last.new_empty(nodes, last.size(-1))

    def rows(*shape: int) -> Tensor:
        return last.new_empty(nodes, *shape)

    if not _folds(wq, heads):
        steps = sum(x.size(1) if x.dim() == 3 else 1 for x in attended)
        return out, [*made, rows(stride), rows(2, steps, stride)]
    heads = native.padded_heads(heads)
    return out, [*made, rows(stride), rows(stride), rows(heads), rows(stride), rows(heads)]


@_backward.register_fake
def _(grad, saved, newest, attended, wq, wk, bk, wv, bv, *_):  # type: ignore[no-untyped-def]
    like, bias = torch.empty_like, wq.new_empty(wq.size(0) * wq.size(1))
    grads = [like(wq), bias, like(wk), like(bias), like(wv), like(bias), *(x.new_empty(x.shape) for x in attended)]
    return grads if newest is None else [*grads, grad.new_empty(grad.shape)]


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    newest, attended, wq, bq, wk, bk, wv, bv, *structure, _, ctx.heads, ctx.dropout_p, seed, ctx.packed = inputs
    ctx.attended, ctx.biased = len(attended), (bq is not None, bk is not None, bv is not None)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(newest, wq, wk, bk, wv, bv, *structure, seed, *attended, *output[1])


def _gradients(ctx: Any, grad: Tensor | None, run: Callable[..., list[Tensor]]) -> tuple[Any, ...]:
    newest, wq, wk, bk, wv, bv, *rest = ctx.saved_tensors
    structure, seed, attended, saved = rest[:6], rest[6], rest[7 : 7 + ctx.attended], rest[7 + ctx.attended :]
    if grad is None:
        return (None, [None] * ctx.attended) + (None,) * 17
    options = (ctx.heads, ctx.dropout_p, seed, ctx.packed)
    grads = run(grad, saved, newest, attended, wq, wk, bk, wv, bv, *structure, *options)
    weights, grad_attended, grad_newest = grads[:6], grads[6 : 6 + ctx.attended], grads[6 + ctx.attended :]
    wanted = (True, ctx.biased[0], True, ctx.biased[1], True, ctx.biased[2])
    parts = [part if is_wanted else None for part, is_wanted in zip(weights, wanted, strict=True)]
    return (grad_newest[0] if grad_newest else None, grad_attended, *parts) + (None,) * 11


_forward.register_autograd(lambda ctx, grad, _: _gradients(ctx, grad, _backward), setup_context=_setup)


class _Layer(torch.autograd.Function):
    """The operation without torch's dispatcher: on a small graph the way through it takes as long as a kernel."""

    @staticmethod
    def forward(ctx: Any, count: int, *inputs: Any) -> Tensor:
        arguments = (inputs[count], inputs[:count], *inputs[count + 1 :])
        output = _run_forward(*arguments)
        _setup(ctx, arguments, output)
        return output[0]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Any, ...]:
        newest, attended, *rest = _gradients(ctx, grad, _run_backward)
        return None, *attended, newest, *rest


def _pack(x: Tensor, heads: int) -> Tensor:
    """``[N, d] -> [N, stride]`` or ``[N, t, d] -> [N, t, stride]``"""
    packed = native.pack(contiguous_rows(x.reshape(-1, x.size(-1))), heads)
    return packed if x.dim() == 2 else packed.view(*x.shape[:-1], -1)


def _unpack(x: Tensor, heads: int, channels: int) -> Tensor:
    """``[N, stride] -> [N, d]`` or ``[N, t, stride] -> [N, t, d]``"""
    unpacked = native.unpack(x.view(-1, x.size(-1)), heads, channels)
    return unpacked if x.dim() == 2 else unpacked.view(*x.shape[:-1], -1)


def _folds(weight: Tensor, heads: int) -> bool:
    return weight.size(0) % heads == 0


def _steps(attended: Sequence[Tensor]) -> list[Tensor]:
    """The T representations ``[N, stride]`` one by one, as views."""
    return [step for x in attended for step in (x.unbind(1) if x.dim() == 3 else [x])]


def _keys_values(both: Tensor) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """``[N, 2, T, stride]`` as T keys and T values ``[N, stride]``, views."""
    keys, values = both.unbind(1)
    return keys.unbind(1), values.unbind(1)


def _linear_dot(x: Tensor, weight: Tensor, bias: Tensor | None, heads: int, channels: int) -> tuple[Tensor, Tensor]:
    """The transposed map of x, and x . bias head by head (zero without a bias). ``[N, stride], [N, P]``"""
    if bias is None:
        dot = x.new_zeros(x.size(0), native.padded_heads(heads))
        return native.grouped_linear(x, weight, heads=heads, channels=channels, transpose=True), dot
    return native.grouped_linear_dot(x, weight, bias, heads=heads, channels=channels, transpose=True)


def _sum_grads(
    weight_grad: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], inputs: Sequence[Tensor], grads: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Weight and bias gradient of one projection applied to several inputs."""
    weights, biases = zip(*map(weight_grad, inputs, grads), strict=True)
    return torch.stack(weights).sum(0), torch.stack(biases).sum(0)
