"""Predictions of a trained network as a file."""

import csv
import sys
from contextlib import suppress
from pathlib import Path

from justjump.data import DataError, Graph
from justjump.data.splits import ROLES
from justjump.files import replace_file
from justjump.train.inputs import data_hash
from justjump.train.run import Run


def predict(run: Run, graph: Graph, output: Path) -> None:
    """Write what a network says about every node (or graph) as CSV.

    The columns are ``node`` (or ``graph``); for one class per node ``class`` and its ``probability``; ``split``, the
    part that the node had in training, if this is the graph of training; and one column per class, label or target.
    """
    graph = run.own_graph(graph)
    found = run.predict(graph)
    unit = "node" if graph.batch is None else "graph"
    ids = (graph.node_names if graph.batch is None else graph.graph_names) or range(len(found.probabilities))
    role = _roles(run, graph, len(found.probabilities))
    header = [unit, *(["class", "probability"] if run.task == "multiclass" else []), *(["split"] if role else [])]

    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*header, *run.class_names])
            for number, (name, row) in enumerate(zip(ids, found.probabilities, strict=True)):
                cells = [name]
                if run.task == "multiclass":
                    best = found.classes[number]
                    cells += [run.class_names[best], f"{row[best]:.6f}"]
                cells += [role[number]] if role else []
                writer.writerow(
                    cells + [f"{value:.6f}" if run.task != "regression" else f"{value:.7g}" for value in row]
                )

    replace_file(output, write)
    what = {"multiclass": "classes", "multilabel": "labels", "regression": "predictions"}[run.task]
    count = len(found.probabilities)
    print(f"the {what} of {count} {unit}{'s' * (count != 1)} are in {output}", file=sys.stderr)


def _roles(run: Run, graph: Graph, count: int) -> list[str] | None:
    """The part of each node in the split of the run; None for another graph."""
    if run.split is None:
        return None
    own = run.with_own_features(graph)
    with suppress(DataError):  # the labels of another graph may not go with the task
        own = own.with_task(run.task)
    if data_hash(own, run.split) != run.data_hash:
        return None
    role = [""] * count
    for name in ROLES:
        for node in getattr(run.split, name):
            role[node] = name
    return role
