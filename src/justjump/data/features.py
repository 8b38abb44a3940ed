"""Checks of the features of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from justjump.matrices import checked_scipy

from .columns import Table
from .errors import DataError, short
from .sparse import canonical

# Rounding that changes differences within a column by more than this share of its range is too coarse.
_ROUNDING = 1e-4
_BLOCK = 2**14  # rows


def checked_features(features: Any, names: Sequence[str] | None = None) -> csr_matrix | np.ndarray | Table:
    """Features `[N, F]` as float32: a `csr_matrix`, an array in which NaN means missing, or a `Table` as it is.

    An array stays float64 where a column has lost its differences otherwise, such as times in seconds since 1970.

    `names` are those of the columns, for messages.
    """
    is_table, sparse = isinstance(features, Table), issparse(features)
    if not is_table and not sparse:
        features = np.asarray(features)
    if len(features.shape) != 2 or 0 in features.shape:
        raise DataError(
            f"features must have shape [nodes, features] with at least one of each, got {list(features.shape)}: "
            "if the graph has no features, use the identity matrix"
        )
    if isinstance(features, Table):
        return features
    if features.dtype.kind not in "iufb":
        raise DataError(
            f"features must be real numbers, got {features.dtype}: for columns of text or dates use data.Table.of"
        )
    if sparse:
        return _checked_matrix(features, names)
    with np.errstate(over="ignore"):  # values that overflow become inf, which is reported below
        checked = np.ascontiguousarray(features, dtype=np.float32)
    if np.isinf(checked).any():
        node, column = np.argwhere(np.isinf(checked))[0].tolist()
        raise DataError(_not_finite(node, column, features[node, column], names))
    return np.ascontiguousarray(features, dtype=np.float64) if _is_rounded(features, checked) else checked


def _is_rounded(exact: np.ndarray, rounded: np.ndarray) -> bool:
    """Whether the values of a column differ by so little that rounding changes their differences."""
    if exact.dtype == rounded.dtype or exact.dtype.itemsize < 4 or exact.dtype.kind == "b":
        return False
    error, low, high = np.zeros(exact.shape[1]), np.full(exact.shape[1], np.inf), np.full(exact.shape[1], -np.inf)
    for first in range(0, len(exact), _BLOCK):
        block = exact[first : first + _BLOCK].astype(np.float64)
        error = np.fmax(error, np.fmax.reduce(np.abs(block - rounded[first : first + _BLOCK]), 0))
        low, high = np.fmin(low, np.fmin.reduce(block, 0)), np.fmax(high, np.fmax.reduce(block, 0))
    with np.errstate(invalid="ignore"):  # a column in which all values are missing
        return bool(((error > _ROUNDING * (high - low)) & (high > low)).any())


def in_order(
    features: csr_matrix | np.ndarray | Table, names: Sequence[str], wanted: Sequence[str]
) -> csr_matrix | np.ndarray | Table:
    """The columns of the wanted names; `names` has those of all columns."""
    if isinstance(features, Table):
        return features.select(wanted)
    place = {name: column for column, name in enumerate(names)}
    return features[:, [place[name] for name in wanted]]


def _checked_matrix(features: Any, names: Sequence[str] | None) -> csr_matrix:
    try:
        features = checked_scipy(features)
    except ValueError as error:
        raise DataError(f"features are not a valid sparse matrix: {error}") from error
    checked = canonical(features.tocsr())
    bad = np.flatnonzero(~np.isfinite(checked.data))
    if len(bad):
        node = int(np.searchsorted(checked.indptr, bad[0], side="right") - 1)
        column, value = int(checked.indices[bad[0]]), checked.data[bad[0]]
        advice = ": values may be missing in an array, but not in a sparse matrix" if np.isnan(value) else ""
        raise DataError(_not_finite(node, column, value, names) + advice)
    return checked


def _not_finite(node: int, column: int, value: Any, names: Sequence[str] | None) -> str:
    where = f"column {column}" if names is None or column >= len(names) else f"the column {short(names[column])!r}"
    found = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value:g}"
    return f"features must be finite float32 numbers, but node {node} has {found} in {where}"
