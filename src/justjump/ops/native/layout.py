"""The packed layout: its sizes, and the way there and back."""

from __future__ import annotations

import torch
from torch import Tensor

from justjump.ops.native.checks import _at_least_one, _rows
from justjump.ops.native.module import _kernel, empty, threads


def padded_heads(heads: int) -> int:
    """P, the power of two at or above H.

    >>> [padded_heads(h) for h in (1, 3, 8)]
    [1, 4, 8]
    """
    return 1 << (heads - 1).bit_length()


def row_stride(heads: int, channels: int, dtype: torch.dtype) -> int:
    """Numbers in a packed row.

    >>> row_stride(8, 16, torch.float32), row_stride(3, 5, torch.float32)
    (128, 32)
    """
    _at_least_one("heads", heads)
    _at_least_one("channels", channels)
    lanes = 64 // dtype.itemsize
    return -(-channels * padded_heads(heads) // lanes) * lanes


class _Layout:
    def __init__(self, heads: int, channels: int, like: Tensor) -> None:
        self.heads, self.channels = heads, channels
        self.stride = row_stride(heads, channels, like.dtype)
        self.padded = padded_heads(heads)
        self.itemsize = like.dtype.itemsize
        self.width = heads * channels


def pack(x: Tensor, heads: int) -> Tensor:
    """Standard to packed layout. ``[R, H * C] -> [R, stride]``"""
    call = _kernel("repack", x)
    _rows("x", x, x.dtype)
    if heads < 1 or x.size(1) % heads or x.size(1) == 0:
        raise ValueError(f"heads={heads} does not divide the {x.size(1)} channels of x")
    channels = x.size(1) // heads
    out = empty(x, x.size(0), row_stride(heads, channels, x.dtype))
    call(x.size(0), heads, channels, True, x.data_ptr(), x.stride(0), out.data_ptr(), out.stride(0), threads())
    return out


def unpack(x: Tensor, heads: int, channels: int) -> Tensor:
    """Packed to standard layout. ``[R, stride] -> [R, H * C]``"""
    call = _kernel("repack", x)
    _rows("x", x, x.dtype, None, row_stride(heads, channels, x.dtype))
    out = empty(x, x.size(0), heads * channels)
    call(x.size(0), heads, channels, False, x.data_ptr(), x.stride(0), out.data_ptr(), out.stride(0), threads())
    return out
