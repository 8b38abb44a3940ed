"""Sparse matrix times dense matrix."""

from torch import Tensor

from justjump.ops.dropout import draw_seed
from justjump.ops.dropout import reference as dropout_reference
from justjump.ops.matrix import SparseMatrix
from justjump.ops.operation import is_traced
from justjump.ops.plan import is_native
from justjump.ops.segments import segment_sum
from justjump.ops.spmm import native


def spmm(matrix: SparseMatrix, x: Tensor, dropout_p: float = 0.0) -> Tensor:
    """``out[r] = sum_e weight[e] * x[col[e]]`` over the entries e of row r.

    Args:
        matrix: ``[R, M]``; its weights get a gradient if they need one
        x: ``[M, d]``
        dropout_p: zero each weight with this probability and scale the others by ``1 / (1 - p)``; what is dropped costs
            no time

    Returns:
        ``[R, d]``
    """
    if x.dim() != 2 or x.size(0) != matrix.shape[1]:
        raise ValueError(f"x has shape {list(x.shape)}, expected [{matrix.shape[1]}, d] for a {matrix}")
    if not x.is_floating_point():
        raise TypeError(f"x has dtype {x.dtype}, expected a floating point type")
    seed = draw_seed(dropout_p)
    if (is_traced(x) or x.is_meta) and not is_native(x):
        return _plain_spmm(matrix, x, dropout_p, seed)
    weight = matrix.weight
    learned = weight is not None and weight.requires_grad
    # A learned weight changes with every step: sorting it by column would not pay.
    by_column = None if weight is None or learned else matrix.weight_by_column
    weight, by_column = (None if w is None else w.to(x.dtype).contiguous() for w in (weight, by_column))
    structure = (matrix.rowptr, matrix.col, None, matrix.colptr, matrix.row, matrix.position)
    product: Tensor = native.spmm(x, weight, *structure, by_column, dropout_p, seed, learned, matrix.room, matrix.first)
    return product


def _plain_spmm(matrix: SparseMatrix, x: Tensor, dropout_p: float, seed: Tensor) -> Tensor:
    """By operations that every backend has."""
    weight = x.new_ones(matrix.num_entries) if matrix.weight is None else matrix.weight.to(x.dtype)
    weight = dropout_reference.dropout(weight[None, None], dropout_p, seed, first_head=matrix.first)[0, 0]
    return segment_sum(weight[:, None] * x[matrix.col], matrix.rowptr, matrix.target)
