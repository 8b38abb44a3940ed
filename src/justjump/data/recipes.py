"""How one column becomes columns of numbers that a network takes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from .errors import DataError, short

# Only so many of the most frequent values of a category get a column of their own.
MAX_CATEGORIES = 100
# Standardised values stay within this limit. It is beyond sqrt(N), so no value of training reaches it.
_LIMIT = 1e6


@dataclass(frozen=True)
class Number:
    """A column of numbers as `(x - center) / spread`, within `+-limit` unless it is left as it is.

    A missing value becomes that of `fill`. With `indicator`, a second column is 1 where the value is missing.
    """

    center: float = 0.0
    spread: float = 1.0
    fill: float = 0.0
    indicator: bool = False
    limit: float = _LIMIT

    kind: ClassVar[str] = "number"

    @property
    def width(self) -> int:
        return 1 + self.indicator

    @property
    def parts(self) -> list[str]:
        """What follows the name of the column in the names of the columns that it becomes."""
        return [""] + [" is missing"] * self.indicator

    @property
    def is_left(self) -> bool:
        return self.center == 0 and self.spread == 1

    @property
    def is_plain(self) -> bool:
        """Whether it changes nothing, missing values or not."""
        return self.is_left and not self.indicator

    @property
    def keeps_zeros(self) -> bool:
        return self.center == 0 and not self.indicator

    @property
    def words(self) -> str:
        done = "as it is" if self.is_left else "standardised" if self.center else "scaled"
        cut = ["outliers cut"] if self.limit < _LIMIT else []
        more = cut + ["missing values marked"] * self.indicator
        return done + (f" ({', '.join(more)})" if more else "")

    def numbers(self, x: np.ndarray) -> np.ndarray:
        """The first column: float64 `[N]`, NaN where missing -> `[N]`."""
        x = np.where(np.isnan(x), self.fill, x)
        if self.is_left:
            return x
        with np.errstate(over="ignore"):  # halves: the difference of two large numbers does not overflow
            return np.clip((x / 2 - self.center / 2) / (self.spread / 2), -self.limit, self.limit)


@dataclass(frozen=True)
class Category:
    """One column for each of `values`, one for all others and, with `indicator`, one for missing values."""

    values: tuple[str, ...]
    indicator: bool = False

    kind: ClassVar[str] = "category"
    is_left: ClassVar[bool] = False
    keeps_zeros: ClassVar[bool] = False

    @property
    def width(self) -> int:
        return len(self.values) + 1 + self.indicator

    @property
    def parts(self) -> list[str]:
        return [f" = {value}" for value in self.values] + [" = another"] + [" is missing"] * self.indicator

    @property
    def words(self) -> str:
        count = len(self.values)
        words = f"{count} categor{'y' if count == 1 else 'ies'}"
        return words + (" (missing values marked)" if self.indicator else "")


@dataclass(frozen=True)
class Constant:
    """A column of zeros, for a column that says nothing: all its values were equal or missing."""

    kind: ClassVar[str] = "constant"
    is_left: ClassVar[bool] = False
    keeps_zeros: ClassVar[bool] = True
    width: ClassVar[int] = 1
    parts: ClassVar[tuple[str, ...]] = ("",)
    indicator: ClassVar[bool] = False
    words: ClassVar[str] = "ignored (all equal or missing)"


Recipe = Number | Category | Constant


def to_json(recipe: Recipe) -> dict[str, Any]:
    """A recipe as JSON takes it; numbers that have their defaults are left out."""
    values = asdict(recipe)
    if isinstance(recipe, Category):
        values["values"] = list(recipe.values)
    if isinstance(recipe, Number):
        values = {name: value for name, value in values.items() if value != getattr(Number, name)}
    return {"kind": recipe.kind, **values}


def from_json(values: Any, what: str) -> Recipe:
    """The recipe in a JSON value that may hold anything; DataError if it is none. `what` names it in the message."""
    if not isinstance(values, dict):
        raise DataError(f"{what} must be an object, got {short(values)}")
    own = {name: value for name, value in values.items() if name != "kind"}
    if values.get("kind") == "number":
        return Number(**_checked_numbers(own, what))
    if values.get("kind") == "category" and own.keys() == {"values", "indicator"}:
        texts = own["values"]
        if not isinstance(texts, list) or not 0 < len(texts) <= MAX_CATEGORIES:
            raise DataError(f"{what} must have 1 to {MAX_CATEGORIES} values, got {short(texts)}")
        if not all(isinstance(text, str) for text in texts) or max(Counter(texts).values()) > 1:
            raise DataError(f"{what} must have different texts as values, got {short(texts)}")
        if not isinstance(own["indicator"], bool):
            raise DataError(f"{what}: indicator must be true or false, got {short(own['indicator'])}")
        return Category(tuple(texts), own["indicator"])
    if values == {"kind": "constant"}:
        return Constant()
    raise DataError(f"{what} must be a number, a category or a constant, got {short(values)}")


def _checked_numbers(own: dict[str, Any], what: str) -> dict[str, Any]:
    unknown = own.keys() - {"center", "spread", "fill", "indicator", "limit"}
    if unknown:
        raise DataError(f"{what} has {short(min(unknown))!r}, which no number has")
    for name, value in own.items():
        if name == "indicator":
            if not isinstance(value, bool):
                raise DataError(f"{what}: indicator must be true or false, got {short(value)}")
        elif isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
            raise DataError(f"{what}: {name} must be a finite number, got {short(value)}")
        elif name in ("spread", "limit") and not value > 0:
            raise DataError(f"{what}: {name} must be positive, got {short(value)}")
    return {name: value if name == "indicator" else float(value) for name, value in own.items()}


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond float64
        return False
