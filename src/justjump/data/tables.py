"""Reader for graphs in a folder with a table of nodes and a table of edges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .edges_csv import read_edges_csv
from .errors import DataError
from .graph import Graph
from .nodes import Nodes
from .nodes_csv import read_nodes_csv


def read_tables(folder: str | Path, directed: bool = False, label: str | Sequence[str] | None = None) -> Graph:
    """Read a graph from `nodes.csv` (`id[,label][,split],features...`) and `edges.csv` (`source,target[,weight]`).

    Either of them may be a `.parquet` file. Self-loops are dropped, repeated edges count once and, unless `directed`,
    the reverse of every edge is added.
    """
    (graph,) = read_several_tables([Path(folder)], directed, label)
    return graph


def read_several_tables(
    folders: Sequence[Path], directed: bool = False, label: str | Sequence[str] | None = None
) -> list[Graph]:
    """Read several graphs. What kinds their columns are is found from all tables of nodes together."""
    try:
        files = [_file(folder, "nodes") for folder in folders]
        texts, others = ([file for file in files if (file.suffix == ".csv") is wanted] for wanted in (True, False))
        found = dict(zip(texts, read_nodes_csv(texts, label), strict=True)) if texts else {}
        if others:
            from .parquet import read_nodes_parquet

            found |= zip(others, read_nodes_parquet(others, label), strict=True)
        return [_read(folder, file, found[file], directed) for folder, file in zip(folders, files, strict=True)]
    except MemoryError as error:
        which = folders[0] if len(folders) == 1 else folders[0].parent
        raise DataError(
            f"cannot read {which}: its graph does not fit into memory: stream it into parts with justjump partition "
            "--nodes ... --edges ..., or use a machine with more"
        ) from error


def _read(folder: Path, node_file: Path, nodes: Nodes, directed: bool) -> Graph:
    edge_file = _file(folder, "edges")
    if edge_file.suffix == ".csv":
        edge_index, weight = read_edges_csv(edge_file, nodes.number, directed, node_file.name)
    else:
        from .parquet import read_edges_parquet

        edge_index, weight = read_edges_parquet(edge_file, nodes.number, directed, node_file.name)
    return Graph(edge_index=edge_index, edge_weight=weight, name=folder.resolve().name, **nodes.fields())


def _file(folder: Path, name: str) -> Path:
    """The file of a table; if there is none, the name of the CSV file, whose reader says so."""
    text, parquet = folder / f"{name}.csv", folder / f"{name}.parquet"
    if text.exists() and parquet.exists():
        raise DataError(f"{folder} holds {text.name} and {parquet.name}: remove one of them")
    return parquet if parquet.exists() else text
