"""Sparse matrix times dense matrix in bounded memory, by PyTorch alone."""

from torch import Tensor

from justjump.ops.blocks import edge_blocks
from justjump.ops.segments import edge_targets


def spmm(rowptr: Tensor, col: Tensor, weight: Tensor, x: Tensor) -> Tensor:
    """``[R + 1], [E], [E], [M, d] -> [R, d]``"""
    rows = edge_targets(rowptr)
    out = x.new_zeros(rowptr.numel() - 1, x.size(1))
    for e in edge_blocks(col.numel(), x.size(1)):
        out.index_add_(0, rows[e], weight[e, None] * x[col[e]])
    return out


def weight_gradient(rowptr: Tensor, col: Tensor, x: Tensor, grad: Tensor) -> Tensor:
    """``[E]`` dot products of ``grad[row]`` and ``x[col]``."""
    rows = edge_targets(rowptr)
    out = x.new_zeros(col.numel())
    for e in edge_blocks(col.numel(), x.size(1)):
        out[e] = (grad[rows[e]] * x[col[e]]).sum(1)
    return out
