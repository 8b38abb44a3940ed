"""Mixed rows as an operation of torch, by the native kernels where they serve."""

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.mix import reference
from justjump.ops.operation import operation
from justjump.ops.plan import is_native


@operation("justjump::mix_relu", learned=2)
def mix_relu(x: Tensor, other: Tensor, share: float) -> Tensor:
    if not is_native(x, other):
        return reference.mix_relu(x, other, share)
    out = native.empty(x, *x.shape)
    native.run("MixForward", x.dtype, share=share, x=native.readable(x), other=native.readable(other), y=out)
    return out


@operation("justjump::mix_relu_backward")
def mix_relu_backward(y: Tensor, grad: Tensor, share: float) -> tuple[Tensor, Tensor]:
    """The gradients of ``x`` and ``other`` from the output alone: what is positive passed ReLU."""
    if not is_native(y, grad):
        passed = torch.where(y <= 0, torch.zeros_like(grad), grad)
        return (1 - share) * passed, share * passed
    grad_x, grad_other = native.empty(y, *y.shape), native.empty(y, *y.shape)
    rows = {"y": native.readable(y), "grad_y": native.readable(grad), "grad_x": grad_x, "grad_other": grad_other}
    native.run("MixBackward", y.dtype, share=share, **rows)
    return grad_x, grad_other


@mix_relu.register_fake
def _(x, other, share):  # type: ignore[no-untyped-def]
    return x.new_empty(x.shape)


@mix_relu_backward.register_fake
def _(y, grad, share):  # type: ignore[no-untyped-def]
    return y.new_empty(y.shape), y.new_empty(y.shape)


mix_relu.register_gradient(
    lambda learned, constants, y: (y,),
    lambda grad, saved, constants: mix_relu_backward(saved[0], grad, constants[0]),
)
