"""Mixed rows, as one writes it down."""

import torch
from torch import Tensor


def mix_relu(x: Tensor, other: Tensor, share: float) -> Tensor:
    """``[R, d], [R, d] -> [R, d]``"""
    return torch.relu((1 - share) * x + share * other)
