"""Columns as people have them: numbers, categories, booleans and dates, with missing values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .cells import BOOLEANS, CellReader, CellSniffer, Kind, number
from .errors import DataError, short
from .faults import RowError, not_finite, odd_cell

_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Args:
        name: its name in the file or frame that it comes from.
        kind: `"number"`, `"date"` (days since 1970), `"boolean"` or `"category"`.
        values: `[N]`. Numbers and dates are float64, with NaN for missing. Booleans and categories are int32 positions
            in `texts`, with -1 for missing.
        texts: the different texts of a boolean or a category.
    """

    name: str
    kind: Kind
    values: np.ndarray
    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", tuple(self.texts))
        is_coded = self.kind in ("boolean", "category")
        values = np.ascontiguousarray(self.values, dtype=np.int32 if is_coded else np.float64)
        object.__setattr__(self, "values", values)
        if values.ndim != 1:
            raise DataError(f"the column {short(self.name)!r} must have one value per node, got {list(values.shape)}")
        if is_coded:
            if len(values) and not -1 <= values.min() <= values.max() < len(self.texts):
                raise DataError(f"the column {short(self.name)!r} has values that are none of its texts")
            if self.kind == "boolean" and not all(text.lower() in BOOLEANS for text in self.texts):
                raise DataError(f"the column {short(self.name)!r} is boolean, but not all its texts are true or false")
        elif np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise RowError(row, not_finite(self.name, float(values[row])))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_empty(self) -> bool:
        """Whether all values are missing."""
        return bool((self.values < 0).all() if self.values.dtype.kind == "i" else np.isnan(self.values).all())

    def numbers(self) -> np.ndarray:
        """float64 `[N]`, NaN where missing. Not for categories."""
        if self.kind in ("number", "date"):
            return self.values
        if self.kind == "category":
            node, text = self.first_odd(lambda text: text.lower() in BOOLEANS or not np.isnan(number(text)))
            raise DataError(
                f"the column {short(self.name)!r} must hold numbers, or yes and no, but node {node} has "
                f"{short(text)!r}: correct it, or leave it empty if it is unknown"
            )
        return np.array([*(float(BOOLEANS[text.lower()]) for text in self.texts), np.nan])[self.values]

    def first_odd(self, is_right: Callable[[str], bool]) -> tuple[int, str]:
        """The first node whose text is not right, and that text; of a column without any, the first that it has."""
        texts = self.texts if self.kind in ("boolean", "category") else [_text(value) for value in self.values]
        places = self.values if self.kind in ("boolean", "category") else np.arange(len(self))
        known = [(node, texts[place]) for node, place in enumerate(places) if place >= 0 and texts[place] != "nan"]
        return next((pair for pair in known if not is_right(pair[1])), next(iter(known), (0, "")))

    def positions(self, wanted: Sequence[str]) -> np.ndarray:
        """Position `[N]` of each value's text in `wanted`; -1 where it is missing, `len(wanted)` for another text."""
        place = {text: position for position, text in enumerate(wanted)}
        if self.kind in ("boolean", "category"):
            found = [place.get(text, len(wanted)) for text in self.texts]
            return np.array([*found, -1], dtype=np.int64)[self.values]
        different, back = np.unique(self.values, return_inverse=True)
        return np.array([-1 if np.isnan(x) else place.get(_text(x), len(wanted)) for x in different], np.int64)[back]

    def take(self, nodes: np.ndarray) -> Column:
        """The column of some nodes, by their numbers or by a bool array."""
        return Column(self.name, self.kind, self.values[nodes], self.texts)


def _text(number: float) -> str:
    """
    >>> _text(22.0), _text(0.5)
    ('22', '0.5')
    """
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(float(number))


@dataclass(frozen=True, eq=False)
class Table:
    """Features as columns `[N]` of several kinds, in their order.

    Args:
        columns: at least one; their names differ, and all have the same length.
        left_out: names of columns that were left out, because they hold free text.

    >>> table = Table.of({"age": [30, None, 52], "city": ["Bonn", "Bonn", "Ulm"], "member": ["yes", "no", ""]})
    >>> table
    Table(3 rows; age: number, city: category, member: boolean)
    """

    columns: tuple[Column, ...]
    left_out: tuple[str, ...] = ()
    shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "left_out", tuple(self.left_out))
        if not self.columns:
            raise DataError(no_columns(self.left_out))
        sizes = {len(column) for column in self.columns}
        if len(sizes) > 1:
            raise DataError(f"all columns must have one value per node, got {min(sizes)} and {max(sizes)} values")
        twice, count = Counter(self.names).most_common(1)[0]
        if count > 1:
            raise DataError(f"there are two columns {short(twice)!r}: rename one of them")
        object.__setattr__(self, "shape", (len(self.columns[0]), len(self.columns)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        kinds = ", ".join(f"{short(column.name, 20)}: {column.kind}" for column in self.columns[:8])
        return f"Table({len(self)} rows; {kinds}{', ...' if len(self.columns) > 8 else ''})"

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Table:
        """A table from lists or arrays by name. The values of each column decide its kind; free text is left out."""
        made = {name: column_of(name, values) for name, values in columns.items()}
        return cls(
            tuple(column for column in made.values() if column is not None),
            tuple(name for name, column in made.items() if column is None),
        )

    def select(self, names: Iterable[str]) -> Table:
        """The columns of these names, in this order."""
        place = {column.name: column for column in self.columns}
        names = list(names)
        missing = [short(name) for name in names if name not in place]
        if missing:
            raise DataError(f"the table lacks columns: {', '.join(missing[:5])}")
        return Table(tuple(place[name] for name in names))

    def take(self, nodes: np.ndarray) -> Table:
        """The rows of some nodes, by their numbers or by a bool array."""
        return Table(tuple(column.take(nodes) for column in self.columns), self.left_out)

    @staticmethod
    def concat(tables: Sequence[Table]) -> Table:
        """The rows of several tables with the same columns, one after another."""
        first = tables[0]
        columns = []
        places = [{column.name: column for column in table.columns} for table in tables]
        for name in first.names:
            parts = [place.get(name) for place in places]
            if any(part is None for part in parts):
                raise DataError(f"not all tables have the column {short(name)!r}")
            columns.append(_joined([part for part in parts if part is not None]))
        return Table(tuple(columns), tuple(dict.fromkeys(name for table in tables for name in table.left_out)))


def column_of(name: str, values: Any) -> Column | None:
    """A column from a list, an array or a pandas series, or None if it holds free text, or lists."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"the column {short(name)!r} must have one value per node, got {list(array.shape)}")
    kind = array.dtype.kind
    if kind in "iuf":
        return Column(name, "number", array)
    if kind == "b":
        return Column(name, "boolean", array, ("false", "true"))
    if kind == "M":
        return Column(name, "date", np.where(np.isnat(array), np.nan, (array - np.datetime64(0, "D")) / _DAY))
    if kind == "m":
        return Column(name, "number", np.where(np.isnat(array), np.nan, array / _DAY))
    if kind not in "OUS":
        raise DataError(f"the column {short(name)!r} must hold numbers, texts, booleans or dates, got {array.dtype}")
    if any(isinstance(value, list | tuple | dict | set | np.ndarray) for value in array):
        return None
    cells = [cell_text(value) for value in array.tolist()]
    sniffer = CellSniffer()
    for cell in cells:
        sniffer.add(cell)
    odd = sniffer.odd()
    if odd is not None:
        row, text, wanted = odd
        raise RowError(row, odd_cell(name, text, wanted))
    found = sniffer.kind()
    if found == "text":
        return None
    reader = CellReader(found)
    for cell in cells:
        reader.add(cell)
    return Column(name, found, *reader.values())


def cell_text(value: Any) -> str:
    """A value as the text of a cell; what stands for nothing in Python, numpy and pandas is empty."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _joined(parts: Sequence[Column]) -> Column:
    """A column that is empty in one table may be anything in the others; yes and no may be two values of several."""
    name, kinds = parts[0].name, {part.kind: part.kind for part in parts if not part.is_empty}
    if kinds.keys() == {"boolean", "category"}:
        del kinds["boolean"]
    if len(kinds) > 1:
        raise DataError(f"the column {short(name)!r} is a {min(kinds)} in one table and a {max(kinds)} in another")
    kind = next(iter(kinds), parts[0].kind)
    if kind in ("number", "date"):
        values = [np.full(len(part), np.nan) if part.is_empty else part.values for part in parts]
        return Column(name, kind, np.concatenate(values))
    texts = sorted({text for part in parts for text in part.texts})
    return Column(name, kind, np.concatenate([part.positions(texts) for part in parts]), tuple(texts))


def no_columns(left_out: Sequence[str]) -> str:
    """What is wrong with a table without columns."""
    if not left_out:
        return "there is no column of features: add at least one"
    return (
        f"all columns of features are free text, which is left out ({short(', '.join(left_out))}): add a column of "
        "numbers or of categories"
    )
