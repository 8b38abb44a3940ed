"""Checked sparse matrices and clean edge lists, for all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from justjump.matrices import ascends

from .errors import DataError, short

if TYPE_CHECKING:
    from .arrays import Header

_MAX_COLUMNS = 2**31 - 1


class WeightConflictError(DataError):
    """One edge has two entries with different weights; `first` and `second` are their positions in the input."""

    def __init__(self, first: int, second: int, weights: tuple[float, float]) -> None:
        self.first, self.second, self.weights = first, second, weights
        super().__init__(
            f"edge entries {first} and {second} join the same nodes with different weights {weights[0]:g} and "
            f"{weights[1]:g}: keep one of them, or read the graph with directed=True if they have opposite directions"
        )


def canonical(matrix: csr_matrix) -> csr_matrix:
    """Copy a matrix with float32 values and sorted indices; duplicates are summed and explicit zeros removed."""
    with np.errstate(over="ignore"):  # values that overflow become inf, which `Graph` reports
        matrix = csr_matrix(matrix, dtype=np.float32, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def checked_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray, what: str) -> csr_matrix:
    """Make a CSR matrix from arrays that may hold anything. If they are inconsistent, raise a `DataError`.

    `what` is the prefix of the arrays' names in the message.

    Shapes: data, indices `[nnz]`; indptr `[rows + 1]`; shape `[2]`.
    """
    check_form(data, indices, indptr, shape, what)
    check_steps(indptr, len(indices), what)
    rows, columns = (int(size) for size in shape)
    low, high = (int(indices.min()), int(indices.max())) if len(indices) else (0, -1)
    if low < 0 or high >= columns:
        raise DataError(f"{what}_indices must lie in 0..{columns - 1}, got {low if low < 0 else high}")
    indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
    # scipy has no matrices of float16, nor of the other byte order.
    is_half = data.dtype.kind == "f" and data.dtype.itemsize == 2
    data = data.astype(np.float32 if is_half else data.dtype.newbyteorder("="), copy=False)
    return csr_matrix((data, indices, indptr), shape=(rows, columns))


def check_form(
    data: np.ndarray | Header, indices: np.ndarray | Header, indptr: np.ndarray | Header, shape: np.ndarray, what: str
) -> None:
    """Raise a `DataError` unless the shapes and types of the arrays of a CSR matrix fit its shape."""
    for name, array in (("indices", indices), ("indptr", indptr), ("shape", shape)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise DataError(
                f"{what}_{name} must be a list of integers, got {array.dtype} of shape {short(array.shape)}"
            )
    if data.ndim != 1 or data.dtype.kind not in "iufb":
        raise DataError(f"{what}_data must be a list of numbers, got {data.dtype} of shape {short(data.shape)}")
    if len(shape) != 2 or min(shape) < 0 or max(shape) > _MAX_COLUMNS:
        raise DataError(f"{what}_shape must be two sizes below 2^31, got {shape.tolist()[:4]}")
    rows, columns = (int(size) for size in shape)
    if indptr.size != rows + 1:
        raise DataError(
            f"{what}_indptr must have {rows + 1} entries for {what}_shape {rows} x {columns}, got {indptr.size}"
        )
    if data.size != indices.size:
        raise DataError(f"{what}_data must have {indices.size} values, one for each index, got {data.size}")


def check_steps(indptr: np.ndarray, entries: int, what: str) -> None:
    """Raise a `DataError` unless the boundaries between the rows of a CSR matrix fit the number of its entries."""
    if not ascends(indptr) or indptr[-1] != entries:
        raise DataError(
            f"{what}_indptr must rise from 0 to the number of entries, got {indptr[0]} to {indptr[-1]} for {entries} "
            "indices"
        )


def simplify(
    edge_index: np.ndarray, num_nodes: int, weight: np.ndarray | None = None, directed: bool = False
) -> tuple[np.ndarray, np.ndarray | None]:
    """Drop self-loops, merge repeated edges and, unless `directed`, add the reverse of every edge.

    Shapes: edge_index `[2, E]` -> `[2, E']`, sorted by source, then target; weight `[E]` -> `[E']`.
    Every layer adds its own self-loops, so those of the data are not needed.

    >>> simplify(np.array([[0, 1, 2, 2], [1, 0, 1, 2]]), num_nodes=3)[0].tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    entry = np.flatnonzero(edge_index[0] != edge_index[1])
    source, target = edge_index[:, entry]
    key = np.multiply(source, num_nodes, dtype=np.int64)
    key += target
    if not directed:
        reverse = np.multiply(target, num_nodes, dtype=np.int64)
        reverse += source
        key = np.concatenate([key, reverse])
        del reverse
    del source, target  # edge lists are long: nothing is kept longer than it is needed
    if weight is None:
        key.sort()  # several times as fast as np.unique
        key = key[_first_of_each(key)]
    else:
        order = np.argsort(key, kind="stable")
        key = key[order]
        order %= max(len(entry), 1)
        weight = weight[entry[order]]
        is_first = _first_of_each(key)
        conflict = np.flatnonzero(~is_first[1:] & (weight[1:] != weight[:-1]))
        if len(conflict):
            second = conflict[0] + 1
            first = np.flatnonzero(is_first[:second])[-1]
            found = float(weight[first]), float(weight[second])
            raise WeightConflictError(int(entry[order[first]]), int(entry[order[second]]), found)
        del order
        key, weight = key[is_first], weight[is_first]
    edges = np.empty((2, len(key)), np.int64)
    np.divmod(key, max(num_nodes, 1), out=(edges[0], edges[1]))
    return edges, weight


def _first_of_each(ordered: np.ndarray) -> np.ndarray:
    """Which of the numbers, in ascending order, are not there before: bool `[n]`."""
    is_first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return is_first
