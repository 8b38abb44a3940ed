"""Reader for a folder with several graphs that have a label each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from justjump.warn import warn

from .csv_file import CsvFile
from .errors import DataError, DataWarning, short
from .faults import RowError, ignored_columns
from .graph import Graph
from .join import join
from .nodes import NodeRows, choose_labels, guess_label
from .tables import read_several_tables

LIST_FILE = "graphs.csv"


def read_graph_folder(
    folder: Path, directed: bool, label: str | Sequence[str] | None, read: Callable[[Path, bool], Graph]
) -> Graph:
    """Read the graphs that `graphs.csv` (`graph[,label][,split]`) names: `.npz` files or folders below this one.

    `read` reads one of them. Labels of their nodes are not looked at.
    """
    table = CsvFile(folder / LIST_FILE, ("graph",))
    columns = _label_columns(table, label)
    place = [table.columns.index(column) for column in columns]
    name, split = table.columns.index("graph"), table.position("split")
    rows, lines = NodeRows(columns), dict[Path, int]()
    for line, row in table:
        text = row[name].strip()
        path = _inside(folder, text, table, line)
        if path in lines:
            raise table.error(line, f"the graph {short(text)!r} is there twice: name each graph once")
        try:
            rows.add(text, (row[one] for one in place), "" if split is None else row[split])
        except ValueError as error:
            raise table.error(line, str(error)) from None
        lines[path] = line
    if not lines:
        raise DataError(f"{table.path} names no graphs: add a line for each")
    graphs = _read_all(table, lines, directed, read)
    try:
        found = rows.nodes(np.zeros((len(graphs), 1)), ["none"], table.path)
        graph = join(graphs, found.labels, folder.resolve().name, found.masks, list(rows.number))
        return replace(graph, label_columns=tuple(columns) or None, masks_from=found.masks_from)
    except RowError as error:
        raise table.rows(list(lines.values())).error(error.row, error.problem) from None
    except ValueError as error:
        raise DataError(f"{table.path}: {error}") from None


def _label_columns(table: CsvFile, label: str | Sequence[str] | None) -> list[str]:
    """The columns with the labels. No other is a feature, so any that is called like a label is one."""
    names = [column for column in table.columns if column != "graph"]
    chosen = choose_labels(names, label, table.path)
    if chosen is None:
        chosen = guess_label(dict.fromkeys(names, True), table.path)
    ignored = [column for column in names if column not in ("split", *chosen)]
    if ignored:
        advice = "" if chosen else "; label=... names the one with the labels"
        warn(f"{table.path}: {ignored_columns(ignored)}{advice}", DataWarning)
    return chosen


def _read_all(
    table: CsvFile, lines: Mapping[Path, int], directed: bool, read: Callable[[Path, bool], Graph]
) -> list[Graph]:
    """The graphs in some paths. Folders with tables are read together, because their columns are of the same kinds."""
    found: dict[Path, Graph] = {}
    for path, line in lines.items():
        if not path.is_dir() or (path / LIST_FILE).exists():
            try:
                found[path] = read(path, directed)
            except DataError as error:
                raise table.error(line, str(error)) from error
    folders = [path for path in lines if path not in found]
    found |= zip(folders, read_several_tables(folders, directed), strict=True) if folders else {}
    return [found[path] for path in lines]


def _inside(folder: Path, text: str, table: CsvFile, line: int) -> Path:
    """The path of a graph, which must not lead out of the folder."""
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise table.error(line, f"the graph {short(text)!r} must be a file or folder below {folder}")
    return folder / path
