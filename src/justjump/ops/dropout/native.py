"""Dropout and ReLU as operations of torch, by the native kernels where they serve.

Entry (row, channel) takes the random word of (seed, first + row, 0, channel), where the channel is the position in
memory: a packed row draws other words than the same row in the standard layout.
"""

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.dropout import reference
from justjump.ops.operation import operation
from justjump.ops.plan import is_native


@operation("justjump::dropout")
def dropout(x: Tensor, p: float, seed: Tensor, first: int = 0) -> Tensor:
    if not is_native(x):
        return reference.dropout(x[:, None], p, seed, first)[:, 0]
    return _forward(x, p, seed, first, relu=False)


@operation("justjump::relu_dropout")
def relu_dropout(x: Tensor, p: float, seed: Tensor, first: int = 0) -> Tensor:
    if not is_native(x):
        return reference.dropout(torch.relu(x)[:, None], p, seed, first)[:, 0]
    return _forward(x, p, seed, first, relu=True)


@operation("justjump::relu_dropout_backward")
def relu_dropout_backward(y: Tensor, grad: Tensor, p: float) -> Tensor:
    """From the output alone: what is positive was kept."""
    if not is_native(y, grad):
        return grad * (y > 0) / (1 - p)
    out = native.empty(y, *y.shape)
    native.run("DropoutBackward", y.dtype, dropout=p, y=native.readable(y), grad_y=native.readable(grad), grad_x=out)
    return out


def _forward(x: Tensor, p: float, seed: Tensor, first: int, relu: bool) -> Tensor:
    out = native.empty(x, *x.shape)
    rows, number = native.readable(x), native.unsigned(seed)
    native.run("DropoutForward", x.dtype, dropout=p, seed=number, first=first, relu=relu, x=rows, y=out)
    return out


@dropout.register_fake
@relu_dropout.register_fake
def _(x, p, seed, first=0):  # type: ignore[no-untyped-def]
    return x.new_empty(x.shape)


@relu_dropout_backward.register_fake
def _(y, grad, p):  # type: ignore[no-untyped-def]
    return y.new_empty(y.shape)


# Dropout is linear, and its own adjoint.
dropout.register_gradient(lambda *_: (), lambda grad, _, constants: (dropout(grad, *constants),))
relu_dropout.register_gradient(
    lambda learned, constants, y: (y,),
    lambda grad, saved, constants: (relu_dropout_backward(saved[0], grad, constants[0]),),
)
