"""Reading a user's own graph from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .errors import DataError
from .graph import Graph
from .graph_folder import LIST_FILE, read_graph_folder
from .npz import read_npz
from .tables import read_tables


def read_graph(path: str | Path, directed: bool = False, label: str | Sequence[str] | None = None) -> Graph:
    """Read a graph from an `.npz` file, or from a folder with `nodes.csv` and `edges.csv` (or `.parquet` files).

    Unless `directed`, edges are undirected: each is used in both directions. `label` names the column of `nodes.csv`
    with the labels, or several of them; by default that is the column `label`. `docs/own-graph.md` describes the
    columns and keys. A folder with `graphs.csv`, which names such files or folders and their labels, is read as several
    whole graphs.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "nodes.csv").write_text("id,label,height\\nann,a,1.5\\nbob,b,1.8\\ncy,,1.7\\n")
    ...     _ = pathlib.Path(folder, "edges.csv").write_text("source,target\\nann,bob\\nbob,cy\\n")
    ...     graph = read_graph(folder)
    >>> graph.edge_index.tolist(), graph.labels.tolist(), graph.class_names
    ([[0, 1, 1, 2], [1, 0, 2, 1]], [0, 1, -1], ('a', 'b'))
    """
    graph = _read(Path(path), directed, label)
    return replace(graph, directed=True) if directed else graph


def _read(path: Path, directed: bool, label: str | Sequence[str] | None) -> Graph:
    if (path / LIST_FILE).exists():
        return read_graph_folder(path, directed, label, read_graph)
    if path.is_dir():
        from .parts import is_parts  # built on this package

        if is_parts(path):
            raise DataError(f"{path} is a graph in parts: open it with data.open_parts, or read what it was made of")
        return read_tables(path, directed, label)
    if not path.exists():
        raise DataError(f"{path} does not exist: a graph is an .npz file, or a folder with nodes.csv and edges.csv")
    if path.suffix in (".csv", ".parquet"):
        raise DataError(f"{path} is one table of a graph: name the folder that holds those of nodes and edges")
    if path.suffix != ".npz":
        raise DataError(f"{path} is not a graph: expected an .npz file, or a folder with nodes.csv and edges.csv")
    if label is not None:
        raise DataError(f"label={label!r} is for tables: the labels of an .npz file are in its array 'labels'")
    return read_npz(path, directed)
