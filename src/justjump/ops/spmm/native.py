"""Sparse matrix times dense matrix as an operation of torch, by the native kernels where they serve."""

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.dropout import reference as dropout_reference
from justjump.ops.operation import operation
from justjump.ops.plan import is_native
from justjump.ops.spmm import pytorch


@operation("justjump::spmm", learned=2)
def spmm(
    x: Tensor,
    weight: Tensor | None,
    rowptr: Tensor,
    col: Tensor,
    number: Tensor | None,
    colptr: Tensor,
    row: Tensor,
    other_number: Tensor | None,
    other_weight: Tensor | None,
    dropout_p: float,
    seed: Tensor,
    learned: bool,
    room: bool,
    first: int = 0,
) -> Tensor:
    """The product by rows; what comes by columns is for its gradient.

    Args:
        number: ``[E]`` of each entry, None where they are counted as they come
        weight: in the order of the entries where ``other_weight`` has them in the other order, else by number
        learned: whether the weights get a gradient
        room: whether the arrays of entries have room for more entries than there are
        first: number of the first entry, for dropout
    """
    if room:
        col, number, weight, other_weight = native.filled(rowptr, col, number, weight, other_weight)
    if is_native(x, *([] if weight is None else [weight])):
        out = native.empty(x, rowptr.numel() - 1, x.size(1))
        native.run(
            "SpmmForward", x.dtype, rowptr=native.index("rowptr", rowptr), col=native.index("col", col),
            position=native.index("number", number), weight=weight, ordered=other_weight is not None,
            dropout=dropout_p, seed=native.unsigned(seed), first=first, x=native.readable(x), out=out,
        )  # fmt: skip
        return out
    if weight is None:
        weight = x.new_ones(col.numel())
    elif number is not None and other_weight is None:
        weight = weight[number]
    kept = _dropped(x.new_ones(col.numel()), dropout_p, seed, first)
    return pytorch.spmm(rowptr, col, weight * (kept if number is None else kept[number]), x)


@operation("justjump::spmm_backward")
def spmm_backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    rowptr: Tensor,
    col: Tensor,
    colptr: Tensor,
    row: Tensor,
    position: Tensor,
    dropout_p: float,
    seed: Tensor,
    room: bool,
    first: int = 0,
) -> tuple[Tensor, Tensor]:
    """Gradients of x and of learned weights; they have no gradients themselves."""
    whole = torch.zeros_like(weight) if room else torch.empty_like(weight)
    grad_weight = whole
    if room:
        col, row, position, weight, grad_weight = native.filled(rowptr, col, row, position, weight, whole)
    transposed = (colptr, row, position, rowptr, col, None)
    grad_x: Tensor = spmm(grad, weight, *transposed, None, dropout_p, seed, False, False, first)
    if is_native(grad, x):
        native.run(
            "SpmmWeightGrad", x.dtype, rowptr=native.index("rowptr", rowptr), col=native.index("col", col),
            x=native.readable(x), grad_out=native.readable(grad), grad_weight=grad_weight,
        )  # fmt: skip
    else:
        grad_weight.copy_(pytorch.weight_gradient(rowptr, col, x, grad))
    return grad_x, _dropped(whole, dropout_p, seed, first)


def _dropped(weight: Tensor, p: float, seed: Tensor, first: int) -> Tensor:
    return dropout_reference.dropout(weight[None, None], p, seed, first_head=first)[0, 0] if p else weight


@spmm.register_fake
def _(x, weight, rowptr, *_):  # type: ignore[no-untyped-def]
    return x.new_empty(rowptr.numel() - 1, x.size(1))


@spmm_backward.register_fake
def _(grad, x, weight, *_):  # type: ignore[no-untyped-def]
    return x.new_empty(x.shape), x.new_empty(weight.shape)


def _save(learned, constants, output):  # type: ignore[no-untyped-def]
    x, weight = learned
    return weight, x if constants[9] else None


def _gradient(grad, saved, constants):  # type: ignore[no-untyped-def]
    (weight, x), grad = saved, grad.contiguous()
    rowptr, col, number, colptr, row, other_number, other_weight, dropout_p, seed, learned, room, first = constants
    if learned:
        return spmm_backward(grad, x, weight, rowptr, col, colptr, row, other_number, dropout_p, seed, room, first)
    own, other = (weight, None) if other_weight is None else (other_weight, weight)
    transposed = (colptr, row, other_number, rowptr, col, number)
    return spmm(grad, own, *transposed, other, dropout_p, seed, False, room, first), None


spmm.register_gradient(_save, _gradient)
