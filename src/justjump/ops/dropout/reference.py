"""Dropout by a mask that is a function of a seed: the oracle for every kernel that drops something."""

from numbers import Real

import torch
from torch import Tensor

MASK32 = 0xFFFFFFFF


def _mix32(h: Tensor) -> Tensor:
    """A bijection of 32-bit words that flips each output bit with probability 1/2. int64 in and out."""
    h = h ^ (h >> 16)
    h = (h * 0x7FEB352D) & MASK32
    h = h ^ (h >> 15)
    h = (h * 0x846CA68B) & MASK32
    return h ^ (h >> 16)


def dropout_mask(seed: int | Tensor, rows: Tensor, steps: int, heads: int, p: float, first_head: int = 0) -> Tensor:
    """Which attention weights dropout keeps: a pure function of (seed, edge, t, head).

    There is no state, so a backward pass regenerates the mask of its forward pass and any kernel agrees with this
    one bit for bit::

        key  = mix(mix(mix(mix(seed_low) ^ seed_high) ^ edge_low) ^ edge_high)
        bits = mix(key ^ (t * 0x9E3779B9 + head * 0x85EBCA77 mod 2^32))
        keep = bits >= round(p * 2^32)

    Args:
        seed: a 64-bit integer
        rows: ``[E]`` edge positions in CSR order (or any row numbers)
        steps: T
        heads: H
        p: probability of dropping a weight
        first_head: number of the first head

    Returns:
        ``[E, T, H]`` bool, True = keep

    >>> dropout_mask(0, torch.arange(10_000), 2, 4, p=0.8).double().mean().round(decimals=2)
    tensor(0.2000, dtype=torch.float64)
    """
    rows = rows.to(torch.int64)
    seed = torch.as_tensor(seed, dtype=torch.int64, device=rows.device)
    key = _mix32(seed & MASK32) ^ ((seed >> 32) & MASK32)
    key = _mix32(_mix32(_mix32(key) ^ (rows & MASK32)) ^ ((rows >> 32) & MASK32))  # [E]
    t = torch.arange(steps, device=rows.device)[:, None] * 0x9E3779B9
    head = torch.arange(first_head, first_head + heads, device=rows.device)[None, :] * 0x85EBCA77
    bits = _mix32(key[:, None, None] ^ ((t + head) & MASK32))
    return bits >= dropout_threshold(p)


def dropout_threshold(p: float, name: str = "dropout") -> int:
    """The 32-bit word below which a weight is dropped; ValueError about the argument of this name if there is none."""
    if isinstance(p, bool) or not isinstance(p, Real):
        raise TypeError(f"{name}={p!r} must be a number in [0, 1): choose 0 to switch it off")
    if not 0 <= p < 1:
        raise ValueError(f"{name}={p} is not in [0, 1): choose 0 to switch it off")
    return min(round(p * 2**32), MASK32)


def dropout(x: Tensor, p: float, seed: int | Tensor, first_row: int = 0, first_head: int = 0) -> Tensor:
    """Zero entries of ``x`` ``[R, T, H]`` by :func:`dropout_mask` and scale the rest by ``1 / (1 - p)``."""
    if p == 0:
        return x
    rows = torch.arange(first_row, first_row + x.size(0), device=x.device)
    return x * dropout_mask(seed, rows, x.size(1), x.size(2), p, first_head) / (1 - p)
