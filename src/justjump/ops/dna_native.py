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
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.adjacency import Adjacency

if TYPE_CHECKING:
    from justjump.ops.dna import Projections


def dna_layer(
    newest: Tensor,
    attended: Sequence[Tensor],
    projections: "Projections",
    adj: Adjacency,
    weight: Tensor,
    heads: int,
    dropout_p: float,
    seed: Tensor,
) -> Tensor:
    """:func:`justjump.ops.dna.dna_conv` of packed rows ``[N, stride]``."""
    structure = (adj.rowptr, adj.col, adj.colptr, adj.row, adj.position, weight)
    out: Tensor = _forward(newest, list(attended), *projections, *structure, heads, dropout_p, seed)[0]
    return out


@torch.library.custom_op("justjump::dna_layer", mutates_args=())
def _forward(
    newest: Tensor,
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
    heads: int,
    dropout_p: float,
    seed: Tensor,
) -> tuple[Tensor, list[Tensor]]:
    """The output, and what backward needs: folded (query, folded query, score bias, aggregate, total weight), or
    separate (query, keys..., values...)."""
    csr = native.Csr(rowptr, col)
    channels = wq.size(0) * wq.size(1) // heads
    linear = partial(native.grouped_linear, heads=heads, channels=channels)
    scale = 1 / math.sqrt(channels)
    attend = partial(
        native.dna_forward, heads=heads, channels=channels, scale=scale, dropout_p=dropout_p, seed=int(seed)
    )
    query = linear(newest, wq, bq)
    if not _folds(wq, heads):
        keys = [linear(x, wk, bk) for x in attended]
        values = [linear(x, wv, bv) for x in attended]
        out, _, _ = attend(csr, weight, query, keys, values, None)
        return out, [query, *keys, *values]
    folded = linear(query, wk, transpose=True)
    bias = _dot_bias(query, bk, heads)
    aggregate, total, _ = attend(csr, weight, folded, attended, None, bias)
    assert total is not None
    out = linear(aggregate, wv)
    if bv is not None:
        _add_outer(out, total, bv, heads)
    return out, [query, folded, bias, aggregate, total]


@torch.library.custom_op("justjump::dna_layer_backward", mutates_args=())
def _backward(
    grad: Tensor,
    saved: Sequence[Tensor],
    newest: Tensor,
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
) -> list[Tensor]:
    """Gradients of newest, wq, bq, wk, bk, wv, bv and of each attended representation."""
    csr, csc = native.Csr(rowptr, col), native.Csc(colptr, row, position)
    groups, channels = wq.size(0), wq.size(0) * wq.size(1) // heads
    linear = partial(native.grouped_linear, heads=heads, channels=channels)
    weight_grad = partial(native.grouped_linear_weight_grad, groups=groups, heads=heads, channels=channels)
    scale = 1 / math.sqrt(channels)
    attend_backward = partial(
        native.dna_backward, heads=heads, channels=channels, scale=scale, dropout_p=dropout_p, seed=int(seed)
    )
    query = saved[0]
    grad = grad.contiguous()
    if not _folds(wq, heads):
        keys, values = saved[1 : 1 + len(attended)], saved[1 + len(attended) :]
        grad_query, _, grad_keys, grad_values, _ = attend_backward(
            csr, csc, weight, query, keys, values, None, grad, None
        )
        assert grad_query is not None
        assert grad_keys is not None
        assert grad_values is not None
        grad_wk, grad_bk = _sum_grads(weight_grad, attended, grad_keys)
        grad_wv, grad_bv = _sum_grads(weight_grad, attended, grad_values)
        grad_attended = [linear(g, wk, transpose=True) for g in grad_keys]
        for g, into in zip(grad_values, grad_attended, strict=True):
            linear(g, wv, transpose=True, out=into, accumulate=True)
    else:
        _, folded, bias, aggregate, total = saved
        grad_wv, _ = weight_grad(aggregate, grad)
        grad_bv = _outer_sum(grad, total, wv, heads)
        grad_aggregate = linear(grad, wv, transpose=True)
        grad_total = _dot_bias(grad, bv, heads)
        grad_folded, grad_bias, grad_history, _, _ = attend_backward(
            csr, csc, weight, folded, attended, None, bias, grad_aggregate, grad_total
        )
        assert grad_folded is not None
        assert grad_bias is not None
        assert grad_history is not None
        grad_attended = grad_history
        grad_wk, _ = weight_grad(grad_folded, query)
        grad_bk = _outer_sum(query, grad_bias, wk, heads)
        grad_query = linear(grad_folded, wk)
        if bk is not None:
            _add_outer(grad_query, grad_bias, bk, heads)
    grad_wq, grad_bq = weight_grad(newest, grad_query)
    grad_newest = linear(grad_query, wq, transpose=True)
    return [grad_newest, grad_wq, grad_bq, grad_wk, grad_bk, grad_wv, grad_bv, *grad_attended]


@_forward.register_fake
def _(newest, attended, wq, bq, wk, bk, wv, bv, rowptr, col, colptr, row, position, weight, heads, dropout_p, seed):  # type: ignore[no-untyped-def]
    like = torch.empty_like
    if not _folds(wq, heads):
        return like(newest), [like(newest), *map(like, attended), *map(like, attended)]
    head_row = newest.new_empty(newest.size(0), native.padded_heads(heads))
    return like(newest), [like(newest), like(newest), head_row, like(newest), like(head_row)]


@_backward.register_fake
def _(grad, saved, newest, attended, wq, wk, bk, wv, bv, *_):  # type: ignore[no-untyped-def]
    like, bias = torch.empty_like, wq.new_empty(wq.size(0) * wq.size(1))
    return [like(newest), like(wq), bias, like(wk), like(bias), like(wv), like(bias), *map(like, attended)]


def _setup(ctx, inputs, output):  # type: ignore[no-untyped-def]
    newest, attended, wq, bq, wk, bk, wv, bv, *structure, ctx.heads, ctx.dropout_p, seed = inputs
    ctx.steps, ctx.biased = len(attended), (bq is not None, bk is not None, bv is not None)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(newest, wq, wk, bk, wv, bv, *structure, seed, *attended, *output[1])


def _autograd(ctx, grad, _):  # type: ignore[no-untyped-def]
    newest, wq, wk, bk, wv, bv, *rest = ctx.saved_tensors
    structure, seed, attended, saved = rest[:6], rest[6], rest[7 : 7 + ctx.steps], rest[7 + ctx.steps :]
    if grad is None:
        return (None, [None] * ctx.steps) + (None,) * 15
    grads = _backward(grad, saved, newest, attended, wq, wk, bk, wv, bv, *structure, ctx.heads, ctx.dropout_p, seed)
    grad_newest, grad_wq, grad_bq, grad_wk, grad_bk, grad_wv, grad_bv, *grad_attended = grads
    grad_bq, grad_bk, grad_bv = (
        g if wanted else None for g, wanted in zip((grad_bq, grad_bk, grad_bv), ctx.biased, strict=True)
    )
    return (grad_newest, grad_attended, grad_wq, grad_bq, grad_wk, grad_bk, grad_wv, grad_bv) + (None,) * 9


_forward.register_autograd(_autograd, setup_context=_setup)


def _folds(weight: Tensor, heads: int) -> bool:
    return weight.size(0) % heads == 0


def _by_head(x: Tensor, heads: int) -> Tensor:
    """The rows without their padding at the end. ``[N, stride] -> [N, C', P]``, C' >= C"""
    return x.view(x.size(0), -1, native.padded_heads(heads))


def _packed_bias(bias: Tensor, heads: int) -> Tensor:
    """``[d] -> [C', P]``"""
    return _by_head(native.pack(bias[None], heads), heads)[0]


def _dot_bias(x: Tensor, bias: Tensor | None, heads: int) -> Tensor:
    """``x . bias`` head by head. ``[N, stride], [d] -> [N, P]``"""
    if bias is None:
        return x.new_zeros(x.size(0), native.padded_heads(heads))
    return torch.einsum("nch,ch->nh", _by_head(x, heads), _packed_bias(bias, heads)).contiguous()


def _add_outer(out: Tensor, scale: Tensor, bias: Tensor, heads: int) -> None:
    """``out += scale * bias`` head by head, in place. ``[N, stride], [N, P], [d]``"""
    _by_head(out, heads).addcmul_(scale[:, None], _packed_bias(bias, heads))


def _outer_sum(x: Tensor, scale: Tensor, weight: Tensor, heads: int) -> Tensor:
    """``sum_n scale[n] * x[n]`` head by head, the gradient of a bias. ``[N, stride], [N, P] -> [d]``"""
    total = torch.einsum("nch,nh->ch", _by_head(x, heads), scale)
    channels = weight.size(0) * weight.size(1) // heads
    return native.unpack(total.reshape(1, -1), heads, channels)[0]


def _sum_grads(
    weight_grad: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], inputs: Sequence[Tensor], grads: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Weight and bias gradient of one projection applied to several inputs."""
    weights, biases = zip(*map(weight_grad, inputs, grads), strict=True)
    return torch.stack(weights).sum(0), torch.stack(biases).sum(0)
