"""Columns of tables that are streamed, read one at a time, or some rows of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..cells import BOOLEANS, MISSING, CellSniffer, Kind, days, number
from ..columns import Column, cell_text
from ..errors import DataError, short
from ..faults import RowError, odd_cell
from .source import TableSource

# A column of more different texts is free text, however many rows it has: they are kept in memory.
MOST_TEXTS = 2**20
_DAY = 86_400_000_000  # microseconds


def read_column(source: TableSource, name: str) -> Column | None:
    """A whole column, or None if it holds free text. Its kind is found as `Table.of` and `read_graph` find it."""
    try:
        return _read_column(source, name)
    except RowError as error:
        raise source.rows.error(error.row, error.problem) from None
    except DataError as error:
        raise DataError(f"{source.path}: {error}") from None


def _read_column(source: TableSource, name: str) -> Column | None:
    import pyarrow as pa

    if pa.types.is_nested(source.columns[name]):
        return None
    kind = _kind_by_type(source.columns[name])
    if kind is not None:
        return _collected(source, name, kind)
    guesses: tuple[Kind, ...] = ("number", "date")
    for guess in guesses:
        try:
            return _collected(source, name, guess)
        except _OtherKindError:
            pass
    return _read_texts(source, name)


def _kind_by_type(arrow_type: Any) -> Kind | None:
    """The kind of a column whose type says it; None for texts."""
    import pyarrow as pa

    types = pa.types
    if types.is_boolean(arrow_type):
        return "boolean"
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return "date"
    is_text = types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_null(arrow_type)
    return None if is_text or types.is_dictionary(arrow_type) or types.is_binary(arrow_type) else "number"


def _collected(source: TableSource, name: str, kind: Kind) -> Column:
    values = np.empty(source.num_rows, np.int32 if kind == "boolean" else np.float64)
    texts: Sequence[str] = ()
    for first, array in source.column(name):
        part, texts = _values(name, kind, array)
        values[first : first + len(part)] = part
    return Column(name, kind, values, tuple(texts))


class _OtherKindError(Exception):
    """A cell shows that the column is of another kind."""


def column_of_batch(name: str, kind: Kind, array: Any) -> Column:
    """Some rows of a column whose kind is known."""
    values, texts = _values(name, kind, array)
    return Column(name, kind, values, tuple(texts))


def weights_of_batch(array: Any) -> np.ndarray:
    """Weights of some rows: float64 `[k]`, NaN for what is no number."""
    try:
        return _values("weight", "number", array)[0]
    except _OtherKindError:
        return np.array([number(cell_text(value)) for value in array.to_pylist()])


def _values(name: str, kind: Kind, array: Any) -> tuple[np.ndarray, Sequence[str]]:
    """Values and texts of a `Column`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if _kind_by_type(array.type) is None:
        return _values_of_texts(kind, texts_of(array))
    if kind == "boolean":
        return pc.fill_null(array.cast(pa.int32()), -1).to_numpy(zero_copy_only=False), ("false", "true")
    try:
        if kind == "date":
            return _floats(array.cast(pa.timestamp("us"), safe=False).cast(pa.int64())) / _DAY, ()
        if pa.types.is_duration(array.type):
            return _floats(array.cast(pa.duration("us"), safe=False).cast(pa.int64())) / _DAY, ()
        return _floats(array), ()
    except pa.ArrowException:
        raise DataError(
            f"the column {short(name)!r} must hold numbers, texts, booleans or dates, got {array.type}"
        ) from None


def _floats(array: Any) -> np.ndarray:
    """float64 `[k]`, NaN for null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: np.ndarray = pc.fill_null(array.cast(pa.float64(), safe=False), np.nan).to_numpy(zero_copy_only=False)
    return found


def texts_of(array: Any) -> Any:
    """Cells as texts without spaces around them; null is empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.utf8_trim_whitespace(pc.fill_null(array.cast(pa.large_string()), ""))


def encoded_texts(texts: Any) -> tuple[np.ndarray, list[str]]:
    """Positions `[k]` of texts among the different ones, and these."""
    found = texts.dictionary_encode()
    return found.indices.to_numpy(), found.dictionary.to_pylist()


def _values_of_texts(kind: Kind, texts: Any) -> tuple[np.ndarray, Sequence[str]]:
    import pyarrow as pa

    if kind == "number":
        try:
            return texts.cast(pa.float64()).to_numpy(), ()
        except pa.ArrowException:  # some cells are missing, or no numbers
            pass
    codes, different = encoded_texts(texts)
    if kind in ("number", "date"):
        return np.array([_value(text, kind) for text in different], np.float64)[codes], ()
    places, kept = _kept(kind, different)
    return places[codes], kept


def _value(text: str, kind: Kind) -> float:
    """A number or the days of a date, NaN if it is missing."""
    if kind == "date":
        found = days(text)
        if found is not None:
            return found
    else:
        try:
            return float(text)
        except ValueError:
            pass
    if text.lower() in MISSING:
        return float("nan")
    raise _OtherKindError


def _kept(kind: Kind, texts: Iterable[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """For each text its place among the sorted ones that are not missing, -1 if it is missing; and these."""
    texts = list(texts)
    kept = sorted(text for text in texts if text and (kind != "boolean" or text.lower() in BOOLEANS))
    place = {text: at for at, text in enumerate(kept)}
    return np.array([place.get(text, -1) for text in texts], np.int32), tuple(kept)


def _read_texts(source: TableSource, name: str) -> Column | None:
    """A category, a column of booleans, or None for free text."""
    codes, place, counts = np.empty(source.num_rows, np.int32), dict[str, int](), np.zeros(0, np.int64)
    for first, array in source.column(name):
        local, texts = encoded_texts(texts_of(array))
        codes[first : first + len(local)] = np.array([place.setdefault(text, len(place)) for text in texts], np.int32)[
            local
        ]
        if len(place) > MOST_TEXTS:
            return None
        counts = np.concatenate([counts, np.zeros(len(place) - len(counts), np.int64)])
        counts += np.bincount(codes[first : first + len(local)], minlength=len(place))
    sniffer = CellSniffer()
    for text, at in place.items():
        sniffer.add(text, int(counts[at]))
    if (odd := sniffer.odd()) is not None:
        _, wrong, wanted = odd
        raise RowError(int(np.flatnonzero(codes == place[wrong])[0]), odd_cell(name, wrong, wanted))
    kind = sniffer.kind()
    if kind == "text":
        return None
    assert kind in ("boolean", "category")
    places, kept = _kept(kind, place)
    return Column(name, kind, places[codes], kept)
