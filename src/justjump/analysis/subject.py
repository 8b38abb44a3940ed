"""A trained network together with the graph that it is applied to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from justjump.analysis.hops import balls
from justjump.data import NAMES, Graph
from justjump.experiments.graph_spec import GraphSpec
from justjump.train import Inputs, Run, RunError, prepare
from justjump.train.inputs import data_hash
from justjump.train.loop import default_split
from justjump.train.run import find_run

_JUMPS = {"none": "", "concat": " JK-Concat", "pool": " JK-Pool", "lstm": " JK-LSTM"}
# Numbers of nodes for a good picture: fewer show little, more are hard to read.
DRAWABLE = range(8, 61)


@dataclass(frozen=True, eq=False)
class Subject:
    """A run on a graph.

    Attributes:
        title: its name in figures and tables
        inputs: the graph as the network takes it
        predicted: predicted class of each node ``[N]``
        probability: probability of each class ``[N, classes]``
        trained: whether each node was a training node ``[N]``; all False if that is not known
    """

    run: Run
    title: str
    inputs: Inputs
    predicted: np.ndarray
    probability: np.ndarray
    trained: np.ndarray


def open_subjects(
    folders: Sequence[Path], graph: str | None, directed: bool, data_dir: Path | None, label: str | None = None
) -> tuple[Graph, list[Subject]]:
    """A graph (by default the dataset that the first run was trained on), and the runs in some folders on it."""
    runs = [find_run(folder) for folder in folders]
    named = graph or runs[0].graph_name
    if graph is None and named not in NAMES:
        raise RunError(f"{folders[0]} was trained on a graph of your own, {named!r}: name its file with --graph")
    found = GraphSpec.named(named, data_dir, directed, label).load()
    titles = [model_title(run) for run in runs]
    if len(set(titles)) < len(titles):
        titles = [f"{title} ({folder})" for title, folder in zip(titles, folders, strict=True)]
    subjects = []
    for folder, run, title in zip(folders, runs, titles, strict=True):
        try:
            subjects.append(_subject(run, title, found, named=graph is not None))
        except RunError as error:
            raise RunError(f"{folder}: {error}") from error
    return found, subjects


def model_title(run: Run) -> str:
    """The paper's name of the model, and its sizes.

    >>> from justjump.data import load
    >>> from justjump.nn import ModelConfig
    >>> from justjump.train import Protocol, fit
    >>> model_title(fit(load("cora"), ModelConfig("gcn", layers=2, jump="pool"), Protocol(max_epochs=1)))
    'GCN JK-Pool 2/128/16'
    """
    config = run.config
    update = "" if config.update == "none" else f" {config.update}"
    return f"{config.model.upper()}{_JUMPS[config.jump]}{update} {config.notation}"


def find_node(graph: Graph, text: str) -> int:
    """:func:`node_number`, or an error that helps."""
    node = node_number(graph, text)
    if node is None:
        raise RunError(f"there is no node {text!r}: {node_hint(graph, similar_names(graph, text))}")
    return node


def node_number(graph: Graph, text: str) -> int | None:
    """The node with a name; if no name is a number, the text may also be the number of a node."""
    names = graph.node_names or ()
    if text in names:
        return names.index(text)
    is_number = text.isdecimal() and not any(name.isdecimal() for name in names)
    return int(text) if is_number and int(text) < graph.num_nodes else None


def similar_names(graph: Graph, text: str) -> list[str]:
    """Up to three names of nodes that the text may stand for."""
    names = {name.lower(): name for name in graph.node_names or ()}
    return [names[name] for name in get_close_matches(text.lower(), names)]


def node_hint(graph: Graph, similar: Sequence[str]) -> str:
    """What to write instead of an unknown node."""
    if graph.node_names is None:
        return f"name one of {graph.num_nodes} nodes, 0 to {graph.num_nodes - 1}"
    return f"did you mean {', '.join(similar)}?" if similar else f"names look like {graph.node_names[0]}"


def pick_node(graph: Graph, first: Subject, second: Subject) -> int:
    """A node that the first run gets right and the second wrong, and that neither was trained on.

    Prefers nodes with a 2-hop neighbourhood that makes a good picture; among them, the one on which both are most
    certain.
    """
    wanted = (first.predicted == graph.labels) & (second.predicted != graph.labels) & (graph.labels >= 0)
    nodes = np.flatnonzero(wanted & ~first.trained & ~second.trained)
    if not len(nodes):
        raise RunError(f"there is no node that {first.title} gets right and {second.title} wrong: name one with --node")
    adj = first.inputs.adj
    rowptr, col = adj.rowptr.numpy(), adj.col.numpy()
    sizes = np.array([balls(rowptr, col, np.array([node]), hops=2).sizes[-1] for node in nodes])
    drawable = np.isin(sizes, DRAWABLE)
    certain = np.minimum(first.probability[nodes].max(axis=1), second.probability[nodes].max(axis=1))
    return int(nodes[np.lexsort((-certain, ~drawable))[0]])


def _subject(run: Run, title: str, graph: Graph, named: bool) -> Subject:
    if graph.class_names and run.class_names != graph.class_names:
        advice = "name another graph with --graph" if named else f"compare it with a run on {run.graph_name}"
        raise RunError(
            f"this run on {run.graph_name} tells other classes apart ({_listed(run.class_names)}) "
            f"than {graph.name} has ({_listed(graph.class_names)}): {advice}"
        )
    prediction = run.predict(graph)
    inputs = prepare(run.with_own_features(graph), run.preprocessing)
    trained = np.zeros(graph.num_nodes, dtype=bool)
    if graph.num_classes:
        split = default_split(graph, run.protocol, run.seed)
        trained[split.train] = data_hash(graph, split) == run.data_hash
    return Subject(run, title, inputs, prediction.classes, prediction.probabilities, trained)


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:3], *["..."] * (len(names) > 3)])
