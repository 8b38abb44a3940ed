"""Dropout with ReLU, row by row."""

from __future__ import annotations

from torch import Tensor

from justjump.ops.native.checks import _dropout, _rows
from justjump.ops.native.module import _kernel, empty, threads


def dropout_relu(
    x: Tensor, p: float, seed: int, *, relu: bool = True, first_row: int = 0, out: Tensor | None = None
) -> Tensor:
    """``relu(x)``, entries dropped by :func:`~justjump.ops.reference.dropout_mask`, the rest scaled by 1 / (1 - p).

    Entry (row, channel) takes the random word of (seed, first_row + row, 0, channel), where the channel is the position
    in memory: a packed row draws other words than the same row in the standard layout. ``out`` may be ``x`` itself.
    Without ``relu`` the gradient is the same function of the output's gradient. ``[R, d] -> [R, d]``
    """
    call = _kernel("dropout_rows", x)
    _rows("x", x, x.dtype)
    out = empty(x, *x.shape) if out is None else out
    _rows("out", out, x.dtype, x.size(0), x.size(1))
    call(
        x.size(0), x.size(1), *_dropout(p, seed), relu, first_row, x.data_ptr(), x.stride(0), 0, 0, out.data_ptr(),
        out.stride(0), threads(),
    )  # fmt: skip
    return out


def dropout_relu_backward(y: Tensor, grad_y: Tensor, p: float, *, out: Tensor | None = None) -> Tensor:
    """Gradient of :func:`dropout_relu` with ReLU from its output alone: what is positive was kept."""
    call = _kernel("dropout_rows", y)
    _rows("y", y, y.dtype)
    _rows("grad_y", grad_y, y.dtype, y.size(0), y.size(1))
    out = empty(y, *y.shape) if out is None else out
    _rows("out", out, y.dtype, y.size(0), y.size(1))
    call(
        y.size(0), y.size(1), *_dropout(p, 0), True, 0, y.data_ptr(), y.stride(0), grad_y.data_ptr(),
        grad_y.stride(0), out.data_ptr(), out.stride(0), threads(),
    )  # fmt: skip
    return out
