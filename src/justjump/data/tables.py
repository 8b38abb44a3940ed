"""Reader for graphs in a folder with a table of nodes and a table of edges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .edges_csv import read_edges_csv
from .errors import DataError
from .graph import Graph
from .nodes_csv import read_nodes_csv


def read_tables(folder: str | Path, directed: bool = False, label: str | Sequence[str] | None = None) -> Graph:
    """Read a graph from `nodes.csv` (`id[,label][,split],features...`) and `edges.csv` (`source,target[,weight]`).

    Either of them may be a `.parquet` file. Self-loops are dropped, repeated edges count once and, unless `directed`,
    the reverse of every edge is added.
    """
    folder = Path(folder)
    try:
        return _read(folder, directed, label)
    except MemoryError as error:
        raise DataError(
            f"cannot read {folder}: its graph does not fit into memory: use a machine with more, or a smaller graph"
        ) from error


def _read(folder: Path, directed: bool, label: str | Sequence[str] | None) -> Graph:
    node_file, edge_file = _file(folder, "nodes"), _file(folder, "edges")
    if node_file.suffix == ".csv":
        nodes = read_nodes_csv(node_file, label)
    else:
        from .parquet import read_nodes_parquet

        nodes = read_nodes_parquet(node_file, label)
    if edge_file.suffix == ".csv":
        edge_index, weight = read_edges_csv(edge_file, nodes.number, directed, node_file.name)
    else:
        from .parquet import read_edges_parquet

        edge_index, weight = read_edges_parquet(edge_file, nodes.number, directed, node_file.name)
    return Graph(
        edge_index=edge_index,
        features=nodes.features,
        labels=nodes.labels.values,
        class_names=nodes.labels.names,
        name=folder.resolve().name,
        edge_weight=weight,
        node_names=tuple(nodes.number),
        masks=nodes.masks,
        feature_names=nodes.feature_names,
        task=nodes.labels.task,
    )


def _file(folder: Path, name: str) -> Path:
    """The file of a table; if there is none, the name of the CSV file, whose reader says so."""
    text, parquet = folder / f"{name}.csv", folder / f"{name}.parquet"
    if text.exists() and parquet.exists():
        raise DataError(f"{folder} holds {text.name} and {parquet.name}: remove one of them")
    return parquet if parquet.exists() else text
