"""Sparse matrix times dense matrix, with the gradient through the transposed structure."""

from torch import Tensor

from justjump.ops import native, reference
from justjump.ops.blocks import edge_blocks
from justjump.ops.dropout import draw_seed
from justjump.ops.operation import operation
from justjump.ops.packed import contiguous_rows, is_native
from justjump.ops.sparse import SparseMatrix


def spmm(matrix: SparseMatrix, x: Tensor, weight: Tensor | None = None, dropout_p: float = 0.0) -> Tensor:
    """``out[r] = sum_e weight[e] * x[col[e]]`` over the entries e of row r.

    Args:
        matrix: ``[R, M]``
        x: ``[M, d]``
        weight: ``[E]`` in place of the matrix's own values
        dropout_p: zero each weight with this probability and scale the others by ``1 / (1 - p)``; what is dropped costs
            no time

    Returns:
        ``[R, d]``
    """
    if x.dim() != 2 or x.size(0) != matrix.shape[1]:
        raise ValueError(f"x has shape {list(x.shape)}, expected [{matrix.shape[1]}, d] for a {matrix}")
    if not x.is_floating_point():
        raise TypeError(f"x has dtype {x.dtype}, expected a floating point type")
    if weight is not None and weight.shape != (matrix.num_entries,):
        raise ValueError(f"weight has shape {list(weight.shape)}, expected [{matrix.num_entries}], one an entry")
    seed = draw_seed(dropout_p)
    by_column = None
    if weight is None and matrix.weight is not None:
        weight, by_column = matrix.weight, matrix.weight_by_column
    if weight is not None and weight.requires_grad:
        dropped = reference.dropout(weight[None, None], dropout_p, seed)[0, 0]
        return reference.spmm(matrix.rowptr, matrix.col, dropped, x)
    weight, by_column = (None if w is None else w.to(x.dtype) for w in (weight, by_column))
    structure = (matrix.rowptr, matrix.col, None, matrix.colptr, matrix.row, matrix.position)
    product: Tensor = _spmm(*structure, weight, by_column, dropout_p, seed, x)
    return product


@operation("justjump::spmm")
def _spmm(
    rowptr: Tensor,
    col: Tensor,
    number: Tensor | None,
    colptr: Tensor,
    row: Tensor,
    other_number: Tensor | None,
    weight: Tensor | None,
    other_weight: Tensor | None,
    dropout_p: float,
    seed: Tensor,
    x: Tensor,
) -> Tensor:
    """The product by rows, and by columns what its gradient needs.

    ``number`` ``[E]`` of each entry, None where they are counted as they come. Weights come in the order of the
    entries where ``other_weight`` has them in the other order, else by number.
    """
    if is_native(x, *([] if weight is None else [weight])):
        return native.spmm(
            rowptr, col, weight, contiguous_rows(x), position=number, ordered=other_weight is not None,
            dropout_p=dropout_p, seed=int(seed),
        )  # fmt: skip
    if weight is None:
        weight = x.new_ones(col.numel())
    elif number is not None and other_weight is None:
        weight = weight[number]
    kept = reference.dropout(x.new_ones(1, 1, col.numel()), dropout_p, seed)[0, 0]
    weight = weight * (kept if number is None else kept[number])
    rows = reference.edge_targets(rowptr)
    out = x.new_zeros(rowptr.numel() - 1, x.size(1))
    for e in edge_blocks(col.numel(), x.size(1)):
        out.index_add_(0, rows[e], weight[e, None] * x[col[e]])
    return out


@_spmm.register_fake
def _(rowptr, col, number, colptr, row, other_number, weight, other_weight, dropout_p, seed, x):  # type: ignore[no-untyped-def]
    return x.new_empty(rowptr.numel() - 1, x.size(1))


def _setup(ctx, inputs, output):  # type: ignore[no-untyped-def]
    *structure, ctx.dropout_p, seed, _ = inputs
    ctx.save_for_backward(*structure, seed)


def _backward(ctx, grad):  # type: ignore[no-untyped-def]
    rowptr, col, number, colptr, row, other_number, weight, other_weight, seed = ctx.saved_tensors
    weights = (weight, None) if other_weight is None else (other_weight, weight)
    structure = (colptr, row, other_number, rowptr, col, number)
    return (None,) * 10 + (_spmm(*structure, *weights, ctx.dropout_p, seed, grad.contiguous()),)


_spmm.register_autograd(_backward, setup_context=_setup)
