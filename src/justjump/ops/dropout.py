"""Dropout by a counter-based mask: a seed is drawn from torch's generator, the mask is a function of it."""

import torch
from torch import Tensor

from justjump.ops import reference


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
    return reference.dropout(x[:, None], p, draw_seed(p))[:, 0]
