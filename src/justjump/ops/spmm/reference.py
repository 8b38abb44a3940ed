"""Sparse matrix times dense matrix, the obvious way."""

from torch import Tensor

from justjump.ops.segments import segment_sum


def spmm(rowptr: Tensor, col: Tensor, weight: Tensor, x: Tensor) -> Tensor:
    r"""Sparse matrix times dense matrix: ``out[v] = sum_e weight[e] * x[col[e]]``.

    ``[N + 1], [E], [E], [M, d] -> [N, d]``
    """
    return segment_sum(weight[:, None] * x[col], rowptr)
