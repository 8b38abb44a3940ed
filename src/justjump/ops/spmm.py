"""Sparse matrix times dense matrix, with the gradient through the transposed structure."""

import torch
from torch import Tensor

from justjump.ops import native, reference
from justjump.ops.blocks import edge_blocks
from justjump.ops.packed import contiguous_rows, is_native
from justjump.ops.sparse import SparseMatrix


def spmm(matrix: SparseMatrix, x: Tensor, weight: Tensor | None = None) -> Tensor:
    """``out[r] = sum_e weight[e] * x[col[e]]`` over the entries e of row r.

    Args:
        matrix: ``[R, M]``
        x: ``[M, d]``
        weight: ``[E]`` in place of the matrix's own values

    Returns:
        ``[R, d]``
    """
    if x.dim() != 2 or x.size(0) != matrix.shape[1]:
        raise ValueError(f"x has shape {list(x.shape)}, expected [{matrix.shape[1]}, d] for a {matrix}")
    weight = matrix.weight if weight is None else weight
    weight = x.new_ones(matrix.num_entries) if weight is None else weight.to(x.dtype)
    if weight.requires_grad:
        return reference.spmm(matrix.rowptr, matrix.col, weight, x)
    product: Tensor = _spmm(matrix.rowptr, matrix.col, None, matrix.colptr, matrix.row, matrix.position, weight, x)
    return product


@torch.library.custom_op("justjump::spmm", mutates_args=())
def _spmm(
    rowptr: Tensor,
    col: Tensor,
    place: Tensor | None,
    colptr: Tensor,
    row: Tensor,
    position: Tensor | None,
    weight: Tensor,
    x: Tensor,
) -> Tensor:
    """The product; ``place`` maps entries to weights where those are in the other order, ``position`` the reverse."""
    if is_native(weight, x):
        return native.spmm(rowptr, col, weight, contiguous_rows(x), position=place)
    rows = reference.edge_targets(rowptr)
    out = x.new_zeros(rowptr.numel() - 1, x.size(1))
    for e in edge_blocks(col.numel(), x.size(1)):
        w = weight[e] if place is None else weight[place[e]]
        out.index_add_(0, rows[e], w[:, None] * x[col[e]])
    return out


@_spmm.register_fake
def _(rowptr, col, place, colptr, row, position, weight, x):  # type: ignore[no-untyped-def]
    return x.new_empty(rowptr.numel() - 1, x.size(1))


def _setup(ctx, inputs, output):  # type: ignore[no-untyped-def]
    ctx.save_for_backward(*inputs[:-1])


def _backward(ctx, grad):  # type: ignore[no-untyped-def]
    rowptr, col, place, colptr, row, position, weight = ctx.saved_tensors
    grad = _spmm(colptr, row, position, rowptr, col, place, weight, grad.contiguous())
    return (None,) * 7 + (grad,)


_spmm.register_autograd(_backward, setup_context=_setup)
