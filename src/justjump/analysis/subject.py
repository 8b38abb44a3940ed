"""A trained network together with the graph that it is applied to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from justjump.analysis.hops import balls
from justjump.data import NAMES, DataError, Graph, Split
from justjump.experiments.graph_spec import graph_for
from justjump.train import Inputs, Run, RunError, prepare
from justjump.train.inputs import data_hash
from justjump.train.run import find_run
from justjump.train.start import default_split

_JUMPS = {"none": "", "concat": " JK-Concat", "pool": " JK-Pool", "lstm": " JK-LSTM"}
# Numbers of nodes for a good picture: fewer show little, more are hard to read.
DRAWABLE = range(8, 61)


@dataclass(frozen=True, eq=False)
class Subject:
    """A run on a graph.

    Attributes:
        title: its name in figures and tables
        inputs: the graph as the network takes it
        predicted: multiclass: predicted class of each node ``[N]``; multilabel: 0 or 1 ``[N, L]``; regression: the
            numbers ``[N, K]``; if graphs have the labels, there is a row per graph
        probability: of each class ``[N, C]`` or label ``[N, L]``; regression: the numbers again
        split: its training, validation and test nodes (or graphs); None if they are not known
    """

    run: Run
    title: str
    inputs: Inputs
    predicted: np.ndarray
    probability: np.ndarray
    split: Split | None = None

    @property
    def trained(self) -> np.ndarray:
        """Whether each node (or graph) was one of training, bool ``[N]``; all False if that is not known."""
        found = np.zeros(len(self.predicted), dtype=bool)
        if self.split is not None:
            found[self.split.train] = True
        return found

    @property
    def confidence(self) -> np.ndarray:
        """The probability of the predicted class ``[N]``; that of the least certain one of several labels."""
        if self.run.task == "multiclass":
            return np.asarray(self.probability.max(axis=1))
        return np.asarray(np.maximum(self.probability, 1 - self.probability).min(axis=1))

    def is_right(self, labels: np.ndarray) -> np.ndarray:
        """Whether all that is known of a node (or graph) is predicted rightly, bool ``[N]``; False if nothing is."""
        if labels.ndim == 1:
            return np.asarray((self.predicted == labels) & (labels >= 0))
        unknown = np.isnan(labels)
        return np.asarray(((self.predicted == labels) | unknown).all(axis=1) & ~unknown.all(axis=1))


def open_subjects(
    folders: Sequence[Path], graph: str | None, directed: bool, data_dir: Path | None, label: str | None = None
) -> tuple[Graph, list[Subject]]:
    """A graph (by default the dataset that the first run was trained on), and the runs in some folders on it."""
    runs = [find_run(folder) for folder in folders]
    named = graph or runs[0].graph_name
    if graph is None and named not in NAMES:
        raise RunError(f"{folders[0]} was trained on a graph of your own, {named!r}: name its file with --graph")
    found = with_names(as_read_for(runs[0], graph_for(runs[0], named, data_dir, directed, label)))
    titles = [model_title(run) for run in runs]
    if len(set(titles)) < len(titles):
        titles = [f"{title} ({folder})" for title, folder in zip(titles, folders, strict=True)]
    subjects = []
    for folder, run, title in zip(folders, runs, titles, strict=True):
        try:
            subjects.append(make_subject(run, found, title, named=graph is not None))
        except RunError as error:
            raise RunError(f"{folder}: {error}") from error
    return found, subjects


def as_read_for(run: Run, graph: Graph) -> Graph:
    """The graph with its labels read for the task of a run; a graph without labels gets unknown ones."""
    graph = run.own_graph(graph)
    if graph.task == run.task:
        return graph
    if not graph.labelled.any():
        unknown = np.full((len(graph.labels), len(run.class_names)), np.nan, dtype=np.float32)
        return replace(graph, labels=unknown, class_names=run.class_names, task=run.task)
    try:
        return graph.with_task(run.task)
    except DataError as error:
        raise RunError(f"the labels of {graph.name} are not those of a {run.task} task: {error}") from error


def with_names(graph: Graph) -> Graph:
    """The graph with names for its nodes if it is made of several graphs: "12:3" is node 3 of graph 12."""
    if graph.batch is None or graph.node_names is not None:
        return graph
    first = np.searchsorted(graph.batch, np.arange(graph.num_graphs))
    places = np.arange(graph.num_nodes) - first[graph.batch]
    names = tuple(f"{number}:{place}" for number, place in zip(graph.batch.tolist(), places.tolist(), strict=True))
    return replace(graph, node_names=names)


def row_of(graph: Graph, node: int) -> int:
    """The row of the labels that says something of a node: the node, or its graph if graphs have the labels."""
    return node if graph.batch is None else int(graph.batch[node])


def middle_of(graph: Graph, number: int) -> int:
    """The node of a graph among several that has the most neighbours."""
    assert graph.batch is not None
    nodes = np.flatnonzero(graph.batch == number)
    degrees = np.bincount(graph.edge_index[1], minlength=graph.num_nodes)[nodes]
    if not len(nodes):
        raise RunError(f"graph {number} has no nodes")
    return int(nodes[degrees.argmax()])


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
    """The node with a name; if no name is a number, the text may also be the number of a node.

    Among several graphs, the number is that of a graph, and stands for its node with the most neighbours.
    """
    names = graph.node_names or ()
    if text in names:
        return names.index(text)
    if graph.batch is not None:
        return middle_of(graph, int(text)) if text.isdecimal() and int(text) < graph.num_graphs else None
    is_number = text.isdecimal() and not any(name.isdecimal() for name in names)
    return int(text) if is_number and int(text) < graph.num_nodes else None


def similar_names(graph: Graph, text: str) -> list[str]:
    """Up to three names of nodes that the text may stand for."""
    names = {name.lower(): name for name in graph.node_names or ()}
    return [names[name] for name in get_close_matches(text.lower(), names)]


def node_hint(graph: Graph, similar: Sequence[str]) -> str:
    """What to write instead of an unknown node."""
    if graph.batch is not None:
        return f"name one of {graph.num_graphs} graphs, 0 to {graph.num_graphs - 1}, or a node such as 0:0"
    if graph.node_names is None:
        return f"name one of {graph.num_nodes} nodes, 0 to {graph.num_nodes - 1}"
    return f"did you mean {', '.join(similar)}?" if similar else f"names look like {graph.node_names[0]}"


def pick_node(graph: Graph, first: Subject, second: Subject) -> int:
    """A node that the first run gets right and the second wrong, and that neither was trained on.

    Prefers nodes with a 2-hop neighbourhood that makes a good picture; among them, the one on which both are most
    certain.
    """
    if graph.task == "regression" or graph.batch is not None:
        what = "numbers are neither right nor wrong" if graph.task == "regression" else "whole graphs have the labels"
        raise RunError(f"--pick looks for a node that one run gets wrong, but here {what}: name one with --node")
    wanted = first.is_right(graph.labels) & graph.labelled & ~second.is_right(graph.labels)
    nodes = np.flatnonzero(wanted & ~first.trained & ~second.trained)
    if not len(nodes):
        raise RunError(f"there is no node that {first.title} gets right and {second.title} wrong: name one with --node")
    adj = first.inputs.adj
    rowptr, col = adj.rowptr.numpy(), adj.col.numpy()
    sizes = np.array([balls(rowptr, col, np.array([node]), hops=2).sizes[-1] for node in nodes])
    drawable = np.isin(sizes, DRAWABLE)
    certain = np.minimum(first.confidence, second.confidence)[nodes]
    return int(nodes[np.lexsort((-certain, ~drawable))[0]])


def make_subject(run: Run, graph: Graph, title: str | None = None, named: bool = True) -> Subject:
    """A run on a graph.

    Args:
        run: the run
        graph: with the features, and the classes if it has some, of the graph that the run was trained on
        title: its name, by default that of the model
        named: whether the user has named the graph, for the advice of errors
    """
    if graph.class_names and (run.class_names != graph.class_names or run.task != graph.task):
        advice = "name another graph with --graph" if named else f"compare it with a run on {run.graph_name}"
        does = {"multiclass": "tells other classes apart", "multilabel": "predicts other labels"}
        raise RunError(
            f"this run on {run.graph_name} {does.get(run.task, 'predicts other numbers')} "
            f"({_listed(run.class_names)}) than {graph.name} has ({_listed(graph.class_names)}): {advice}"
        )
    prediction = run.predict(graph)
    inputs = prepare(run.with_own_features(graph), run.preprocessing)
    return Subject(
        run, title or model_title(run), inputs, prediction.classes, prediction.probabilities, _split(run, graph)
    )


def _split(run: Run, graph: Graph) -> Split | None:
    """The split that the run was trained with, if it was on this graph."""
    if not graph.labelled.any():
        return None
    try:  # runs of older versions did not keep theirs
        split = run.split or default_split(graph, run.protocol, run.seed)
    except DataError:
        return None
    return split if data_hash(graph, split) == run.data_hash else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:3], *["..."] * (len(names) > 3)])
