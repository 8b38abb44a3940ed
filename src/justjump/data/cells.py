"""What the texts in the cells of a column are, and their values."""

from __future__ import annotations

import re
from array import array
from datetime import datetime, timezone
from typing import Literal

import numpy as np

Kind = Literal["number", "boolean", "date", "category"]

BOOLEANS = {"false": False, "no": False, "true": True, "yes": True}
# What programs write where a number is unknown. In a column of categories, only the empty cell is missing.
MISSING = frozenset({"", "?", "#n/a", "<na>", "n/a", "na", "nan", "nat", "none", "null"})
# A column of texts is free text if it has more different values than this, and most cells differ, or if one is long.
MAX_VALUES = 50
MAX_LENGTH = 200
# A column of at least so many different numbers, and of this share of numbers, is one of numbers: a text is a mistake.
MANY_NUMBERS = 20
MOSTLY = 0.8
# The same for dates, which are codes of nothing: a few of them are enough.
SOME_DATES = 5

_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class CellSniffer:
    """Sees the cells of a column one by one, and says what kind of column they make.

    >>> sniffer = CellSniffer()
    >>> for cell in ("1.5", "", "-2e3"):
    ...     sniffer.add(cell)
    >>> sniffer.kind()
    'number'
    """

    def __init__(self) -> None:
        self.cells = 0
        self.numbers = 0
        self.booleans = 0
        self.dates = 0
        self.others = 0  # neither a number nor missing
        self.is_plain = True  # all cells are numbers that float32 takes
        self._first_other: tuple[int, str] | None = None  # the number of the cell and its text
        self._first_undated: tuple[int, str] | None = None  # neither a date nor missing
        self._different: set[str] = set()
        self._different_numbers: set[float] = set()
        self._is_long = False

    def add(self, cell: str, times: int = 1) -> None:
        """See a cell, which may be there several times."""
        self.cells += times
        try:
            number = float(cell)
        except ValueError:
            self.is_plain = False
            self._add_text(cell.strip(), times)
            return
        if number == number:
            self.numbers += times
            self._note_undated(cell, times)
            self.is_plain = self.is_plain and abs(number) <= _FLOAT32
            if len(self._different_numbers) <= MANY_NUMBERS:
                self._different_numbers.add(number)
        else:
            self.is_plain = False

    def _add_text(self, text: str, times: int) -> None:
        lower = text.lower() if len(text) < 10 else text
        if lower in MISSING:
            return
        if self._first_other is None:
            self._first_other = self.cells - times, text
        self.others += times
        if len(text) > MAX_LENGTH:
            self._is_long = True
            self._different.clear()
        if self._is_long:
            self._note_undated(text, times)
            return
        self._different.add(text)
        if days(text) is not None:
            self.dates += times
            return
        self._note_undated(text, times)
        self.booleans += times * (lower in BOOLEANS)

    def _note_undated(self, text: str, times: int) -> None:
        if self._first_undated is None:
            self._first_undated = self.cells - times, text

    def kind(self) -> Kind | Literal["text"]:
        """The kind of the column; `"text"` if it holds free text."""
        if not self.others:
            return "number"
        if not self.numbers:
            if self.booleans == self.others:
                return "boolean"
            if self.dates == self.others:
                return "date"
        many = len(self._different) > MAX_VALUES and len(self._different) > self.others / 2
        return "text" if self._is_long or many else "category"

    def odd(self) -> tuple[int, str, str] | None:
        """The first cell that is none, if nearly all others are numbers or dates: likely a mistake.

        Returns:
            the number of the cell, its text, and what the others are

        >>> sniffer = CellSniffer()
        >>> for cell in ("2026-01-30", "2026-02-30", "2026-03-30", "2026-04-30", "2026-05-30", "2026-06-30"):
        ...     sniffer.add(cell)
        >>> sniffer.odd()
        (1, '2026-02-30', 'date')
        """
        known = self.numbers + self.others
        is_numeric = self.numbers >= MOSTLY * known and len(self._different_numbers) > MANY_NUMBERS
        if is_numeric and self._first_other is not None:
            return *self._first_other, "number"
        is_dated = self.dates >= MOSTLY * known and self.dates >= SOME_DATES
        return (*self._first_undated, "date") if is_dated and self._first_undated is not None else None


_FLOAT32 = float(np.finfo(np.float32).max)


class CellReader:
    """Collects the values of the cells of a column whose kind is known."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._numbers = array("d")
        self._codes = array("i")
        self._code: dict[str, int] = {}

    def add(self, cell: str) -> None:
        if self.kind == "number":
            self._numbers.append(number(cell))
            return
        text = cell.strip()
        if self.kind == "date":
            found = days(text)
            self._numbers.append(float("nan") if found is None else found)
        elif not text or (self.kind == "boolean" and text.lower() not in BOOLEANS):
            self._codes.append(-1)
        else:
            self._codes.append(self._code.setdefault(text, len(self._code)))

    def values(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """Values and texts of a `Column`. The texts are sorted, so they do not depend on the order of the rows."""
        if self.kind in ("number", "date"):
            return np.array(self._numbers, dtype=np.float64), ()
        texts = sorted(self._code)
        place = np.full(len(texts) + 1, -1, dtype=np.int32)
        for position, text in enumerate(texts):
            place[self._code[text]] = position
        return place[np.array(self._codes, dtype=np.int32)], tuple(texts)


def number(text: str) -> float:
    """A number, or NaN."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def days(text: str) -> float | None:
    """Days since 1970 of a date, with or without a time, as ISO 8601 writes it; a time without a zone counts as UTC.

    >>> days("1970-01-02"), days("1970-01-01T12:00:00Z"), days("2 May")
    (1.0, 0.5, None)
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:  # a 30th of February
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    return (moment - _EPOCH).total_seconds() / 86400
