"""Reader for `edges.csv`."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np

from .cells import number
from .csv_file import CsvFile
from .errors import DataError, short
from .sparse import WeightConflictError, simplify


def read_edges_csv(
    path: Path, nodes: dict[str, int], directed: bool, nodes_file: str = "nodes.csv"
) -> tuple[np.ndarray, np.ndarray | None]:
    """Read `source,target[,weight]`: edges `[2, E]` between the numbers of nodes, and their weights `[E]`."""
    file = CsvFile(path, ("source", "target"))
    unknown = [column for column in file.columns if column not in ("source", "target", "weight")]
    if unknown:
        raise DataError(f"{path}, line 1: unknown column {short(unknown[0])!r}: the columns are source,target[,weight]")
    source, target, weight = (file.position(column) for column in ("source", "target", "weight"))
    ends, weights, lines = array("q"), array("d"), array("q")
    for line, row in file:
        for column, position in (("source", source), ("target", target)):
            name = row[position or 0].strip()
            node = nodes.get(name)
            if node is None:
                raise file.error(line, f"the {column} {short(name)!r} is not an id in {nodes_file}")
            ends.append(node)
        lines.append(line)
        if weight is not None:
            value = number(row[weight])
            if not 0 <= value <= float(np.finfo(np.float32).max):
                raise file.error(line, f"the weight {short(row[weight])!r} must be a number that is not negative")
            weights.append(value)
    edge_index = np.array(ends, dtype=np.int64).reshape(-1, 2).T  # [2, E]
    try:
        return simplify(edge_index, len(nodes), None if weight is None else np.array(weights), directed)
    except WeightConflictError as error:
        first, second = lines[error.first], lines[error.second]
        raise file.error(
            max(first, second),
            f"the edge of line {min(first, second)} is repeated with another weight ({error.weights[0]:g} and "
            f"{error.weights[1]:g}): keep one, or read the graph with directed=True if they have opposite directions",
        ) from None
