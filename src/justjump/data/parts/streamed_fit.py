"""A preprocessing for tables that are streamed: the one that would be fitted in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ..cells import Kind
from ..columns import Column, Table, no_columns
from ..encoding import filled_cells, is_sparse, row_normalized
from ..errors import DataError
from ..fitting import (
    fit_column,
    fit_large,
    fit_numbers,
    fit_sparse_numbers,
    is_sparse_table,
    is_table_of_numbers,
    too_large,
)
from ..nodes import is_dense
from ..preprocess import Preprocessing, Scale
from ..recipes import Category, Number, Recipe
from .source import plain
from .streamed_columns import column_of_batch

_FLOAT32 = float(np.finfo(np.float32).max)
_LEFT = Number()


@dataclass
class _Fitted:
    """What is known of a column when it has been seen: the recipes that it may get, with their non-zeros."""

    kind: Kind
    filled: int
    largest: float
    is_plain: bool
    huge: tuple[int, float] | None = None
    recipes: dict[str, tuple[Recipe | None, int]] = field(default_factory=dict)


class FeatureFit:
    """Sees the columns of features one by one, and then says what is done with each.

    Which recipe a column gets depends on the others: on whether all are plain numbers, and on how many are zero. So
    each column is fitted in all ways that are possible, while it is in memory.
    """

    def __init__(self, rows: int, scale: Scale) -> None:
        self.rows, self.scale = rows, scale
        self.columns: dict[str, _Fitted] = {}
        self.left_out: list[str] = []

    def add(self, name: str, column: Column | None) -> None:
        """See a column; None is free text."""
        if column is None:
            self.left_out.append(name)
            return
        values = column.values
        is_number = column.kind == "number"
        largest = float(np.abs(values).max(initial=0)) if is_number else 0.0
        is_plain = is_number and largest <= _FLOAT32  # NaN is not below the limit
        found = _Fitted(column.kind, int(np.count_nonzero(values)), largest, is_plain)
        ways: dict[str, Recipe | None] = {"column": fit_column(column, self.scale)}
        if is_number and self.scale == "auto":
            ways["sparse"] = fit_sparse_numbers(values)
        if is_number:
            beyond = np.flatnonzero(np.abs(values) > _FLOAT32)
            found.huge = (int(beyond[0]), float(values[beyond[0]])) if len(beyond) else None
        found.recipes = {way: (recipe, filled_cells(column, recipe or _LEFT)) for way, recipe in ways.items()}
        if is_plain:
            rounded = Column(name, "number", values.astype(np.float32))
            found.filled = int(np.count_nonzero(rounded.values))
            ways = {"number": fit_numbers(rounded.values, self.scale), "large": fit_large(rounded.values)}
            found.recipes |= {way: (recipe, filled_cells(rounded, recipe or _LEFT)) for way, recipe in ways.items()}
            found.recipes["as it is"] = None, found.filled
        self.columns[name] = found

    def result(self) -> FeatureEncoder:
        """What is done with all columns."""
        if not self.columns:
            raise DataError(no_columns(self.left_out))
        names, found = list(self.columns), list(self.columns.values())
        if not self.left_out and all(column.is_plain for column in found):
            ways, was_sparse = self._plain_ways(found)
        else:
            ways, was_sparse = self._table_ways(names, found), None
        chosen = [column.recipes[way] for column, way in zip(found, ways, strict=True)]
        recipes = {at: recipe for at, (recipe, _) in enumerate(chosen) if recipe is not None}
        dates = None if was_sparse is not None else tuple(name for name in names if self.columns[name].kind == "date")
        preprocessing = Preprocessing(self.scale, len(names), recipes, tuple(names), tuple(self.left_out), dates)
        size = self.rows * preprocessing.num_outputs
        # The same questions, in the same order, that Preprocessing.apply asks.
        if was_sparse and all(recipe.keeps_zeros for recipe in recipes.values()):
            sparse = True
        else:
            widths = (1 if isinstance(recipe, Category) else recipe.width for recipe in recipes.values())
            estimate = self.rows * (sum(widths) + len(names) - len(recipes))
            sparse = is_sparse(estimate, size) or is_sparse(sum(filled for _, filled in chosen), size)
        kinds = {name: column.kind for name, column in self.columns.items()}
        return FeatureEncoder(preprocessing, kinds, was_sparse, sparse)

    def _plain_ways(self, found: list[_Fitted]) -> tuple[list[str], bool]:
        """Plain numbers are an array or a sparse matrix in memory; whether it is sparse."""
        filled = sum(column.filled for column in found)
        if is_dense(filled, (self.rows, len(found))):
            return ["number"] * len(found), False
        if is_table_of_numbers(self.scale, filled, self.rows, len(found)):
            return ["number" if column.filled else "as it is" for column in found], True
        return ["large" if self.scale == "auto" else "as it is"] * len(found), True

    def _table_ways(self, names: list[str], found: list[_Fitted]) -> list[str]:
        numeric = [column for column in found if column.kind == "number"]
        sparse = is_sparse_table(self.scale, len(numeric), sum(column.filled for column in numeric), self.rows)
        ways = ["sparse" if sparse and column.kind == "number" else "column" for column in found]
        for name, column, way in zip(names, found, ways, strict=True):
            recipe = column.recipes[way][0]
            if column.huge is not None and recipe is not None and recipe.is_left:
                raise DataError(too_large(name, *column.huge))
        return ways


@dataclass(frozen=True)
class FeatureEncoder:
    """Makes the features of some rows.

    Attributes:
        preprocessing: what is done with the columns
        kinds: of the columns by their names
        was_sparse: whether plain numbers would be a sparse matrix in memory; None for a table of other columns
        sparse: whether the result is sparse
    """

    preprocessing: Preprocessing
    kinds: Mapping[str, Kind]
    was_sparse: bool | None
    sparse: bool

    def encode(self, batch: Any) -> csr_matrix | np.ndarray:
        """The features of a record batch `[k, columns]`: float32 `[k, F]`, sparse or dense like those of all rows."""
        columns = [
            column_of_batch(name, kind, plain(batch.column(batch.schema.get_field_index(name))))
            for name, kind in self.kinds.items()
        ]
        features: Any = Table(tuple(columns))
        if self.was_sparse is not None:
            features = np.stack([column.values for column in columns], axis=1).astype(np.float32)
            features = csr_matrix(features) if self.was_sparse else features
        numbers = replace(self.preprocessing, scale="none").apply(features)
        if self.sparse:
            numbers = csr_matrix(numbers)
        elif isinstance(numbers, csr_matrix):
            numbers = numbers.toarray()
        if self.preprocessing.scale == "rows":
            numbers = row_normalized(numbers)
        return numbers.sorted_indices() if isinstance(numbers, csr_matrix) else numbers
