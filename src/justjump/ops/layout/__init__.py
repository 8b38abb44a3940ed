"""The packed layout of the native kernels: heads are the lanes of a vector.

A row of d = H * C channels is stored as ``[C, P]`` with the head fastest, P being the power of two at or above H, and
zero padded to a multiple of 64 bytes. A head row ``[P]`` holds one number per head. The padding of every packed input
must be zero; the padding of every output is.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from justjump.ops.layout import native


@dataclass(frozen=True)
class Layout:
    """Sizes of packed rows.

    >>> Layout(8, 16, torch.float32).stride, Layout(3, 5, torch.float32).stride
    (128, 32)
    """

    heads: int
    channels: int
    dtype: torch.dtype

    @property
    def padded(self) -> int:
        """P, the power of two at or above H."""
        return padded_heads(self.heads)

    @property
    def stride(self) -> int:
        """Numbers in a packed row."""
        lanes = 64 // self.dtype.itemsize
        return -(-self.channels * self.padded // lanes) * lanes

    @property
    def width(self) -> int:
        """Numbers in a standard row: d."""
        return self.heads * self.channels


def padded_heads(heads: int) -> int:
    """
    >>> [padded_heads(h) for h in (1, 3, 8)]
    [1, 4, 8]
    """
    return 1 << (heads - 1).bit_length()


def pack(x: Tensor, layout: Layout) -> Tensor:
    """Standard to packed layout. ``[..., H * C] -> [..., stride]``"""
    rows = x if x.dim() == 2 else x.reshape(-1, x.size(-1))
    packed: Tensor = native.pack(rows, layout.heads, layout.channels, layout.stride)
    return packed if x.dim() == 2 else packed.view(*x.shape[:-1], layout.stride)


def unpack(x: Tensor, layout: Layout) -> Tensor:
    """Packed to standard layout. ``[R, stride] -> [R, H * C]``"""
    unpacked: Tensor = native.unpack(x, layout.heads, layout.channels, layout.stride)
    return unpacked
