"""Products of sparse and dense matrices."""

from __future__ import annotations

import torch
from torch import Tensor

from justjump.ops.native.checks import _address, _compressed, _dense, _dropout, _edge_weight, _index, _rows
from justjump.ops.native.module import _kernel, empty, threads


def spmm(
    rowptr: Tensor,
    col: Tensor,
    weight: Tensor | None,
    x: Tensor,
    *,
    position: Tensor | None = None,
    ordered: bool = False,
    dropout_p: float = 0.0,
    seed: int = 0,
    bias: Tensor | None = None,
    relu: bool = False,
    out: Tensor | None = None,
    accumulate: bool = False,
) -> Tensor:
    """Sparse matrix times dense matrix: ``out[v] = sum_e weight[e] * x[col[e]]``, then bias and ReLU.

    For the transposed product pass ``colptr``, ``row`` and ``position``: edge e then has the number ``position[e]`` and
    ``weight[position[e]]``, or ``weight[e]`` where the weights are ``ordered`` like the edges. Dropout of the weights
    takes the random word of (seed, 0, 0, number of e).

    Args:
        rowptr, col: ``[N + 1], [E]``
        weight: ``[E]``, None for ones
        x: ``[M, d]`` with any row stride
        out: ``[N, d]`` to write to, or with ``accumulate`` to add to
    """
    call = _kernel("spmm", x)
    rows, edges = _compressed("rowptr", rowptr, "col", col)
    _rows("x", x, x.dtype)
    _edge_weight(weight, edges, x.dtype)
    if position is not None:
        _index("position", position, col.dtype, edges)
    if bias is not None:
        _dense("bias", bias, x.dtype, (x.size(1),))
    if out is None:
        if accumulate:
            raise ValueError("accumulate=True takes the tensor to add to as out")
        out = empty(x, rows, x.size(1))
    _rows("out", out, x.dtype, rows, x.size(1))
    call(
        rows, edges, x.size(1), col.dtype == torch.int64, rowptr.data_ptr(), col.data_ptr(), _address(position),
        _address(weight), ordered, *_dropout(dropout_p, seed), x.data_ptr(), x.stride(0), out.data_ptr(),
        out.stride(0), _address(bias), accumulate, relu, threads(),
    )  # fmt: skip
    return out


def sddmm(rowptr: Tensor, col: Tensor, grad_out: Tensor, x: Tensor) -> Tensor:
    """Gradient of the weights of :func:`spmm`: ``[E]`` dot products of ``grad_out[row]`` and ``x[col]``."""
    call = _kernel("sddmm", x)
    rows, edges = _compressed("rowptr", rowptr, "col", col)
    _rows("x", x, x.dtype)
    _rows("grad_out", grad_out, x.dtype, rows, x.size(1))
    grad_weight = x.new_empty(edges)
    call(
        rows, edges, x.size(1), col.dtype == torch.int64, rowptr.data_ptr(), col.data_ptr(), x.data_ptr(), x.stride(0),
        grad_out.data_ptr(), grad_out.stride(0), grad_weight.data_ptr(), threads(),
    )  # fmt: skip
    return grad_weight
