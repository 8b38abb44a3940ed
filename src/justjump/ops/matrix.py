"""A sparse matrix by rows and by columns, for products with it and with its transpose."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeVar

import torch
from torch import Tensor

from justjump.matrices import checked_scipy
from justjump.ops.operation import is_traced
from justjump.ops.segments import edge_targets

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
Made = TypeVar("Made")


class SparseMatrix:
    """CSR of a matrix ``[R, M]`` with E stored entries, and its CSC, made when first needed.

    The constructor validates the indices, so that operations may trust them.

    A matrix does not change: operations keep with it what they compute of it. Its tensors must not be changed in place.

    Attributes:
        shape: ``(R, M)``
        first: number of the first stored entry in the matrix of which this one has some rows; dropout counts from it

    >>> import scipy.sparse
    >>> SparseMatrix.from_scipy(scipy.sparse.csr_matrix([[0, 2], [1, 0], [0, 0]]))
    SparseMatrix(shape=(3, 2), entries=2)
    """

    shape: tuple[int, int]
    # Whether the arrays of entries have room for more than there are, as those of a traced graph have (ops/traced.py).
    room = False
    first = 0
    _structure: dict[str, Any]

    def __init__(self, shape: tuple[int, int], rowptr: Tensor, col: Tensor, weight: Tensor | None = None) -> None:
        check_csr(shape, rowptr, col, weight)
        self._set(
            (int(shape[0]), int(shape[1])), rowptr.clone(), col.clone(), weight
        )  # what is checked must not change any more

    def _set(self, shape: tuple[int, int], rowptr: Tensor, col: Tensor, weight: Tensor | None) -> None:
        """Take indices that are known to be right."""
        # Kernels read half the index memory where 32 bits are enough.
        dtype = torch.int32 if max(*shape, col.numel()) <= INT32_MAX else torch.int64
        self.shape = shape
        self._rowptr, self._col = rowptr.to(dtype).contiguous(), col.to(dtype).contiguous()
        self._weight = weight
        self._structure = {}  # what follows from rowptr and col alone: matrices that share these share it

    @classmethod
    def from_entries(
        cls, shape: tuple[int, int], row: Tensor, col: Tensor, weight: Tensor | None = None
    ) -> SparseMatrix:
        """From the entries in any order; two entries at one place stay two entries."""
        _check_shape(shape)
        for name, index, size in (("row", row, shape[0]), ("col", col, shape[1])):
            check_index(name, index)
            check_range(name, index, size)
        if len(row) != len(col):
            raise ValueError(f"row holds {len(row)} numbers and col {len(col)}, expected one of each per entry")
        _check_weight(weight, col)
        rowptr, order = sort_entries(shape, row, col)
        matrix = SparseMatrix.__new__(SparseMatrix)
        matrix._set((int(shape[0]), int(shape[1])), rowptr, col[order], None if weight is None else weight[order])
        return matrix

    @classmethod
    @torch.inference_mode(False)
    def from_scipy(cls, matrix: Any) -> SparseMatrix:
        """From a scipy sparse matrix, its values as float32 (float64 stays)."""
        coo = checked_scipy(matrix).tocoo()
        weight = torch.as_tensor(coo.data)
        _check_weight(weight, weight)
        if weight.dtype != torch.float64:
            weight = weight.float()
        return cls.from_entries(coo.shape, torch.as_tensor(coo.row), torch.as_tensor(coo.col), weight)

    @property
    def rowptr(self) -> Tensor:
        """``[R + 1]`` entries of row r are ``rowptr[r] .. rowptr[r + 1]``."""
        return self._rowptr

    @property
    def col(self) -> Tensor:
        """``[E]`` column of each entry, ascending within a row."""
        return self._col

    @property
    def weight(self) -> Tensor | None:
        """``[E]`` values in CSR order, or None where all are one."""
        return self._weight

    @property
    def num_entries(self) -> int:
        return self.col.numel()

    @property
    def device(self) -> torch.device:
        return self.col.device

    def _once(self, name: str, make: Callable[[], Made]) -> Made:
        """What follows from the structure, made when first needed."""
        if name in self._structure:
            found: Made = self._structure[name]
            return found
        with torch.inference_mode(False):  # it must serve training later
            made = make()
        if not is_traced():  # what belongs to a program that torch traces is of no use outside of it
            self._structure[name] = made
        return made

    @property
    def target(self) -> Tensor:
        """``[E]`` row of each entry in CSR order."""
        return self._once("target", lambda: edge_targets(self.rowptr, self.num_entries))

    @property
    def colptr(self) -> Tensor:
        """``[M + 1]`` where each column's entries begin in CSC order."""
        return self._once("csc", self._by_columns)[0]

    @property
    def row(self) -> Tensor:
        """``[E]`` row of each entry in CSC order."""
        return self._once("csc", self._by_columns)[1]

    @property
    def position(self) -> Tensor:
        """``[E]`` CSR position of each entry in CSC order."""
        return self._once("csc", self._by_columns)[2]

    def _by_columns(self) -> tuple[Tensor, Tensor, Tensor]:
        position = torch.argsort(self.col, stable=True)  # rows ascend within each column
        colptr = pointer(self.col.long(), self.shape[1])
        return colptr.to(self.col.dtype), self.target[position], position.to(self.col.dtype)

    @property
    def weight_by_column(self) -> Tensor | None:
        """``[E]`` values in CSC order, or None where all are one."""
        if self.weight is None:
            return None
        if not hasattr(self, "_weight_by_column"):
            with torch.inference_mode(False):
                self._weight_by_column = self.weight[self.position]
        return self._weight_by_column

    def take(self, rows: Tensor) -> SparseMatrix:
        """Some rows, in the order of their numbers ``[n]``. ``[n, M]``"""
        check_index("rows", rows)
        check_range("rows", rows, self.shape[0])
        rows = rows.long()
        begin = self.rowptr[rows].long()
        count = self.rowptr[rows + 1].long() - begin
        rowptr = torch.zeros(len(rows) + 1, dtype=torch.int64, device=self.device)
        torch.cumsum(count, 0, out=rowptr[1:])
        shift = (begin - rowptr[:-1]).repeat_interleave(count)
        entries = torch.arange(len(shift), device=self.device) + shift
        matrix = SparseMatrix.__new__(SparseMatrix)
        weight = None if self.weight is None else self.weight[entries]
        matrix._set((len(rows), self.shape[1]), rowptr, self.col[entries], weight)
        return matrix

    def to(self, device: torch.device | str) -> SparseMatrix:
        """The same matrix on another device."""
        if self.device == torch.device(device):
            return self
        matrix = SparseMatrix.__new__(SparseMatrix)
        weight = None if self.weight is None else self.weight.to(device)
        matrix._set(self.shape, self.rowptr.to(device), self.col.to(device), weight)
        return matrix

    def to_dense(self) -> Tensor:
        """``[R, M]``"""
        weight = torch.ones(self.num_entries, device=self.device) if self.weight is None else self.weight
        dense = weight.new_zeros(self.shape)
        return dense.index_put((self.target, self.col), weight, accumulate=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, entries={self.num_entries})"


def rows_of(x: Tensor | SparseMatrix, nodes: Tensor) -> Tensor | SparseMatrix:
    """The features of some nodes."""
    return x[nodes] if isinstance(x, Tensor) else x.take(nodes)


def sort_entries(shape: tuple[int, int], row: Tensor, col: Tensor) -> tuple[Tensor, Tensor]:
    """CSR pointer ``[R + 1]`` and order ``[E]`` of entries: the same for every order of distinct ones."""
    row, col = row.long(), col.long()
    rowptr = pointer(row, shape[0])
    if shape[0] * shape[1] <= INT64_MAX:
        return rowptr, torch.argsort(row * shape[1] + col, stable=True)
    order = torch.argsort(col, stable=True)  # the number of a place would wrap around
    return rowptr, order[torch.argsort(row[order], stable=True)]


def pointer(index: Tensor, size: int) -> Tensor:
    """Where each value's run starts in a sorted list of ``index``. ``[E] -> [size + 1]``"""
    out = torch.zeros(size + 1, dtype=torch.int64, device=index.device)
    torch.cumsum(torch.bincount(index, minlength=size), 0, out=out[1:])
    return out


def check_range(name: str, index: Tensor, size: int) -> None:
    low, high = map(int, index.aminmax()) if index.numel() else (0, -1)
    if low < 0 or high >= size:
        raise ValueError(f"{name} holds {low if low < 0 else high}, expected numbers from 0 to {size - 1}")


def check_csr(shape: tuple[int, int], rowptr: Tensor, col: Tensor, weight: Tensor | None) -> None:
    """Raise TypeError or ValueError unless these are the indices of a matrix by rows, and its weights."""
    check_index("rowptr", rowptr)
    check_index("col", col)
    _check_shape(shape)
    if rowptr.numel() != shape[0] + 1:
        raise ValueError(f"rowptr holds {rowptr.numel()} numbers, expected one per row and one more")
    # Differences could wrap around: neighbours are compared.
    falls = bool((rowptr[1:] < rowptr[:-1]).any())
    if falls or int(rowptr[0]) != 0 or int(rowptr[-1]) != col.numel():
        raise ValueError(f"rowptr must ascend from 0 to the number of entries, {col.numel()}")
    check_range("col", col, shape[1])
    _check_weight(weight, col)


def _check_shape(shape: tuple[int, int]) -> None:
    if len(shape) != 2 or not all(isinstance(size, Integral) and 0 <= size <= INT64_MAX for size in shape):
        raise ValueError(f"shape is {tuple(shape)}, expected two numbers of rows and columns, 0 or more")


def check_index(name: str, index: Tensor) -> None:
    if not isinstance(index, Tensor):
        raise TypeError(f"{name} is of type {type(index).__name__}, expected a tensor: torch.tensor({name})")
    if index.dim() != 1 or index.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"{name} is {index.dtype} of shape {list(index.shape)}, expected a vector of integers")


def _check_weight(weight: Tensor | None, col: Tensor) -> None:
    if weight is not None and not isinstance(weight, Tensor):
        raise TypeError(f"weight is of type {type(weight).__name__}, expected a tensor or None")
    if weight is not None and weight.shape != col.shape:
        raise ValueError(f"weight has shape {list(weight.shape)}, expected [{col.numel()}], one per entry")
    if weight is not None and weight.is_complex():
        raise ValueError(f"weight has dtype {weight.dtype}, expected real numbers: take their real part")
