"""Linear map with a block-diagonal matrix."""

import torch
from torch import Tensor

from justjump.ops import native, reference
from justjump.ops.operation import operation
from justjump.ops.packed import is_native, pack, unpack


def grouped_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """:func:`reference.grouped_linear`: ``[..., g * c_in], [g, c_in, c_out], [g * c_out] -> [..., g * c_out]``"""
    groups, c_in, c_out = weight.shape
    if x.dim() < 2 or groups == 1 or c_in != c_out or not is_native(x, weight):
        return reference.grouped_linear(x, weight, bias)
    # With one head a group, the kernel's lanes are the groups.
    rows = pack(x, heads=groups)
    return unpack(packed_linear(rows.flatten(0, -2), weight, bias, heads=groups), groups, c_out).view(x.shape)


def packed_linear(x: Tensor, weight: Tensor, bias: Tensor | None, heads: int) -> Tensor:
    """The map of packed rows. ``[R, stride], [g, d / g, d / g], [d] -> [R, stride]``"""
    out: Tensor = _packed_linear(x, weight, bias, heads)
    return out


@operation("justjump::packed_linear")
def _packed_linear(x: Tensor, weight: Tensor, bias: Tensor | None, heads: int) -> Tensor:
    channels = weight.size(0) * weight.size(1) // heads
    bias = None if bias is None else bias.contiguous()
    return native.grouped_linear(x.contiguous(), weight.contiguous(), bias, heads=heads, channels=channels)


@operation("justjump::packed_linear_backward")
def _packed_linear_backward(grad: Tensor, x: Tensor, weight: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    groups, channels = weight.size(0), weight.size(0) * weight.size(1) // heads
    grad, x, weight = grad.contiguous(), x.contiguous(), weight.contiguous()
    grad_x = native.grouped_linear(grad, weight, heads=heads, channels=channels, transpose=True)
    return grad_x, *native.grouped_linear_weight_grad(x, grad, groups, heads=heads, channels=channels)


@_packed_linear.register_fake
def _(x, weight, bias, heads):  # type: ignore[no-untyped-def]
    return torch.empty_like(x)


@_packed_linear_backward.register_fake
def _(grad, x, weight, heads):  # type: ignore[no-untyped-def]
    return torch.empty_like(x), torch.empty_like(weight), weight.new_empty(weight.size(0) * weight.size(2))


def _setup(ctx, inputs, output):  # type: ignore[no-untyped-def]
    x, weight, bias, ctx.heads = inputs
    ctx.has_bias = bias is not None
    ctx.save_for_backward(x, weight)


def _backward(ctx, grad):  # type: ignore[no-untyped-def]
    x, weight = ctx.saved_tensors
    grad_x, grad_weight, grad_bias = _packed_linear_backward(grad, x, weight, ctx.heads)
    return grad_x, grad_weight, grad_bias if ctx.has_bias else None, None


_packed_linear.register_autograd(_backward, setup_context=_setup)
