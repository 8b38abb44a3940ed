"""Standard to packed layout and back, the obvious way."""

import torch
from torch import Tensor


def pack(x: Tensor, heads: int, channels: int, stride: int) -> Tensor:
    """``[R, H * C] -> [R, stride]``"""
    padded = 1 << (heads - 1).bit_length()
    rows = x.new_zeros(len(x), stride)
    lanes = rows[:, : channels * padded].view(len(x), channels, padded)
    lanes[:, :, :heads] = x.view(len(x), heads, channels).transpose(1, 2)
    return rows


def unpack(x: Tensor, heads: int, channels: int, stride: int) -> Tensor:
    """``[R, stride] -> [R, H * C]``"""
    padded = 1 << (heads - 1).bit_length()
    lanes = x[:, : channels * padded].reshape(len(x), channels, padded)
    return torch.flatten(lanes[:, :, :heads].transpose(1, 2), 1)
