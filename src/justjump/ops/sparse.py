"""A sparse matrix by rows and by columns, for products with it and with its transpose."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from justjump.ops import reference

INT32_MAX = 2**31 - 1


class SparseMatrix:
    """CSR of a matrix ``[R, M]`` with E stored entries, and its CSC, made when first needed.

    Attributes:
        shape: ``(R, M)``
        rowptr: ``[R + 1]`` entries of row r are ``rowptr[r] .. rowptr[r + 1]``
        col: ``[E]`` column of each entry, ascending within a row
        colptr: ``[M + 1]`` the same by columns
        row: ``[E]`` row of each entry in CSC order
        position: ``[E]`` CSR position of each entry in CSC order
        weight: ``[E]`` values in CSR order, or None where all are one

    >>> import scipy.sparse
    >>> SparseMatrix.from_scipy(scipy.sparse.csr_matrix([[0, 2], [1, 0], [0, 0]]))
    SparseMatrix(shape=(3, 2), entries=2)
    """

    def __init__(self, shape: tuple[int, int], rowptr: Tensor, col: Tensor, weight: Tensor | None = None) -> None:
        # Kernels read half the index memory where 32 bits are enough.
        dtype = torch.int32 if max(*shape, col.numel()) <= INT32_MAX else torch.int64
        self.shape = shape
        self.rowptr = rowptr.to(dtype)
        self.col = col.to(dtype)
        self.weight = weight

    @classmethod
    def from_entries(
        cls, shape: tuple[int, int], row: Tensor, col: Tensor, weight: Tensor | None = None
    ) -> SparseMatrix:
        """From the entries in any order; two entries at one place stay two entries."""
        for name, index, size in (("row", row, shape[0]), ("col", col, shape[1])):
            low, high = map(int, index.aminmax()) if index.numel() else (0, -1)
            if low < 0 or high >= size:
                raise ValueError(f"{name} holds {low if low < 0 else high}, expected numbers from 0 to {size - 1}")
        return cls(shape, *by_rows(shape, row, col, weight))

    @classmethod
    @torch.inference_mode(False)
    def from_scipy(cls, matrix: Any) -> SparseMatrix:
        """From a scipy sparse matrix, its values as float32 (float64 stays)."""
        coo = matrix.tocoo()
        weight = torch.as_tensor(coo.data)
        if weight.dtype != torch.float64:
            weight = weight.float()
        return cls.from_entries(coo.shape, torch.as_tensor(coo.row), torch.as_tensor(coo.col), weight)

    @property
    def num_entries(self) -> int:
        return self.col.numel()

    @property
    def device(self) -> torch.device:
        return self.col.device

    @cached_property
    @torch.inference_mode(False)  # what is kept must serve training later
    def _csc(self) -> tuple[Tensor, Tensor, Tensor]:
        position = torch.argsort(self.col, stable=True)  # rows ascend within each column
        dtype = self.col.dtype
        colptr = pointer(self.col.long(), self.shape[1])
        return colptr.to(dtype), reference.edge_targets(self.rowptr)[position], position.to(dtype)

    @property
    def colptr(self) -> Tensor:
        return self._csc[0]

    @property
    def row(self) -> Tensor:
        return self._csc[1]

    @property
    def position(self) -> Tensor:
        return self._csc[2]

    @cached_property
    @torch.inference_mode(False)
    def weight_by_column(self) -> Tensor | None:
        """``[E]`` values in CSC order, or None where all are one."""
        return None if self.weight is None else self.weight[self.position]

    def to_dense(self) -> Tensor:
        """``[R, M]``"""
        weight = torch.ones(self.num_entries, device=self.device) if self.weight is None else self.weight
        dense = weight.new_zeros(self.shape)
        return dense.index_put((reference.edge_targets(self.rowptr), self.col), weight, accumulate=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, entries={self.num_entries})"


def by_rows(
    shape: tuple[int, int], row: Tensor, col: Tensor, weight: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """CSR ``(rowptr, col, weight)`` of entries: the same for every order of distinct ones."""
    row, col = row.long(), col.long()
    order = torch.argsort(row * shape[1] + col, stable=True)
    return pointer(row, shape[0]), col[order], None if weight is None else weight[order]


def pointer(index: Tensor, size: int) -> Tensor:
    """Where each value's run starts in a sorted list of ``index``. ``[E] -> [size + 1]``"""
    out = torch.zeros(size + 1, dtype=torch.int64, device=index.device)
    torch.cumsum(torch.bincount(index, minlength=size), 0, out=out[1:])
    return out
