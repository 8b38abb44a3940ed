"""Graphs from two tables in memory: pandas data frames, or what has columns by name like them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from justjump.warn import warn

from .cells import number
from .columns import Column, Table, cell_text, column_of
from .errors import DataError, DataWarning
from .faults import (
    RowError,
    Rows,
    bad_weight,
    ignored_columns,
    no_column,
    no_features,
    no_rows,
    same_id,
    two_columns,
    two_weights,
    unknown_end,
)
from .nodes import NodeRows, Nodes, choose_labels, compact, guess_label
from .sparse import WeightConflictError, simplify

_FLOAT32 = float(np.finfo(np.float32).max)


Found = dict[str, "Column | None"]  # the columns of a frame by their names; None is free text


def columns_of_frames(frames: Sequence[Any], places: Sequence[str]) -> list[Found]:
    """The columns that all of several frames have, of the same kinds in all: these are found from all together."""
    first = [0, *accumulate(len(frame) for frame in frames)]
    named = [_names(frame, where) for frame, where in zip(frames, places, strict=True)]
    found: list[Found] = [{} for _ in frames]
    for name in named[0]:
        if not all(name in columns for columns in named):
            continue
        arrays = [np.asarray(columns[name]) for columns in named]
        if len({array.dtype.kind for array in arrays}) > 1:
            arrays = [_cells(array) for array in arrays]
        try:
            whole = column_of(name, np.concatenate(arrays))
        except RowError as error:
            at = bisect_right(first, error.row) - 1
            raise Rows(places[at]).error(error.row - first[at], error.problem) from None
        for one, bounds in zip(found, pairwise(first), strict=True):
            one[name] = None if whole is None else whole.take(np.arange(*bounds))
    return found


def _cells(array: np.ndarray) -> np.ndarray:
    """Values of any type as the texts of cells."""
    texts = np.datetime_as_string(array, unit="s") if array.dtype.kind == "M" else array
    return np.array([cell_text(value) for value in texts], dtype=object)


def nodes_of_frame(
    frame: Any,
    identity: str | None,
    label: str | Sequence[str] | None,
    split: str | None,
    where: str,
    found: Found | None = None,
) -> Nodes:
    """The nodes in a data frame.

    Args:
        frame: a row per node.
        identity: the column with the ids; by default `id`, or else the index.
        label: one or more columns; by default `label`, or else a column of texts that is called like a label.
        split: the column with the roles; by default `split`, if there is one.
        where: what messages call the frame.
        found: columns whose kinds are known.
    """
    columns = _names(frame, where)
    _check(identity, columns, where, "id")
    _check(split, columns, where, "split")
    identity = identity or ("id" if "id" in columns else None)
    split = split or ("split" if "split" in columns else None)
    labels = choose_labels(list(columns), label, where)
    others = {identity, split, *(labels or [])}
    chosen = [column for column in columns if column not in others]
    place = Rows(where)
    try:
        known = found or {}
        made = {name: known[name] if name in known else column_of(name, columns[name]) for name in chosen}
    except RowError as error:
        raise place.error(error.row, error.problem) from None
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    if labels is None:
        is_text = {name: column is None or column.kind in ("category", "boolean") for name, column in made.items()}
        labels = guess_label(is_text, where)
    kept = [column for name, column in made.items() if column is not None and name not in labels]
    left_out = tuple(name for name, column in made.items() if column is None and name not in labels)
    if not len(frame):
        raise no_rows(where)
    if not kept and not left_out:
        raise no_features(where, columns)

    rows = NodeRows(labels, split or "split")
    ids = [text_of(value) for value in (frame.index if identity is None else columns[identity])]
    texts = [[text_of(value) for value in columns[column]] for column in labels]
    roles = [""] * len(ids) if split is None else [cell_text(value) for value in columns[split]]
    for row, name in enumerate(ids):
        if name in rows.number:
            raise place.error(row, same_id(name, place.name(rows.number[name])))
        try:
            rows.add(name, [text[row] for text in texts], roles[row])
        except ValueError as error:
            raise place.error(row, str(error)) from None
    try:
        features = _features(kept, left_out)
        return rows.nodes(features, [column.name for column in kept], where)
    except RowError as error:
        raise place.error(error.row, error.problem) from None
    except ValueError as error:
        raise DataError(f"{where}: {error}") from None


def edges_of_frame(
    frame: Any,
    nodes: dict[str, int],
    ends: tuple[str, str],
    weight: str | None,
    directed: bool,
    where: str,
    nodes_where: str = "nodes",
) -> tuple[np.ndarray, np.ndarray | None]:
    """Edges `[2, E]` and their weights `[E]` in a data frame.

    Args:
        frame: a row per edge.
        nodes: the number of each id.
        ends: the columns with the ids of sources and targets.
        weight: the column with the weights; by default `weight`, if there is one.
        directed: whether edges lead from source to target only.
        where, nodes_where: what messages call the frame, and that of the nodes.
    """
    columns, place = _names(frame, where), Rows(where)
    for name in ends:
        _check(name, columns, where, "source" if name == ends[0] else "target")
    _check(weight, columns, where, "weight")
    weight = weight or ("weight" if "weight" in columns else None)
    ignored = [name for name in columns if name not in (*ends, weight)]
    if ignored:
        advice = "; weight=... names one with weights" if weight is None else ""
        warn(f"{where}: {ignored_columns(ignored)}{advice}", DataWarning)
    edge_index = np.empty((2, len(frame)), dtype=np.int64)
    for end, name in enumerate(ends):
        for row, value in enumerate(columns[name]):
            node = nodes.get(text_of(value))
            if node is None:
                raise place.error(row, unknown_end(("source", "target")[end], text_of(value), nodes_where))
            edge_index[end, row] = node
    weights = None if weight is None else _weights(columns[weight], place)
    try:
        return simplify(edge_index, len(nodes), weights, directed)
    except WeightConflictError as error:
        raise two_weights(place, error.first, error.second, error.weights) from None


def text_of(value: Any) -> str:
    """The text of an id or a label; whole numbers look the same whether they are integers or floats.

    >>> text_of(3.0), text_of(3), text_of(" x "), text_of(None)
    ('3', '3', 'x', '')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = cell_text(value).strip()
    return "" if isinstance(value, float | np.floating) and value != value else text


def _names(frame: Any, where: str) -> dict[str, Any]:
    """The columns of a frame by their names."""
    try:
        names = [str(name) for name in frame.columns]
        columns = {name: frame.iloc[:, place] for place, name in enumerate(names)}
    except AttributeError:
        raise TypeError(f"{where} must be a pandas DataFrame, got {type(frame).__name__}") from None
    if len(columns) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise two_columns(where, twice)
    return columns


def _check(name: str | None, columns: dict[str, Any], where: str, argument: str) -> None:
    if name is not None and name not in columns:
        raise no_column(where, name, columns, argument)


def _features(columns: list[Column], left_out: tuple[str, ...]) -> csr_matrix | np.ndarray | Table:
    """A matrix or an array of numbers alone, as from a file; otherwise a table."""
    is_plain = all(column.kind == "number" and np.abs(column.values).max() <= _FLOAT32 for column in columns)
    if not is_plain or left_out or not columns:  # NaN is not below the limit
        return Table(tuple(columns), left_out)
    return compact(csr_matrix(np.stack([column.values for column in columns], axis=1).astype(np.float32)))


def _weights(values: Any, place: Rows) -> np.ndarray:
    weights = np.asarray(values)
    if weights.dtype.kind not in "iufb":
        weights = np.array([number(cell_text(value)) for value in weights])
    weights = weights.astype(np.float64)
    good = (weights >= 0) & (weights <= _FLOAT32)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise place.error(row, bad_weight(cell_text(np.asarray(values)[row])))
    return weights
