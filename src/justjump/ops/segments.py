"""Sums over the edges of each node."""

import torch
from torch import Tensor


def edge_targets(rowptr: Tensor, edges: int | None = None) -> Tensor:
    """Target of every CSR edge. ``[N + 1] -> [E]``; given E, torch need not look at the values for the size.

    >>> edge_targets(torch.tensor([0, 2, 2, 3]))
    tensor([0, 0, 2])
    """
    nodes = torch.arange(rowptr.numel() - 1, device=rowptr.device, dtype=rowptr.dtype)
    return nodes.repeat_interleave(rowptr.diff(), output_size=edges)


def segment_sum(x: Tensor, rowptr: Tensor, target: Tensor | None = None) -> Tensor:
    """Sum of the rows of each segment, whose targets may be given. ``[E, ...], [N + 1], [E] -> [N, ...]``"""
    out = x.new_zeros(rowptr.numel() - 1, *x.shape[1:])
    return out.index_add(0, edge_targets(rowptr, x.size(0)) if target is None else target, x)
