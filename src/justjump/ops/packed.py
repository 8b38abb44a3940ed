"""The layout of the native kernels, as differentiable operations."""

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.operation import operation


def is_native(*tensors: Tensor) -> bool:
    """Whether the native kernels take these tensors: dense float32 or float64 on the CPU."""
    return native.available() and all(
        x.device.type == "cpu" and x.dtype == tensors[0].dtype and x.dtype in (torch.float32, torch.float64)
        for x in tensors
    )


def pack(x: Tensor, heads: int) -> Tensor:
    """Standard to packed layout, see :mod:`justjump.ops.native`. ``[..., H * C] -> [..., stride]``"""
    packed: Tensor = _pack(x.reshape(-1, x.size(-1)), heads)
    return packed if x.dim() == 2 else packed.view(*x.shape[:-1], packed.size(-1))


def unpack(x: Tensor, heads: int, channels: int) -> Tensor:
    """Packed to standard layout. ``[R, stride] -> [R, H * C]``"""
    unpacked: Tensor = _unpack(x, heads, channels)
    return unpacked


@operation("justjump::pack")
def _pack(x: Tensor, heads: int) -> Tensor:
    return native.pack(contiguous_rows(x), heads)


@operation("justjump::unpack")
def _unpack(x: Tensor, heads: int, channels: int) -> Tensor:
    return native.unpack(contiguous_rows(x), heads, channels)


@_pack.register_fake
def _(x, heads):  # type: ignore[no-untyped-def]
    return x.new_empty(x.size(0), native.row_stride(heads, x.size(1) // heads, x.dtype))


@_unpack.register_fake
def _(x, heads, channels):  # type: ignore[no-untyped-def]
    return x.new_empty(x.size(0), heads * channels)


def _pack_setup(ctx, inputs, output):  # type: ignore[no-untyped-def]
    ctx.heads, ctx.channels = inputs[1], inputs[0].size(1) // inputs[1]


def _unpack_setup(ctx, inputs, output):  # type: ignore[no-untyped-def]
    ctx.heads = inputs[1]


# The padding is zero in both directions, so each is the other's adjoint.
_pack.register_autograd(lambda ctx, grad: (_unpack(grad, ctx.heads, ctx.channels), None), setup_context=_pack_setup)
_unpack.register_autograd(lambda ctx, grad: (_pack(grad, ctx.heads), None, None), setup_context=_unpack_setup)


def contiguous_rows(x: Tensor) -> Tensor:
    """``x`` ``[R, d]`` with contiguous rows that don't overlap, copied only where they aren't."""
    if x.dim() != 2:
        raise ValueError(f"x has shape {list(x.shape)}, expected [rows, channels]")
    x = x.resolve_neg()
    return x if x.stride(1) == 1 and x.stride(0) >= x.size(1) else x.contiguous()
