"""Which recipe a column gets, by its values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix

from .columns import Column, Table
from .errors import DataError, short
from .recipes import MAX_CATEGORIES, Category, Constant, Number, Recipe

# Columns whose mean and standard deviation lie in these ranges are of a size that networks take.
_MEANS = 1.0
_DEVIATIONS = (0.1, 3.0)
# A standard deviation that is this many times that of the middle half of the values is one of outliers.
_OUTLIERS = 50.0
# The standard deviation of a normal distribution is its interquartile range divided by this.
_QUARTILES = 1.349
# Values beyond this many times that deviation are cut.
_OUTLIER_LIMIT = 10.0
# Numbers in sparse features are left as they are unless the root mean square of a column's non-zeros is beyond this.
_LARGE = 100.0
_FLOAT32 = float(np.finfo(np.float32).max)
# Below this share of non-zeros, features are sparse: the product with a sparse matrix is faster than with a dense one.
SPARSE_BELOW = 0.1
# A sparse matrix of fewer columns and of more non-zeros than that is a table of numbers, some of which are zero.
_NARROW = 100
# So many columns of a table that are mostly zeros are sparse features, such as words.
_MANY = 10


def fit_table(table: Table, scale: str) -> dict[int, Recipe]:
    """A recipe for each column of a table."""
    numeric = [column for column in table.columns if column.kind == "number"]
    filled = sum(int(np.count_nonzero(column.values)) for column in numeric)
    is_sparse = is_sparse_table(scale, len(numeric), filled, len(table))
    found = {
        at: fit_sparse_numbers(column.values) if is_sparse and column.kind == "number" else fit_column(column, scale)
        for at, column in enumerate(table.columns)
    }
    for column, recipe in zip(table.columns, found.values(), strict=True):
        if column.kind == "number" and recipe.is_left and (np.abs(column.values) > _FLOAT32).any():
            node = int(np.flatnonzero(np.abs(column.values) > _FLOAT32)[0])
            raise DataError(too_large(column.name, node, column.values[node]))
    return found


def is_sparse_table(scale: str, numeric: int, filled: int, rows: int) -> bool:
    """Whether so many columns of numbers, with so many non-zeros in all, are sparse features such as words."""
    return scale == "auto" and numeric >= _MANY and filled < SPARSE_BELOW * numeric * rows


def too_large(column: str, node: int, value: float) -> str:
    return (
        f"node {node} has {value:g} in {short(column)!r}, which is too large for float32: correct it, or scale the "
        "features (scale='standard')"
    )


def fit_array(array: np.ndarray, scale: str) -> dict[int, Recipe]:
    """Recipes for the columns of an array `[N, F]`. Where most values are zero, only columns that change have one."""
    columns = ((at, array[:, at].astype(np.float64)) for at in range(array.shape[1]))
    if scale == "auto" and np.count_nonzero(array) < SPARSE_BELOW * array.size:
        return {at: recipe for at, x in columns if not (recipe := fit_sparse_numbers(x)).is_plain}
    return {at: fit_numbers(x, scale) for at, x in columns}


def fit_matrix(matrix: csr_matrix, scale: str) -> dict[int, Recipe]:
    """Recipes for those columns of a sparse matrix `[N, F]` that change."""
    rows, width = matrix.shape
    if is_table_of_numbers(scale, matrix.nnz, rows, width):
        return {at: fit_numbers(x, scale) for at, x in matrix_columns(matrix)}
    if scale != "auto" or np.abs(matrix.data).max(initial=0) <= _LARGE:
        return {}
    # By sorting, because a matrix may claim any number of columns.
    columns, place = np.unique(matrix.indices, return_inverse=True)
    values = matrix.data.astype(np.float64)  # of float32, so their squares are finite
    counts, sums = np.bincount(place), np.bincount(place, values)
    sizes = np.sqrt(np.bincount(place, values**2) / counts)
    return {
        int(columns[at]): Number(spread=float(sizes[at]), fill=float(sums[at]) / rows)
        for at in np.flatnonzero(sizes > _LARGE)
    }


def is_table_of_numbers(scale: str, filled: int, rows: int, width: int) -> bool:
    """Whether the columns of a sparse matrix `[rows, width]` with so many non-zeros are fitted one by one."""
    is_table = width < _NARROW and filled >= SPARSE_BELOW * rows * width
    return scale == "standard" or (scale == "auto" and is_table)


def fit_large(x: np.ndarray) -> Number | None:
    """The recipe that `fit_matrix` gives to a column of large numbers, float64 `[N]`; None for all others."""
    filled = x[x != 0]
    size = (
        float(np.sqrt(np.bincount(np.zeros(len(filled), np.int64), filled**2)[0] / len(filled))) if len(filled) else 0
    )
    if not size > _LARGE:
        return None
    return Number(spread=size, fill=float(np.bincount(np.zeros(len(filled), np.int64), filled)[0]) / len(x))


def matrix_columns(matrix: csr_matrix) -> Iterator[tuple[int, np.ndarray]]:
    """Position and values, float64 `[N]`, of those columns of a sparse matrix that are not empty."""
    by_column = matrix.tocsc()
    for at in np.flatnonzero(np.diff(by_column.indptr)).tolist():
        place = slice(by_column.indptr[at], by_column.indptr[at + 1])
        x = np.zeros(matrix.shape[0])
        x[by_column.indices[place]] = by_column.data[place]
        yield at, x


def fit_column(column: Column, scale: str) -> Recipe:
    """The recipe of a column by its values; `scale` as in `Preprocessing`."""
    return fit_category(column) if column.kind == "category" else fit_numbers(column.numbers(), scale)


def fit_numbers(x: np.ndarray, scale: str) -> Recipe:
    """The recipe of a column of numbers: float64 `[N]`, NaN where missing."""
    known = x[~np.isnan(x)]
    indicator = len(known) < len(x)
    if not len(known):
        return Constant()
    low, high = float(known.min()), float(known.max())
    mean, deviation = _moments(known)
    left = Number(fill=mean, indicator=indicator)
    if scale not in ("auto", "standard"):
        return left
    is_binary = bool(((known == 0) | (known == 1)).all())
    if scale == "auto" and (is_binary or (abs(mean) <= _MEANS and _DEVIATIONS[0] <= deviation <= _DEVIATIONS[1])):
        return left
    if low == high or not deviation > 1e-300:
        return Number(center=low, fill=low, indicator=True) if indicator else Constant()
    standardised = Number(mean, deviation, mean, indicator)
    if scale == "auto" and not is_binary:
        first, median, last = (float(q) for q in np.quantile(known / 2, (0.25, 0.5, 0.75)))
        middle = 2 * ((last - first) / _QUARTILES)
        if 0 < _OUTLIERS * middle < deviation:
            return Number(2 * median, middle, 2 * median, indicator, _OUTLIER_LIMIT)
    return standardised


def fit_sparse_numbers(x: np.ndarray) -> Number:
    """The recipe of a column of mostly zeros: float64 `[N]`, NaN where missing. Zeros stay zeros."""
    known = x[~np.isnan(x)]
    filled = known[known != 0]
    size = _root_mean_square(filled)
    mean = _moments(known)[0] if len(known) else 0.0
    return Number(spread=size if size > _LARGE else 1.0, fill=mean, indicator=len(known) < len(x))


def fit_category(column: Column) -> Recipe:
    """One column per value; if there are too many, for the most frequent ones."""
    codes = column.values
    counts = np.bincount(codes[codes >= 0], minlength=len(column.texts)) if len(column.texts) else np.zeros(0, int)
    found = sorted((-int(count), text) for count, text in zip(counts, column.texts, strict=True) if count)
    indicator = bool((codes < 0).any())
    if not found or (len(found) == 1 and not indicator):
        return Constant()
    return Category(tuple(sorted(text for _, text in found[:MAX_CATEGORIES])), indicator)


def _moments(x: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of finite numbers `[n]`, also of huge ones."""
    size = float(np.abs(x).max())
    if size == 0:
        return 0.0, 0.0
    x = x / size
    mean = float(x.mean())
    deviation = float(np.sqrt(np.square(x - mean).mean()))
    return float(np.clip(mean, x.min(), x.max())) * size, deviation * size


def _root_mean_square(x: np.ndarray) -> float:
    size = float(np.abs(x).max(initial=0))
    return 0.0 if size == 0 else float(np.sqrt(np.square(x / size).mean())) * size
