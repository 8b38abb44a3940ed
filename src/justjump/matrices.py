"""Checks of sparse matrices that others have made.

scipy and torch trust the indices of a matrix when they convert it: wrong ones end the process. So they are looked at
before. Neighbours are compared and not subtracted, because a difference of integers can wrap around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor


def ascends(pointer: np.ndarray) -> bool:
    """Whether integers `[n]` begin with 0 and never fall.

    >>> ascends(np.array([0, 2, 2])), ascends(np.array([0, 2**63 - 1, -(2**63), 3]))
    (True, False)
    """
    return bool(len(pointer) and pointer[0] == 0 and not (pointer[1:] < pointer[:-1]).any())


def checked_scipy(matrix: Any) -> Any:
    """A scipy matrix whose indices can be trusted: the same, or one with the same entries. Otherwise a `ValueError`."""
    if len(matrix.shape) != 2:
        raise ValueError(f"the matrix has shape {list(matrix.shape)}, expected rows and columns")
    kind = matrix.format
    if kind == "coo":
        _check_places(matrix.row, matrix.shape[0], "row")
        _check_places(matrix.col, matrix.shape[1], "col")
        if not len(matrix.row) == len(matrix.col) == len(matrix.data):
            found = f"{len(matrix.row)}, {len(matrix.col)} and {len(matrix.data)}"
            raise ValueError(f"row, col and data of the matrix have {found} entries, expected equally many")
        return matrix
    if kind not in ("csr", "csc", "bsr"):
        if kind == "lil" and [len(row) for row in matrix.rows] != [len(row) for row in matrix.data]:
            raise ValueError("the rows of the matrix have other numbers of indices than of values")
        return checked_scipy(matrix.tocsr() if kind == "lil" else matrix.tocoo())
    height, width = matrix.blocksize if kind == "bsr" else (1, 1)
    sizes = matrix.shape[0] // height, matrix.shape[1] // width
    check_compressed(matrix.indptr, matrix.indices, *(sizes[::-1] if kind == "csc" else sizes))
    if len(matrix.data) != len(matrix.indices):
        raise ValueError(f"data has {len(matrix.data)} entries, expected {len(matrix.indices)}, one for each index")
    if len(matrix.indices) > matrix.indptr[-1]:  # scipy allows unused room, but its conversions read it
        matrix = matrix.copy()
        matrix.prune()
    return matrix


def check_tensor(matrix: Tensor) -> None:
    """Raise a `ValueError` unless the indices of a sparse tensor of torch can be trusted."""
    import torch

    if matrix.layout == torch.sparse_coo:
        for name, index, size in zip(("row", "col"), matrix._indices(), matrix.shape, strict=False):
            _check_places(_array(index), size, name)
        return
    if matrix.layout in (torch.sparse_csr, torch.sparse_bsr):
        pointer, index = matrix.crow_indices(), matrix.col_indices()
    else:
        pointer, index = matrix.ccol_indices(), matrix.row_indices()
    if matrix.dim() != 2 or pointer.dim() != 1:
        raise ValueError(f"the matrix has shape {list(matrix.shape)}, expected rows and columns")
    values = matrix.values()
    height, width = values.shape[1:3] if matrix.layout in (torch.sparse_bsr, torch.sparse_bsc) else (1, 1)
    sizes = matrix.shape[0] // height, matrix.shape[1] // width
    is_by_rows = matrix.layout in (torch.sparse_csr, torch.sparse_bsr)
    check_compressed(_array(pointer), _array(index), *(sizes if is_by_rows else sizes[::-1]))
    if not len(values) == len(index) == int(pointer[-1]):
        raise ValueError(f"the matrix has {len(index)} indices and {len(values)} values, expected {int(pointer[-1])}")


def check_compressed(pointer: np.ndarray, index: np.ndarray, majors: int, minors: int) -> None:
    """Raise a `ValueError` unless the indices of a compressed matrix fit its shape.

    Shapes: pointer `[majors + 1]`; index `[n]`, of which the last ones may be unused.
    """
    if pointer.ndim != 1 or len(pointer) != majors + 1:
        raise ValueError(f"the index pointer has shape {list(pointer.shape)}, expected [{majors + 1}]")
    if pointer.dtype.kind not in "iu" or not ascends(pointer) or pointer[-1] > index.size:
        raise ValueError(f"the index pointer must ascend from 0 to the number of entries, at most {index.size}")
    _check_places(index[: int(pointer[-1])], minors, "index")


def _check_places(index: np.ndarray, size: int, name: str) -> None:
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise ValueError(f"{name} is {index.dtype} of shape {list(index.shape)}, expected a list of integers")
    if len(index) and not 0 <= index.min() <= index.max() < size:
        bad = index[(index < 0) | (index >= size)][0]
        raise ValueError(f"{name} of the matrix holds {bad}, expected numbers from 0 to {size - 1}")


def _array(index: Tensor) -> np.ndarray:
    found: np.ndarray = index.detach().cpu().numpy()
    return found
