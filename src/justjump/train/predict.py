"""Predictions of a trained network as a file."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from justjump.data import DataError, Graph
from justjump.data.labels import Task
from justjump.data.parts import Parts
from justjump.data.splits import ROLES
from justjump.files import new_folder
from justjump.train.inputs import data_hash
from justjump.train.measures import WORDS, Values, measure
from justjump.train.parts.predictions import Predictions
from justjump.train.prediction_file import Block, Columns, write_predictions
from justjump.train.run import Run
from justjump.train.show import shown_value

_ROLES = {"train": "training", "val": "validation", "test": "test"}


def predict(run: Run, graph: Graph, output: Path) -> None:
    """Write what a network says about every node (or graph) as CSV, or as Parquet if the name ends in ``.parquet``.

    The columns are ``node`` (or ``graph``); for one class per node ``class`` and its ``probability``; ``split``, the
    part that the node had in training, if this is the graph of training; and one column per class, label or target.
    What is known of the labels is compared with the predictions, and printed.
    """
    graph = run.own_graph(graph)
    found = run.predict(graph)
    unit = "node" if graph.batch is None else "graph"
    names = graph.node_names if graph.batch is None else graph.graph_names
    ids = names or range(len(found.probabilities))
    role = _roles(run, graph, len(found.probabilities))
    columns = Columns(unit, run.task, run.class_names, bool(names), role is not None)
    write_predictions(output, columns, [Block(ids, found.probabilities, role)])
    _say_measures(_measured(run, graph, found.probabilities, role), unit)
    _say_where(run.task, len(found.probabilities), unit, output)


def predict_parts(run: Run, parts: Parts, output: Path, workers: int = 1, scratch: Path | None = None) -> None:
    """The same for a graph in parts, with one part at a time in memory. The rows are in the order of the parts."""
    with new_folder(scratch, "--scratch"):
        found = Predictions(run, parts, workers, scratch, progress=True).save(output)
    _say_measures(found, "node")
    _say_where(run.task, parts.manifest.num_nodes, "node", output)


def _say_where(task: Task, count: int, unit: str, output: Path) -> None:
    what = {"multiclass": "classes", "multilabel": "labels", "regression": "predictions"}[task]
    print(f"the {what} of {count} {unit}{'s' * (count != 1)} are in {output}", file=sys.stderr)


def _say_measures(found: Mapping[str, tuple[int, Values]], unit: str) -> None:
    """A line for each part of the split, or for all nodes with a label."""
    for name, (count, values) in found.items():
        units = f"{unit}{'s' * (count != 1)}"
        which = f"{count:,} {units} with a label" if name == "all" else f"{count:,} {_ROLES[name]} {units}"
        words = [f"{WORDS[one]} {shown_value(one, value)}" for one, value in values.items() if value is not None]
        print(f"{which}: {', '.join(words)}", file=sys.stderr)


def _measured(run: Run, graph: Graph, predicted: np.ndarray, role: list[str] | None) -> dict[str, tuple[int, Values]]:
    """The number of nodes with a label, and the measures, for each part of the split or for all nodes."""
    with suppress(DataError):
        graph = graph.with_task(run.task)
    if graph.class_names != run.class_names or graph.task != run.task:
        return {}
    found = {}
    for name in ("all",) if role is None else ROLES:
        rows = np.flatnonzero(graph.labelled if role is None else np.array(role) == name)
        if len(rows):
            found[name] = len(rows), measure(run.task, graph.labels[rows], predicted[rows])
    return found


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
