"""What a run starts from: a graph whose labels fit the task, a split, and what is done with the features."""

import sys

import numpy as np

from justjump.data import DataError, Graph, Preprocessing, Split, random_split, split_from_masks
from justjump.data.errors import short
from justjump.data.nodes import is_likely
from justjump.data.splits import strata
from justjump.train.measures import measures_of
from justjump.train.protocol import Protocol


def as_graph(graph: Graph | object, protocol: Protocol) -> Graph:
    """A graph from what users have, with its labels read for the task that they name."""
    return Graph.of(graph, task=None if protocol.task == "auto" else protocol.task)


def check_learnable(graph: Graph, protocol: Protocol) -> None:
    """Raise DataError if there is nothing to learn, and ValueError if patience watches what the task does not have."""
    if not graph.num_classes:
        likely = [name for name in graph.feature_names or () if is_likely(name)]
        hint = f"if {likely[0]!r} is the label, say so with label={likely[0]!r}" if likely else ""
        is_folder = graph.graph_names is not None
        each = f"the graphs a label each, {'in a column label of graphs.csv' if is_folder else 'as y of their Data'}"
        whose = "some of its nodes a class" if graph.batch is None else each
        if graph.feature_names:
            whose += ", or name the columns that hold the labels with label=..."
        raise DataError(f"{graph.name} has no labels to learn from: {hint or f'give {whose}'}")
    _check_difference(graph)
    for name in protocol.measures:
        if name not in measures_of(graph.task):
            option = "watch" if name == protocol.watch else "pick"
            raise ValueError(
                f"{option}={name!r} is no measure of a {graph.task} task: choose one of loss, "
                f"{', '.join(measures_of(graph.task))}"
            )
    if graph.task == "regression" and (protocol.class_weight != "none" or protocol.calibrate):
        name = "calibrate=True" if protocol.calibrate else f"class_weight={protocol.class_weight!r}"
        raise ValueError(f"{name} is for classes, and the labels of {graph.name} are numbers: leave it out")


def _check_difference(graph: Graph) -> None:
    """Raise DataError if all known labels are equal: a network that says the same of all would be perfect."""
    is_class = graph.task == "multiclass"
    known = graph.labels >= 0 if is_class else ~np.isnan(graph.labels)
    found = np.unique(graph.labels[known])
    if len(found) != 1:
        return
    value = repr(graph.class_names[int(found[0])]) if is_class else f"{found[0]:g}"
    others = "numbers that differ" if graph.task == "regression" else "some that are 0 and some that are 1"
    wanted = "two classes or more" if is_class else others
    hint = ""
    may_be_class = graph.node_names is None and graph.task != "regression"  # tables have empty cells for the unknown
    if not known.all() and may_be_class:
        hint = f" ({np.count_nonzero(~known):,} are unknown: if -1 stands for a class, write 0 in its place)"
    raise DataError(f"all {'known ' * bool(hint)}labels of {graph.name} are {value}{hint}: learning takes {wanted}")


def say_task(graph: Graph, protocol: Protocol, option: str | None) -> None:
    """Say in one line what is to be learned; where it was found from the labels, ``option`` chooses another task."""
    is_found = option is not None and protocol.task == "auto" and graph.task != "multiclass"
    advice = f"; {option} chooses another" if is_found else ""
    print(f"task: {graph.task}, {described_labels(graph)}{advice}", file=sys.stderr)


def described_labels(graph: Graph) -> str:
    """What is to be predicted, in a few words.

    >>> from justjump.data import load
    >>> described_labels(load("cora"))
    '7 classes (Neural_Networks, Rule_Learning, Reinforcement_Le..., ...) for each node'
    """
    names = ", ".join([*(short(name, 20) for name in graph.class_names[:3]), *["..."] * (graph.num_classes > 3)])
    kind = {"multiclass": "classes", "multilabel": "labels of 0 or 1", "regression": "numbers"}[graph.task]
    kind = "number" if kind == "numbers" and graph.num_classes == 1 else kind
    return f"{graph.num_classes} {kind} ({names}) for each {graph.unit}"


def default_split(graph: Graph, protocol: Protocol, seed: int) -> Split:
    """The graph's own masks if it has some, else a random split."""
    if graph.masks is not None:
        return split_from_masks(graph)
    return random_split(strata(graph), seed, protocol.fractions, protocol.stratified, graph.unit)


def preprocessing_of(graph: Graph, protocol: Protocol) -> Preprocessing:
    """What is done with the features of a graph, said in one line unless that is nothing."""
    preprocessing = Preprocessing.fit(graph.features, protocol.scale, graph.feature_names)
    say_features(preprocessing)
    return preprocessing


def say_features(preprocessing: Preprocessing) -> None:
    """Say in one line what is done with the columns, and how many numbers the network gets if these are more."""
    words, width, outputs = preprocessing.describe(), preprocessing.width, preprocessing.num_outputs
    if words:
        more = f"; {width:,} column{'s' * (width != 1)} become {outputs:,} inputs" if outputs != width else ""
        print(f"features: {words}{more}", file=sys.stderr)
