"""Sums over the edges of each node."""

import torch
from torch import Tensor


def edge_targets(rowptr: Tensor) -> Tensor:
    """Target of every CSR edge. ``[N + 1] -> [E]``

    >>> edge_targets(torch.tensor([0, 2, 2, 3]))
    tensor([0, 0, 2])
    """
    nodes = torch.arange(rowptr.numel() - 1, device=rowptr.device, dtype=rowptr.dtype)
    return nodes.repeat_interleave(rowptr.diff())


def segment_sum(x: Tensor, rowptr: Tensor) -> Tensor:
    """Sum of the rows of each segment. ``[E, ...], [N + 1] -> [N, ...]``"""
    out = x.new_zeros(rowptr.numel() - 1, *x.shape[1:])
    return out.index_add(0, edge_targets(rowptr), x)
