"""From features as people have them to numbers that a network takes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy.sparse import csr_matrix

from . import recipes
from .cells import days
from .columns import Table
from .encoding import encoded, is_sparse, row_normalized, scaled
from .errors import DataError, short
from .fitting import fit_array, fit_matrix, fit_table
from .recipes import Number, Recipe

# The same as in train/protocol.py, which imports no numpy.
Scale = Literal["auto", "none", "standard", "rows"]
Features: TypeAlias = csr_matrix | np.ndarray | Table

# Columns are named one by one up to this number.
_NAMED = 8
_MAX_WIDTH = 2**31 - 1


@dataclass(frozen=True)
class Preprocessing:
    """What is done with each column of the features. It is fitted on one graph and applied to any with these columns.

    Args:
        scale: how columns of numbers are treated. `"auto"`: standardised, unless they are of a size that networks take,
            or 0 and 1, or mostly zeros. `"standard"`: all standardised. `"none"`: as they are. `"rows"`: as they are,
            and then each row divided by the sum of its absolute values. Categories always get one column per value,
            and missing numbers always become the mean, because a network takes nothing else.
        width: number of columns of the features.
        recipes: what is done with a column, by its position. Columns that are not named are left as they are.
        names: of the columns, if they have some.
        left_out: names of columns of free text that are not used.
        dates: names of columns of dates; None in runs of older versions.

    >>> table = Table.of({"income": [20_000, 45_000, 31_000], "city": ["Bonn", "Ulm", "Bonn"]})
    >>> preprocessing = Preprocessing.fit(table)
    >>> preprocessing.describe()
    'income: standardised, city: 2 categories'
    >>> preprocessing.apply(table)[:, 1:].tolist()  # Bonn, Ulm, any other
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """

    scale: Scale
    width: int
    recipes: Mapping[int, Recipe] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    dates: tuple[str, ...] | None = None

    @classmethod
    def fit(cls, features: Features, scale: Scale = "auto", names: Sequence[str] | None = None) -> Preprocessing:
        """Choose a recipe for each column by its values. Labels play no role.

        Args:
            features: of a `Graph`.
            scale: see above.
            names: of the columns of an array or a matrix, for messages.
        """
        if scale not in get_args(Scale):
            raise ValueError(f"scale={scale!r} is unknown: choose one of {', '.join(get_args(Scale))}")
        if isinstance(features, Table):
            found = fit_table(features, scale)
            dates = tuple(column.name for column in features.columns if column.kind == "date")
            return cls(scale, features.shape[1], found, features.names, features.left_out, dates)
        found = fit_matrix(features, scale) if isinstance(features, csr_matrix) else fit_array(features, scale)
        return cls(scale, features.shape[1], found, None if names is None else tuple(names))

    @property
    def num_outputs(self) -> int:
        """Number of columns after it was applied."""
        return self.width + sum(recipe.width - 1 for recipe in self.recipes.values())

    @property
    def output_names(self) -> list[str]:
        """What each of the `num_outputs` columns is, such as `income` and `city = Bonn`."""
        return [f"{name}{part}" for name, recipe in self._each() for part in recipe.parts]

    @property
    def changes(self) -> bool:
        """Whether it does anything to features without missing values."""
        return self.scale == "rows" or not all(recipe.is_left for recipe in self.recipes.values())

    @property
    def digest(self) -> str | None:
        """A digest of what is done, None if that is nothing."""
        if not self.changes:
            return None
        done = {name: value for name, value in self.to_json().items() if name != "dates"}  # they change no number
        return hashlib.sha256(json.dumps(done, sort_keys=True).encode()).hexdigest()

    def apply(self, features: Features) -> csr_matrix | np.ndarray:
        """The features `[N, width]` as numbers: float32 `[N, num_outputs]`, as a `csr_matrix` if most are zero.

        The columns of a table are found by their names. Those of an array are in the order of `fit`.
        """
        if isinstance(features, Table) and self.names is not None:
            features = features.select(self.names)
            self._check_dates(features)
        if features.shape[1] != self.width:
            raise DataError(f"the features have {features.shape[1]} columns, expected {self.width}")
        numbers = self._as_they_are(features)
        if numbers is None:
            numbers = encoded(features, list(self._each()))
        return row_normalized(numbers) if self.scale == "rows" else numbers

    def _check_dates(self, table: Table) -> None:
        """Raise DataError if a column of dates holds something else here, or a column of numbers holds dates."""
        for at, column in enumerate(table.columns if self.dates is not None else ()):
            wanted, found = column.name in (self.dates or ()), column.kind == "date"
            if wanted == found or column.is_empty or not isinstance(self.recipes.get(at), Number):
                continue
            where = f"the column {short(column.name)!r}"
            if found:
                raise DataError(f"{where} holds dates, but none in the graph of training: give what it held there")
            node, text = column.first_odd(lambda text: days(text) is not None)
            raise DataError(
                f"{where} must hold dates such as 2026-05-31, as in training, but node {node} has {short(text)!r}: "
                "correct it, or leave it empty if it is unknown"
            )

    def _as_they_are(self, features: Features) -> csr_matrix | np.ndarray | None:
        """The features without a change of their zeros, if they can be had so."""
        if isinstance(features, Table):
            return None
        if isinstance(features, csr_matrix):
            if not all(recipe.keeps_zeros for recipe in self.recipes.values()):
                return None
            spreads = {at: recipe.spread for at, recipe in self.recipes.items() if isinstance(recipe, Number)}
            spreads = {at: spread for at, spread in spreads.items() if spread != 1}
            return scaled(features, spreads) if spreads else features
        if not all(recipe.is_left and not recipe.indicator for recipe in self.recipes.values()):
            return None
        if np.isnan(features).any():
            return None
        features = features.astype(np.float32, copy=False)
        return csr_matrix(features) if is_sparse(int(np.count_nonzero(features)), features.size) else features

    def _each(self) -> Iterator[tuple[str, Recipe]]:
        for at in range(self.width):
            yield self._name(at), self.recipes.get(at, _LEFT)

    def _name(self, at: int) -> str:
        return f"column {at}" if self.names is None else self.names[at]

    def describe(self) -> str:
        """What is done, in one line; empty if nothing is done.

        >>> Preprocessing.fit(np.array([[20_000.0, 1], [45_000, 0]])).describe()
        'column 0: standardised, column 1: as it is'
        """
        if self.scale == "rows" and not any(recipe.kind == "category" for recipe in self.recipes.values()):
            done = ["each row divided by its sum"]
        elif not self.changes and not self.left_out and self.num_outputs == self.width:  # no missing values are marked
            return ""
        elif self.width + len(self.left_out) <= _NAMED:
            done = [f"{short(name, 30)}: {recipe.words}" for name, recipe in self._each()]
            return ", ".join([*done, *(f"{short(name, 30)}: left out (text)" for name in self.left_out)])
        else:
            done = [f"{self.width} columns: {', '.join(self._counts())}"]
        if self.left_out:
            done.append(f"{len(self.left_out)} of text left out ({short(', '.join(self.left_out))})")
        return ", ".join(done)

    def _counts(self) -> list[str]:
        found = list(self.recipes.values())
        left = self.width - len(found) + sum(recipe.is_left for recipe in found)
        numbers = [recipe for recipe in found if isinstance(recipe, Number) and not recipe.is_left]
        counts = {
            "standardised": sum(recipe.center != 0 for recipe in numbers),
            "scaled": sum(recipe.center == 0 for recipe in numbers),
            "left as they are": left,
            "of categories": sum(recipe.kind == "category" for recipe in found),
            "constant": sum(recipe.kind == "constant" for recipe in found),
            "with missing values marked": sum(recipe.indicator for recipe in found),
        }
        return [f"{count} {words}" for words, count in counts.items() if count]

    def to_json(self) -> dict[str, Any]:
        """Everything about it, as JSON takes it."""
        return {
            "scale": self.scale,
            "width": self.width,
            "recipes": [{"column": at, **recipes.to_json(recipe)} for at, recipe in sorted(self.recipes.items())],
            "names": None if self.names is None else list(self.names),
            "left_out": list(self.left_out),
            **({} if self.dates is None else {"dates": list(self.dates)}),
        }

    @classmethod
    def from_json(cls, values: Any) -> Preprocessing:
        """Read what `to_json` wrote. Anything else raises a `DataError`."""
        needed = {"scale", "width", "recipes", "names", "left_out"}
        if not isinstance(values, dict) or values.keys() - {"dates"} != needed:
            raise DataError(f"preprocessing must be an object of its fields, got {short(values)}")
        scale, width, names = values["scale"], values["width"], values["names"]
        if scale not in get_args(Scale):
            raise DataError(f"preprocessing: scale must be one of {', '.join(get_args(Scale))}, got {short(scale)}")
        if isinstance(width, bool) or not isinstance(width, int) or not 0 < width <= _MAX_WIDTH:
            raise DataError(f"preprocessing: width must be a number of columns, got {short(width)}")
        if names is not None and (not _is_texts(names) or len(names) != width or len(set(names)) != width):
            raise DataError(f"preprocessing: names must be {width} different texts or null, got {short(names)}")
        if not _is_texts(values["left_out"]):
            raise DataError(f"preprocessing: left_out must be a list of texts, got {short(values['left_out'])}")
        dates = values.get("dates")
        if dates is not None and not _is_texts(dates):
            raise DataError(f"preprocessing: dates must be a list of texts, got {short(dates)}")
        if not isinstance(values["recipes"], list):
            raise DataError(f"preprocessing: recipes must be a list, got {short(values['recipes'])}")
        found: dict[int, Recipe] = {}
        for entry in values["recipes"]:
            at = entry.get("column") if isinstance(entry, dict) else None
            if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < width or at in found:
                raise DataError(f"preprocessing: recipes must be for different columns of {width}, got {short(entry)}")
            own = {name: value for name, value in entry.items() if name != "column"}
            found[at] = recipes.from_json(own, f"preprocessing: the recipe of column {at}")
        return cls(
            scale,
            width,
            found,
            None if names is None else tuple(names),
            tuple(values["left_out"]),
            None if dates is None else tuple(dates),
        )


_LEFT = Number()


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
