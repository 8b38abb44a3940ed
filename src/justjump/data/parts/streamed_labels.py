"""Labels and roles of nodes in tables that are streamed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from ..cells import MANY_NUMBERS
from ..errors import DataError
from ..faults import AMBIGUOUS, RowError, no_number, no_role
from ..frames import text_of
from ..labels import Labels, check_labels
from ..masks import Masks
from ..nodes import ROLE_NUMBERS, choose_labels, guess_label, is_likely, label_number, labels_of, labels_of_columns
from .source import TableSource
from .streamed_columns import encoded_texts, read_column, texts_of


def label_columns(nodes: TableSource, wanted: str | Sequence[str] | None) -> list[str]:
    """The columns with the labels, by their names or, if these do not tell, by their values."""
    found = choose_labels(list(nodes.columns), wanted, nodes.path)
    if found is not None:
        return found
    is_text = {}
    for name in filter(is_likely, nodes.columns):
        column = read_column(nodes, name)
        is_text[name] = column is None or column.kind in ("category", "boolean")
    return guess_label(is_text, nodes.path)


def read_labels(nodes: TableSource, columns: Sequence[str]) -> Labels:
    """Labels of all nodes, found as `read_graph` finds them."""
    if not columns:
        return Labels(np.full(nodes.num_rows, -1), (), "multiclass")
    one = _read_one(nodes, columns[0]) if len(columns) == 1 else None
    several = [] if one is not None else [_read_numbers(nodes, name) for name in columns]
    try:
        return check_labels(one or labels_of_columns(np.stack(several, axis=1), columns), nodes.num_rows)
    except DataError as error:
        raise DataError(f"{nodes.path}: {error}") from None


def _read_one(nodes: TableSource, name: str) -> Labels:
    """One column: classes by their texts, unless there are many numbers with fractions."""
    column = None
    with suppress(DataError):  # a text among numbers may be the name of a class
        column = read_column(nodes, name)
    if column is not None and column.kind == "number":
        different = np.unique(column.values[~np.isnan(column.values)])
        if len(different) > MANY_NUMBERS and not (different == np.floor(different)).all():
            return Labels(column.values[:, None], (name,), "regression")
    place: dict[str, int] = {}
    codes = np.empty(nodes.num_rows, np.int32)
    for first, array in nodes.column(name):
        local, texts = _label_texts(array)
        codes[first : first + len(local)] = np.array([place.setdefault(text, len(place)) for text in texts], np.int32)[
            local
        ]
    if "-1" in place:
        row = int(np.flatnonzero(codes == place["-1"])[0])
        raise nodes.rows.error(row, AMBIGUOUS)
    try:
        few = labels_of(list(place), name)  # the number of each different text
    except RowError as error:
        raise nodes.rows.error(int(np.flatnonzero(codes == error.row)[0]), error.problem) from None
    return Labels(few.values[codes], few.names, few.task)


def _label_texts(array: object) -> tuple[np.ndarray, list[str]]:
    """Positions of labels among the different ones, and the texts of these."""
    import pyarrow as pa

    kind = array.type  # type: ignore[attr-defined]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return encoded_texts(texts_of(array))
    found = array.dictionary_encode(null_encoding="encode")  # type: ignore[attr-defined]
    return found.indices.to_numpy(), [text_of(value) for value in found.dictionary.to_pylist()]


def _read_numbers(nodes: TableSource, name: str) -> np.ndarray:
    """One of several columns of labels: numbers, NaN where unknown."""
    values = np.empty(nodes.num_rows)
    for first, array in nodes.column(name):
        local, texts = _label_texts(array)
        numbers = [label_number(text) for text in texts]
        if None in numbers:
            at = numbers.index(None)
            row = first + int(np.flatnonzero(local == at)[0])
            raise nodes.rows.error(row, no_number(name, texts[at]))
        values[first : first + len(local)] = np.array(numbers, np.float64)[local]
    return values


def read_roles(nodes: TableSource) -> Masks | None:
    """Which nodes are for training, validation and test, by the column `split`; None without one."""
    if "split" not in nodes.columns:
        return None
    role = np.full(nodes.num_rows, -1, np.int8)
    for first, array in nodes.column("split"):
        local, texts = encoded_texts(texts_of(array))
        for place, text in enumerate(texts):
            if text.lower() not in ROLE_NUMBERS:
                row = first + int(np.flatnonzero(local == place)[0])
                raise nodes.rows.error(row, no_role("split", text.lower()))
        role[first : first + len(local)] = np.array([ROLE_NUMBERS[text.lower()] for text in texts], np.int8)[local]
    return (role == 0, role == 1, role == 2) if (role >= 0).any() else None
