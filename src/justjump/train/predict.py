"""Predictions of a trained network as a file."""

import csv
import sys
from pathlib import Path

from justjump.data import Graph
from justjump.files import replace_file
from justjump.train.run import Run


def predict(run: Run, graph: Graph, output: Path) -> None:
    """Write the predicted class of every node, and its probability, as CSV."""
    classes, probabilities = run.predict(graph)
    names = graph.node_names or range(graph.num_nodes)

    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["node", "class", "probability"])
            for name, label, row in zip(names, classes, probabilities, strict=True):
                writer.writerow([name, run.class_names[label], f"{row[label]:.6f}"])

    replace_file(output, write)
    print(f"the classes of {graph.num_nodes} node{'s' * (graph.num_nodes != 1)} are in {output}", file=sys.stderr)
