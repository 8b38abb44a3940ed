"""Reader for a folder with several graphs that have a label each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from .csv_file import CsvFile
from .errors import DataError, short
from .graph import Graph
from .join import join
from .nodes import NodeRows, choose_labels

LIST_FILE = "graphs.csv"


def read_graph_folder(
    folder: Path, directed: bool, label: str | Sequence[str] | None, read: Callable[[Path, bool], Graph]
) -> Graph:
    """Read the graphs that `graphs.csv` (`graph[,label][,split]`) names: `.npz` files or folders below this one.

    `read` reads one of them. Labels of their nodes are not looked at.
    """
    table = CsvFile(folder / LIST_FILE, ("graph",))
    columns = choose_labels([c for c in table.columns if c != "graph"], label, table.path)
    if columns is None:
        raise DataError(f"{table.path}, line 1: there is no column 'label': rename the one with the labels, or name it")
    place = [table.columns.index(column) for column in columns]
    name, split = table.columns.index("graph"), table.position("split")
    rows, graphs = NodeRows(columns), []
    for line, row in table:
        text = row[name].strip()
        if text in rows.number:
            raise table.error(line, f"the graph {short(text)!r} is there twice: name each graph once")
        try:
            rows.add(text, (row[one] for one in place), "" if split is None else row[split])
        except ValueError as error:
            raise table.error(line, str(error).replace("node", "graph")) from None
        graphs.append(read(_inside(folder, text, table, line), directed))
    if not graphs:
        raise DataError(f"{table.path} names no graphs: add a line for each")
    found = rows.nodes(np.zeros((len(graphs), 1)), ["none"])
    return join(graphs, found.labels, folder.resolve().name, found.masks, list(rows.number))


def _inside(folder: Path, text: str, table: CsvFile, line: int) -> Path:
    """The path of a graph, which must not lead out of the folder."""
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise table.error(line, f"the graph {short(text)!r} must be a file or folder below {folder}")
    return folder / path
