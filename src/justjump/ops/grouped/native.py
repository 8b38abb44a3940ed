"""Block-diagonal linear maps of packed rows by the native kernels, as operations of torch."""

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.operation import operation


@operation("justjump::packed_linear", learned=3)
def packed_linear(x: Tensor, weight: Tensor, bias: Tensor | None, heads: int) -> Tensor:
    """``[R, stride], [g, d / g, d / g], [d] -> [R, stride]``"""
    bias = None if bias is None else bias.contiguous()
    return _map(x.contiguous(), weight.contiguous(), bias, heads, transpose=False)


@operation("justjump::packed_linear_backward")
def packed_linear_backward(grad: Tensor, x: Tensor, weight: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of x, weight and bias."""
    grad, x, weight = grad.contiguous(), x.contiguous(), weight.contiguous()
    groups, channels = weight.size(0), weight.size(0) * weight.size(1) // heads
    grad_weight, grad_bias = torch.empty_like(weight), weight.new_empty(heads * channels)
    native.run(
        "GroupedWeightGrad", x.dtype, heads=heads, channels=channels, groups=groups, x=x, grad_y=grad,
        grad_weight=grad_weight, grad_bias=grad_bias,
    )  # fmt: skip
    return _map(grad, weight, None, heads, transpose=True), grad_weight, grad_bias


def _map(x: Tensor, weight: Tensor, bias: Tensor | None, heads: int, transpose: bool) -> Tensor:
    groups, channels = weight.size(0), weight.size(0) * weight.size(1) // heads
    out = native.empty(x, *x.shape)
    native.run(
        "GroupedForward", x.dtype, heads=heads, channels=channels, groups=groups, transpose=transpose, weight=weight,
        bias=bias, x=x, y=out,
    )  # fmt: skip
    return out


@packed_linear.register_fake
def _(x, weight, bias, heads):  # type: ignore[no-untyped-def]
    return torch.empty_like(x)


@packed_linear_backward.register_fake
def _(grad, x, weight, heads):  # type: ignore[no-untyped-def]
    return torch.empty_like(x), torch.empty_like(weight), weight.new_empty(weight.size(0) * weight.size(2))


def _gradient(grad, saved, constants):  # type: ignore[no-untyped-def]
    x, weight, bias = saved
    grad_x, grad_weight, grad_bias = packed_linear_backward(grad, x, weight, *constants)
    return grad_x, grad_weight, None if bias is None else grad_bias


packed_linear.register_gradient(lambda learned, constants, output: learned, _gradient)
