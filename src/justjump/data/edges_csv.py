"""Reader for `edges.csv`."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np

from .cells import number
from .csv_file import CsvFile
from .faults import bad_weight, check_edge_columns, two_weights, unknown_end
from .sparse import WeightConflictError, simplify


def read_edges_csv(
    path: Path, nodes: dict[str, int], directed: bool, nodes_file: str = "nodes.csv"
) -> tuple[np.ndarray, np.ndarray | None]:
    """Read `source,target[,weight]`: edges `[2, E]` between the numbers of nodes, and their weights `[E]`."""
    file = CsvFile(path, ("source", "target"))
    check_edge_columns(path, file.columns)
    source, target, weight = (file.position(column) for column in ("source", "target", "weight"))
    ends, weights, lines = array("q"), array("d"), array("q")
    for line, row in file:
        for column, position in (("source", source), ("target", target)):
            name = row[position or 0].strip()
            node = nodes.get(name)
            if node is None:
                raise file.error(line, unknown_end(column, name, nodes_file))
            ends.append(node)
        lines.append(line)
        if weight is not None:
            value = number(row[weight])
            if not 0 <= value <= float(np.finfo(np.float32).max):
                raise file.error(line, bad_weight(row[weight]))
            weights.append(value)
    edge_index = np.array(ends, dtype=np.int64).reshape(-1, 2).T  # [2, E]
    try:
        return simplify(edge_index, len(nodes), None if weight is None else np.array(weights), directed)
    except WeightConflictError as error:
        raise two_weights(file.rows(lines), error.first, error.second, error.weights) from None
