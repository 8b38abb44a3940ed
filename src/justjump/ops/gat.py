"""Graph attention: a softmax over the incoming edges of each node."""

import torch
from torch import Tensor
from torch.nn import functional as F

from justjump.ops import native, reference
from justjump.ops.adjacency import Adjacency
from justjump.ops.dropout import draw_seed
from justjump.ops.operation import operation
from justjump.ops.packed import is_native, pack, unpack


def gat_attention(
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    adj: Adjacency,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    seed: Tensor | None = None,
) -> Tensor:
    """:func:`reference.gat_attention` without the weights. ``[N, H, C], [N, H], [N, H] -> [N, H, C]``"""
    seed = draw_seed(dropout_p) if seed is None else seed
    if not is_native(value, score_source, score_target) or not len(value):
        out, _ = reference.gat_attention(
            value, score_source, score_target, adj.rowptr, adj.col, negative_slope, dropout_p, seed
        )
        return out
    nodes, heads, channels = value.shape
    padding = (0, native.padded_heads(heads) - heads)
    structure = (adj.rowptr, adj.col, adj.colptr, adj.row, adj.position)
    rows = pack(value.reshape(nodes, -1), heads)
    scores = F.pad(score_source, padding), F.pad(score_target, padding)
    out = _forward(rows, *scores, *structure, heads, channels, negative_slope, dropout_p, seed)[0]
    return unpack(out, heads, channels).view(value.shape)


@operation("justjump::gat_attention")
def _forward(
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    rowptr: Tensor,
    col: Tensor,
    colptr: Tensor,
    row: Tensor,
    position: Tensor,
    heads: int,
    channels: int,
    negative_slope: float,
    dropout_p: float,
    seed: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The packed output, and two tensors that backward needs beside it."""
    out, saved, _ = native.gat_forward(
        native.Csr(rowptr, col),
        value.contiguous(),
        score_source.contiguous(),
        score_target.contiguous(),
        heads=heads,
        channels=channels,
        negative_slope=negative_slope,
        dropout_p=dropout_p,
        seed=int(seed),
    )
    assert saved is not None
    return out, saved.sloped, saved.state


@operation("justjump::gat_attention_backward")
def _backward(
    grad: Tensor,
    out: Tensor,
    sloped: Tensor,
    state: Tensor,
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    rowptr: Tensor,
    col: Tensor,
    colptr: Tensor,
    row: Tensor,
    position: Tensor,
    heads: int,
    channels: int,
    negative_slope: float,
    dropout_p: float,
    seed: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    return native.gat_backward(
        native.Csr(rowptr, col),
        native.Csc(colptr, row, position),
        value.contiguous(),
        score_source.contiguous(),
        score_target.contiguous(),
        native.GatSaved(out, sloped, state),
        grad.contiguous(),
        heads=heads,
        channels=channels,
        negative_slope=negative_slope,
        dropout_p=dropout_p,
        seed=int(seed),
    )


@_forward.register_fake
def _(value, score_source, score_target, *_):  # type: ignore[no-untyped-def]
    return torch.empty_like(value), torch.empty_like(value), value.new_empty(value.size(0), 4, score_target.size(1))


@_backward.register_fake
def _(grad, out, sloped, state, value, score_source, score_target, *_):  # type: ignore[no-untyped-def]
    return torch.empty_like(value), torch.empty_like(score_source), torch.empty_like(score_target)


def _setup(ctx, inputs, output):  # type: ignore[no-untyped-def]
    *tensors, ctx.heads, ctx.channels, ctx.negative_slope, ctx.dropout_p, seed = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*output, *tensors, seed)


def _autograd(ctx, grad, *_):  # type: ignore[no-untyped-def]
    if grad is None:
        return (None,) * 13
    *tensors, seed = ctx.saved_tensors
    options = (ctx.heads, ctx.channels, ctx.negative_slope, ctx.dropout_p, seed)
    return (*_backward(grad, *tensors, *options), *(None,) * 10)


_forward.register_autograd(_autograd, setup_context=_setup)
