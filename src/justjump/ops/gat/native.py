"""Graph attention on packed rows by the native kernels, as an operation of torch."""

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.layout import Layout
from justjump.ops.operation import operation


@operation("justjump::gat_attention", learned=3)
def gat_attention(
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
    room: bool,
    first: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """The packed output ``[N, stride]``, and two tensors that backward needs besides it.

    Args:
        value: ``[M, stride]`` packed
        score_source, score_target: ``[M, P]``, ``[N, P]``
        room: whether the arrays of edges have room for more edges than there are
        first: number of the first edge, for dropout
    """
    if room:
        (col,) = native.filled(rowptr, col)
    targets, stride = score_target.size(0), value.size(1)
    out, sloped = native.empty(value, targets, stride), native.empty(value, targets, stride)
    state = value.new_empty(targets, 4 * score_target.size(1))
    native.run(
        "GatForward", value.dtype, graph=native.graph(value.size(0), rowptr, col), heads=heads, channels=channels,
        slope=negative_slope, dropout=dropout_p, seed=native.unsigned(seed), first=first,
        value=value.contiguous(), score_source=score_source.contiguous(), score_target=score_target.contiguous(),
        out=out, sloped=sloped, state=state,
    )  # fmt: skip
    return out, sloped, state


@operation("justjump::gat_attention_backward")
def gat_backward(
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
    room: bool,
    first: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of value, score_source and score_target."""
    if room:
        col, row, position = native.filled(rowptr, col, row, position)
    value, score_source, score_target = value.contiguous(), score_source.contiguous(), score_target.contiguous()
    grad_value = native.empty(value, *value.shape)
    grad_source, grad_target = torch.empty_like(score_source), torch.empty_like(score_target)
    native.run(
        "GatBackward", value.dtype, graph=native.graph(value.size(0), rowptr, col, colptr, row, position),
        heads=heads, channels=channels, slope=negative_slope, dropout=dropout_p, seed=native.unsigned(seed),
        first=first, value=value, score_source=score_source, score_target=score_target, out=out.contiguous(),
        sloped=sloped.contiguous(), state=state.contiguous(), grad_out=grad.contiguous(), grad_value=grad_value,
        grad_source=grad_source, grad_target=grad_target,
    )  # fmt: skip
    return grad_value, grad_source, grad_target


@gat_attention.register_fake
def _(value, score_source, score_target, *_):  # type: ignore[no-untyped-def]
    targets = score_target.size(0)
    out = value.new_empty(targets, value.size(1))
    return out, torch.empty_like(out), value.new_empty(targets, 4 * score_target.size(1))


@gat_backward.register_fake
def _(grad, out, sloped, state, value, score_source, score_target, *_):  # type: ignore[no-untyped-def]
    return torch.empty_like(value), torch.empty_like(score_source), torch.empty_like(score_target)


gat_attention.register_gradient(
    lambda learned, constants, output: (*output, *learned),
    lambda grad, saved, constants: gat_backward(grad, *saved, *constants),
)


@operation("justjump::outgoing_attention", learned=3)
def outgoing_attention(
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
) -> Tensor:
    """The softmax over outgoing edges, packed: the transpose of :func:`gat_attention` on reversed edges.

    There, a node w attends to its targets v with the same weights. So the gradient of what v gives to it is what v gets
    here, and the gradients of scores are not wanted.

    Args:
        value: ``[N, stride]`` packed
        score_source, score_target: ``[N, P]``
        rowptr, col, colptr, row, position: the graph with every edge reversed
    """
    reversed_graph = (rowptr, col, colptr, row, position)
    options = (negative_slope, dropout_p, seed, False)
    # The weights do not depend on what is summed: one channel will do.
    few = value.new_zeros(value.size(0), Layout(heads, 1, value.dtype).stride)
    scores = (score_target, score_source)
    _, _, state = gat_attention.run(few, *scores, *reversed_graph, heads, 1, *options)
    out = native.empty(value, *value.shape)
    native.run(
        "GatBackward", value.dtype, graph=native.graph(value.size(0), *reversed_graph), heads=heads, channels=channels,
        slope=negative_slope, dropout=dropout_p, seed=native.unsigned(seed), score_source=score_target.contiguous(),
        score_target=score_source.contiguous(), state=state, grad_out=value.contiguous(), grad_value=out,
    )  # fmt: skip
    return out


@operation("justjump::outgoing_attention_backward")
def outgoing_backward(
    grad: Tensor,
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
    """Gradients of value, score_source and score_target."""
    constants = (rowptr, col, colptr, row, position, heads, channels, negative_slope, dropout_p, seed, False)
    scores = (score_target, score_source)
    grad = grad.contiguous()
    grad_value, sloped, state = gat_attention.run(grad, *scores, *constants)
    _, grad_target, grad_source = gat_backward.run(value, grad_value, sloped, state, grad, *scores, *constants)
    return grad_value, grad_source, grad_target


@outgoing_attention.register_fake
def _(value, *_):  # type: ignore[no-untyped-def]
    return torch.empty_like(value)


@outgoing_backward.register_fake
def _(grad, value, score_source, score_target, *_):  # type: ignore[no-untyped-def]
    return torch.empty_like(value), torch.empty_like(score_source), torch.empty_like(score_target)


outgoing_attention.register_gradient(
    lambda learned, constants, output: learned,
    lambda grad, saved, constants: outgoing_backward(grad, *saved, *constants),
)
