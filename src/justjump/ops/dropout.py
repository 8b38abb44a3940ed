"""Dropout by a counter-based mask: a seed is drawn from torch's generator, the mask is a function of it."""

import torch
from torch import Tensor

from justjump.ops import native, reference
from justjump.ops.operation import operation
from justjump.ops.packed import contiguous_rows, is_native


def draw_seed(p: float) -> Tensor:
    """A fresh seed for dropout at rate p from torch's default generator (untouched where p is 0): int64 scalar."""
    if p == 0:
        return torch.zeros((), dtype=torch.int64)
    return torch.randint(2**62, (), dtype=torch.int64)


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """Zero each entry of ``x`` ``[R, d]`` with probability p and scale the others by ``1 / (1 - p)``.

    >>> dropout(torch.ones(2, 3), p=0.5, training=False)
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    if p == 0 or not training:
        return x
    dropped: Tensor = _dropout(x, p, draw_seed(p))
    return dropped


def relu_dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """``dropout(relu(x))`` in one pass. ``[R, d] -> [R, d]``"""
    if p == 0 or not training:
        return torch.relu(x)
    dropped: Tensor = _relu_dropout(x, p, draw_seed(p))
    return dropped


@operation("justjump::dropout")
def _dropout(x: Tensor, p: float, seed: Tensor) -> Tensor:
    if is_native(x):
        return native.dropout_relu(contiguous_rows(x), p, int(seed), relu=False)
    return reference.dropout(x[:, None], p, seed)[:, 0]


@operation("justjump::relu_dropout")
def _relu_dropout(x: Tensor, p: float, seed: Tensor) -> Tensor:
    if is_native(x):
        return native.dropout_relu(contiguous_rows(x), p, int(seed))
    return reference.dropout(torch.relu(x)[:, None], p, seed)[:, 0]


@operation("justjump::relu_dropout_backward")
def _relu_dropout_backward(y: Tensor, grad: Tensor, p: float) -> Tensor:
    if is_native(y, grad):
        return native.dropout_relu_backward(y, contiguous_rows(grad), p)
    return grad * (y > 0) / (1 - p)  # what is positive was kept


@_dropout.register_fake
@_relu_dropout.register_fake
def _(x, p, seed):  # type: ignore[no-untyped-def]
    return x.new_empty(x.shape)


@_relu_dropout_backward.register_fake
def _(y, grad, p):  # type: ignore[no-untyped-def]
    return y.new_empty(y.shape)


def _setup(ctx, inputs, output):  # type: ignore[no-untyped-def]
    _, ctx.p, seed = inputs
    ctx.save_for_backward(seed)


def _relu_setup(ctx, inputs, output):  # type: ignore[no-untyped-def]
    ctx.p = inputs[1]
    ctx.save_for_backward(output)


def _backward(ctx, grad):  # type: ignore[no-untyped-def]
    return _dropout(grad, ctx.p, *ctx.saved_tensors), None, None


def _relu_backward(ctx, grad):  # type: ignore[no-untyped-def]
    return _relu_dropout_backward(*ctx.saved_tensors, grad, ctx.p), None, None


_dropout.register_autograd(_backward, setup_context=_setup)
_relu_dropout.register_autograd(_relu_backward, setup_context=_relu_setup)
