"""Columns of numbers, as a dense array or a sparse matrix, from columns and their recipes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags

from .columns import Column, Table
from .errors import DataError
from .fitting import SPARSE_BELOW, too_large
from .recipes import Category, Constant, Recipe


def encoded(features: csr_matrix | np.ndarray | Table, steps: Sequence[tuple[str, Recipe]]) -> csr_matrix | np.ndarray:
    """Apply a recipe, beside the name of its column, to each column of features `[N, F]`.

    Returns:
        float32 `[N, widths]`, sparse if most of it is zero
    """
    rows, outputs = features.shape[0], sum(recipe.width for _, recipe in steps)
    # A category has one entry per node, however many columns it has.
    entries = rows * sum(1 if isinstance(recipe, Category) else recipe.width for _, recipe in steps)
    blocks = (_block(column, name, recipe) for column, (name, recipe) in zip(_columns(features), steps, strict=True))
    if is_sparse(entries, rows * outputs):
        return _sparse(blocks, rows, outputs)
    dense = np.zeros((rows, outputs), dtype=np.float32)
    first = 0
    for block in blocks:
        for offset, (nodes, values) in enumerate(block):
            dense[nodes, first + offset] = values
        first += len(block)
    return csr_matrix(dense) if is_sparse(int(np.count_nonzero(dense)), dense.size) else dense


def is_sparse(entries: int, size: int) -> bool:
    """Whether so few of so many values are not zero that a sparse matrix is the faster one."""
    return entries < SPARSE_BELOW * size


def filled_cells(column: Column, recipe: Recipe) -> int:
    """Number of values that are not zero in the columns that one column becomes."""
    count = 0
    for nodes, values in _block(column, column.name, recipe):
        count += int(np.count_nonzero(values)) if isinstance(nodes, slice) else len(nodes)
    return count


def scaled(matrix: csr_matrix, spreads: Mapping[int, float]) -> csr_matrix:
    """A sparse matrix whose columns are divided by some numbers."""
    places = np.fromiter(spreads, dtype=matrix.indices.dtype, count=len(spreads))
    order = np.argsort(places)
    places, numbers = places[order], np.fromiter(spreads.values(), np.float64, len(spreads))[order]
    found = np.searchsorted(places, matrix.indices)
    known = places[np.minimum(found, len(places) - 1)] == matrix.indices
    data = matrix.data.astype(np.float64)
    data[known] /= numbers[found[known]]
    return csr_matrix((data.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


def row_normalized(features: csr_matrix | np.ndarray) -> csr_matrix | np.ndarray:
    """Each row divided by the sum of its absolute values, as float32; an empty row stays empty."""
    if isinstance(features, np.ndarray):
        total = np.abs(features).sum(axis=1, keepdims=True)
        return features / np.where(total > 0, total, 1)
    total = abs(features) @ np.ones(features.shape[1])
    return csr_matrix(diags(1 / np.where(total > 0, total, 1)) @ features, dtype=np.float32)


# The nodes of one column, as their numbers or as all of them, and their values.
_Entries = tuple["np.ndarray | slice", "np.ndarray | float"]


def _columns(features: csr_matrix | np.ndarray | Table) -> Iterator[Column]:
    if isinstance(features, Table):
        yield from features.columns
        return
    by_column: Any = features.tocsc() if isinstance(features, csr_matrix) else features
    for at in range(features.shape[1]):
        x = by_column[:, at]
        yield Column(f"column {at}", "number", x.toarray().ravel() if isinstance(features, csr_matrix) else x)


def _block(column: Column, name: str, recipe: Recipe) -> list[_Entries]:
    """The columns that one column becomes."""
    if isinstance(recipe, Constant):
        return [(slice(0, 0), 0.0)]
    if isinstance(recipe, Category):
        places = column.positions(recipe.values)
        order = np.argsort(places, kind="stable")
        bounds = np.searchsorted(places[order], np.arange(-1, len(recipe.values) + 2))
        groups = [order[start:end] for start, end in pairwise(bounds)]  # missing, ..., other
        return [(nodes, 1.0) for nodes in (*groups[1:], *groups[: recipe.indicator])]
    numbers = column.numbers()
    with np.errstate(over="ignore"):  # what overflows is reported below
        values = recipe.numbers(numbers).astype(np.float32)
    if not np.isfinite(values).all():
        node = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(too_large(name, node, numbers[node]))
    return [(slice(None), values), *([(np.flatnonzero(np.isnan(numbers)), 1.0)] if recipe.indicator else [])]


def _sparse(blocks: Iterator[list[_Entries]], rows: int, outputs: int) -> csr_matrix:
    indices, data, counts = [], [], [0]
    for block in blocks:
        for nodes, values in block:
            if isinstance(nodes, slice):
                column = np.zeros(rows, dtype=np.float32)
                column[nodes] = values
                nodes = np.flatnonzero(column)
                values = column[nodes]
            indices.append(nodes)
            data.append(np.broadcast_to(np.float32(values), nodes.shape))
            counts.append(len(nodes))
    pieces = (np.concatenate(data), np.concatenate(indices), np.cumsum(counts))
    return csc_matrix(pieces, shape=(rows, outputs)).tocsr()
