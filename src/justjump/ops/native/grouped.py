"""Block-diagonal linear maps of packed rows."""

from __future__ import annotations

import torch
from torch import Tensor

from justjump.ops.native.checks import _address, _dense, _rows
from justjump.ops.native.layout import _Layout
from justjump.ops.native.module import _kernel, empty, threads


def grouped_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    heads: int,
    channels: int,
    transpose: bool = False,
    scale: Tensor | None = None,
    out: Tensor | None = None,
    accumulate: bool = False,
) -> Tensor:
    """Block-diagonal linear map of packed rows; with ``transpose`` by the transposed blocks.

    The gradient of ``x`` is the same map of the output's gradient with the other ``transpose``.

    Args:
        x: ``[R, stride]`` packed, with any row stride
        weight: ``[g, d / g, d / g]`` on the standard channels head * C + c
        bias: ``[d]`` on the standard channels
        scale: ``[R, P]`` factor of the bias, head by head
        out: ``[R, stride]`` to write to, or with ``accumulate`` to add to, with any row stride
    """
    return _grouped(x, weight, bias, heads, channels, transpose, scale, None, out, accumulate)[0]


def grouped_linear_dot(
    x: Tensor, weight: Tensor, dot_with: Tensor, *, heads: int, channels: int, transpose: bool = False
) -> tuple[Tensor, Tensor]:
    """:func:`grouped_linear` without a bias, and ``x . dot_with`` head by head. ``dot_with`` ``[d]``, dot ``[R, P]``"""
    out, dot = _grouped(x, weight, None, heads, channels, transpose, None, dot_with, None, False)
    assert dot is not None
    return out, dot


def _grouped(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    heads: int,
    channels: int,
    transpose: bool,
    scale: Tensor | None,
    dot_with: Tensor | None,
    out: Tensor | None,
    accumulate: bool,
) -> tuple[Tensor, Tensor | None]:
    call = _kernel("grouped_forward", x)
    layout = _Layout(heads, channels, x)
    _rows("x", x, x.dtype, None, layout.stride)
    if scale is not None:
        _dense("scale", scale, x.dtype, (x.size(0), layout.padded))
    if dot_with is not None:
        _dense("dot_with", dot_with, x.dtype, (heads * channels,))
    dot = None if dot_with is None else x.new_empty(x.size(0), layout.padded)
    groups = _group_count(weight, heads * channels, x.dtype)
    if bias is not None:
        _dense("bias", bias, x.dtype, (heads * channels,))
    if out is None:
        if accumulate:
            raise ValueError("accumulate=True takes the tensor to add to as out")
        out = empty(x, *x.shape)
    _rows("out", out, x.dtype, x.size(0), layout.stride)
    call(
        x.size(0), heads, channels, groups, transpose, x.data_ptr(), x.stride(0), weight.data_ptr(), _address(bias),
        _address(scale), _address(dot_with), _address(dot), out.data_ptr(), out.stride(0), accumulate, threads(),
    )  # fmt: skip
    return out, dot


def grouped_linear_weight_grad(
    x: Tensor,
    grad_out: Tensor,
    groups: int,
    *,
    heads: int,
    channels: int,
    transpose: bool = False,
    scale: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Gradients of weight and bias of :func:`grouped_linear`. ``[R, stride] x 2 -> [g, d / g, d / g], [d]``"""
    call = _kernel("grouped_weight_grad", x)
    layout = _Layout(heads, channels, x)
    width = heads * channels
    if groups < 1 or width % groups:
        raise ValueError(f"groups={groups} does not divide the {width} channels")
    _rows("x", x, x.dtype, None, layout.stride)
    _dense("grad_out", grad_out, x.dtype, tuple(x.shape))
    if scale is not None:
        _dense("scale", scale, x.dtype, (x.size(0), layout.padded))
    grad_weight = x.new_empty(groups, width // groups, width // groups)
    grad_bias = x.new_empty(width)
    call(
        x.size(0), heads, channels, groups, transpose, x.data_ptr(), x.stride(0), grad_out.data_ptr(),
        _address(scale), grad_weight.data_ptr(), grad_bias.data_ptr(), threads(),
    )  # fmt: skip
    return grad_weight, grad_bias


def _group_count(weight: Tensor, width: int, dtype: torch.dtype) -> int:
    groups = weight.size(0) if weight.dim() == 3 else 0
    if groups == 0 or width % groups:
        raise ValueError(f"weight has shape {list(weight.shape)}, expected [g, {width} / g, {width} / g]")
    _dense("weight", weight, dtype, (groups, width // groups, width // groups))
    return groups
