"""Reader for `nodes.csv`."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy.sparse import csr_matrix

from .cells import CellReader, CellSniffer, Kind
from .columns import Column, Table
from .csv_file import CsvFile
from .errors import DataError, short
from .faults import RowError, no_features, no_rows, odd_cell, same_id
from .nodes import NodeRows, Nodes, choose_labels, compact, guess_label

_RESERVED = ("id", "split")


def read_nodes_csv(paths: Sequence[Path], label: str | Sequence[str] | None = None) -> list[Nodes]:
    """Read `id[,label][,split],features...` of one or several graphs.

    Features of numbers alone are a matrix, all others a `Table`. All graphs have the features of the first, in its
    order and of the same kinds.

    Most files hold numbers alone, so they are read as such first. At the first other cell, all cells of all files are
    looked at to find the kinds of the columns, and then read again.
    """
    files = [CsvFile(path, ("id",)) for path in paths]
    labels = choose_labels(list(dict.fromkeys(column for file in files for column in file.columns)), label, paths[0])
    columns = _feature_columns(files, labels or [])
    try:
        return [_read(file, labels or [], _Numbers(columns)) for file in files]
    except _NotANumberError:
        sniffers, places = _sniff(files, columns)
    if labels is None:
        is_text = {column: sniffer.kind() not in ("number", "date") for column, sniffer in sniffers.items()}
        labels = guess_label(is_text, paths[0])
        columns = _feature_columns(files, labels)
        sniffers = {column: sniffers[column] for column in columns}
    if labels and all(sniffer.is_plain for sniffer in sniffers.values()):
        return [_read(file, labels, _Numbers(columns)) for file in files]
    for column, sniffer in sniffers.items():
        if (odd := sniffer.odd()) is not None:
            row, text, wanted = odd
            file, line = _place(places, row)
            raise file.error(line, odd_cell(column, text, wanted))
    kinds: dict[str, str] = {column: sniffer.kind() for column, sniffer in sniffers.items()}
    return [_read(file, labels, _Cells(kinds)) for file in files]


def _feature_columns(files: Sequence[CsvFile], labels: Sequence[str]) -> list[str]:
    """The columns of features of the first file; the others must have the same, in any order."""
    first, *others = files
    besides = {*_RESERVED, *labels}
    chosen = [column for column in first.columns if column not in besides]
    if not chosen:
        raise no_features(first.path, first.columns)
    for file in others:
        own, wanted = {column: None for column in file.columns if column not in besides}, set(chosen)
        for column in (*own, *chosen):
            if column not in wanted or column not in own:
                here, there = (first, file) if column in wanted else (file, first)
                raise file.error(
                    1, f"the column {short(column)!r} is in {here.path}, but not in {there.path}: all graphs need it"
                )
    return chosen


_Places = list[tuple[CsvFile, "array[int]"]]  # the lines of the rows of each file


def _sniff(files: Sequence[CsvFile], columns: Sequence[str]) -> tuple[dict[str, CellSniffer], _Places]:
    sniffers = {column: CellSniffer() for column in columns}
    places: _Places = []
    for file in files:
        adders = [sniffer.add for sniffer in sniffers.values()]
        watched = list(zip(file.positions(sniffers), adders, strict=True))
        lines = array("q")
        for line, row in file:
            lines.append(line)
            for position, add in watched:
                add(row[position])
        places.append((file, lines))
    return sniffers, places


def _place(places: _Places, row: int) -> tuple[CsvFile, int]:
    """File and line of a row, counted over all files."""
    for file, lines in places:
        if row < len(lines):
            return file, lines[row]
        row -= len(lines)
    raise IndexError(row)


class _Features(Protocol):
    """Collects the features of nodes row by row."""

    columns: Sequence[str]

    def add(self, cells: list[str]) -> None: ...

    def features(self) -> csr_matrix | np.ndarray | Table: ...


def _read(file: CsvFile, labels: Sequence[str], features: _Features) -> Nodes:
    identity, split = file.position("id"), file.position("split")
    labels = [column for column in labels if file.position(column) is not None]
    label, chosen = file.positions(labels), file.positions(features.columns)
    is_contiguous = chosen == list(range(chosen[0], chosen[0] + len(chosen)))
    contiguous = slice(chosen[0], chosen[-1] + 1) if is_contiguous else None
    rows = NodeRows(labels)
    lines = array("q")
    for line, row in file:
        name = row[identity or 0].strip()
        if name in rows.number:
            raise file.error(line, same_id(name, file.rows(lines).name(rows.number[name])))
        lines.append(line)
        try:
            rows.add(name, [row[position] for position in label], "" if split is None else row[split])
            features.add(row[contiguous] if contiguous else [row[position] for position in chosen])
        except _NotANumberError:
            raise
        except ValueError as error:
            raise file.error(line, str(error)) from None
    if not lines:
        raise no_rows(file.path)
    try:
        found = features.features()
        return rows.nodes(found, found.names if isinstance(found, Table) else features.columns, file.path)
    except RowError as error:
        raise file.rows(lines).error(error.row, error.problem) from None
    except ValueError as error:
        raise DataError(f"{file.path}: {error}") from None


class _NotANumberError(Exception):
    """A cell is no finite float32 number."""


class _Numbers:
    """Features that are numbers alone, as columns and values of the non-zeros of each row."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns
        self._entries: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, cells: list[str]) -> None:
        try:
            numbers = list(map(float, cells))
        except ValueError:
            raise _NotANumberError from None
        with np.errstate(over="ignore"):  # values that overflow become inf
            values = np.array(numbers, dtype=np.float32)
        if not np.isfinite(values).all():
            raise _NotANumberError
        indices = np.flatnonzero(values)
        self._entries.append((indices.astype(np.int32), values[indices]))

    def features(self) -> csr_matrix | np.ndarray:
        counts = [len(indices) for indices, _ in self._entries]
        indices = np.concatenate([indices for indices, _ in self._entries])
        values = np.concatenate([values for _, values in self._entries])
        shape = (len(counts), len(self.columns))
        return compact(csr_matrix((values, indices, np.cumsum([0, *counts])), shape=shape))


class _Cells:
    """Features of any kind; columns of free text are left out."""

    def __init__(self, kinds: dict[str, str]) -> None:
        self.columns: Sequence[str] = list(kinds)
        kept: dict[str, Kind] = {column: kind for column, kind in kinds.items() if kind != "text"}  # type: ignore[misc]
        self._readers = {column: CellReader(kind) for column, kind in kept.items()}
        self._places = [
            (place, self._readers[column].add) for place, column in enumerate(self.columns) if column in self._readers
        ]

    def add(self, cells: list[str]) -> None:
        for position, add in self._places:
            add(cells[position])

    def features(self) -> Table:
        columns = [Column(name, reader.kind, *reader.values()) for name, reader in self._readers.items()]
        return Table(tuple(columns), tuple(name for name in self.columns if name not in self._readers))
