"""How good a trained network is on each part of a split, and what its user should know about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from justjump.data import Graph, Split
from justjump.data.labels import is_number_text
from justjump.data.splits import ROLES
from justjump.train.errors import TrainingWarning
from justjump.train.inputs import Inputs
from justjump.train.measures import SCORE, WORDS, Values, calibration, confusion, measure, measures_of
from justjump.train.objective import Objective, fitted_temperature
from justjump.train.part import output_of_all
from justjump.train.remedies import Remedies
from justjump.warn import warn

MOST_CLASSES_IN_CONFUSION = 100
# Scores below these are hardly better than those of the mean of the targets, or of a coin.
LEAST = {"multilabel": 0.55, "regression": 0.05}


@torch.no_grad()
def evaluate(
    model: nn.Module, inputs: Inputs, graph: Graph, split: Split, objective: Objective, remedies: Remedies
) -> dict[str, Any]:
    """The fields of a :class:`~justjump.train.Run` that say how good it is."""
    model.eval()
    predicted = objective.predictions(output_of_all(model, inputs)).cpu().numpy()
    return evaluated(predicted, graph, split, remedies)


def evaluated(predicted: np.ndarray, graph: Graph, split: Split, remedies: Remedies) -> dict[str, Any]:
    """The same, given what the network predicts for all nodes, ``[N, C]``."""
    measures: dict[str, Values] = {}
    for role in ROLES:
        rows = getattr(split, role)
        measures[role] = (
            measure(graph.task, graph.labels[rows], predicted[rows])
            if len(rows)
            else dict.fromkeys(measures_of(graph.task))
        )
    last = split.test if len(split.test) else split.val
    found: dict[str, Any] = {"measures": measures, "confusion": None, "calibration": None}
    if graph.task != "regression":
        found["calibration"] = [list(point) for point in calibration(graph.labels[last], predicted[last])]
    if graph.task == "multiclass" and graph.num_classes <= MOST_CLASSES_IN_CONFUSION:
        classes = predicted[last].argmax(axis=1)
        found["confusion"] = confusion(graph.labels[last], classes, graph.num_classes).tolist()
    for role in ROLES:
        found[f"{role}_accuracy"] = measures[role]["accuracy"] if graph.task == "multiclass" else None
    found["notes"] = tuple(notes_on_predictions(graph, split, predicted, remedies))
    return found


def say_notes(found: dict[str, Any], odd: list[str], aloud: bool) -> None:
    """Warn of what is odd about predictions. What is odd about the data was said before training; a run keeps both."""
    for note in found["notes"] if aloud else ():
        warn(note, TrainingWarning)
    found["notes"] = (*odd, *found["notes"])


@torch.no_grad()
def loss_of(model: nn.Module, inputs: Inputs, rows: np.ndarray, objective: Objective) -> float:
    """The loss of some nodes."""
    model.eval()
    nodes = torch.from_numpy(rows).to(inputs.labels.device)
    return objective.loss(output_of_all(model, inputs)[nodes], inputs.labels[nodes]).item()


def calibrated(model: nn.Module, inputs: Inputs, split: Split, objective: Objective) -> float:
    """The temperature that fits the validation nodes best."""
    model.eval()
    with torch.no_grad():
        output = output_of_all(model, inputs)
    rows = torch.from_numpy(split.val).to(output.device)
    return fitted_temperature(objective, output[rows], inputs.labels[rows])


def notes_on_data(graph: Graph, split: Split) -> list[str]:
    """What is odd about the labels of the training nodes, in sentences."""
    if graph.task == "regression":
        return []
    labels, names = graph.labels[split.train], graph.class_names
    if graph.task == "multiclass" and _are_amounts(graph):
        return [
            f"the labels are {len(names):,} different numbers for {graph.labelled.sum():,} {graph.unit}s, and each "
            "counts as a class: if they are amounts to predict, choose task='regression'"
        ]
    if graph.task == "multiclass":
        absent = np.flatnonzero(np.bincount(labels, minlength=len(names)) == 0)
    else:
        absent = np.flatnonzero(~(labels == 1).any(axis=0))
    if not len(absent):
        return []
    some = ", ".join(repr(names[one]) for one in absent[:5]) + (", ..." if len(absent) > 5 else "")
    what = "class" if graph.task == "multiclass" else "label"
    if len(absent) == 1:
        return [f"no training {graph.unit} has the {what} {some}: the network cannot learn to predict it"]
    plural = "classes" if graph.task == "multiclass" else "labels"
    return [f"{len(absent)} {plural} have no training {graph.unit} ({some}): the network cannot learn to predict them"]


def notes_on_predictions(graph: Graph, split: Split, predicted: np.ndarray, remedies: Remedies) -> list[str]:
    """Whether the network has learned nothing, or the majority class alone, or never predicts a class, in sentences."""
    rows = np.concatenate([split.val, split.test])
    if graph.task != "multiclass":
        score = SCORE[graph.task]
        value = measure(graph.task, graph.labels[rows], predicted[rows], only=(score,))[score]
        if value is None or value >= LEAST[graph.task]:
            if graph.task == "regression":
                return []
            counts = (predicted[rows] > 0.5).sum(axis=0)
            trained, there = ((graph.labels[part] == 1).sum(axis=0) for part in (split.train, rows))
            return _notes_on_never(graph, counts, trained, there, "labels that are 1", remedies)
        return [
            f"the network is hardly better than a guess on the validation and test {graph.unit}s ({WORDS[score]} "
            f"{value:.3f}): {remedies.for_guesses}"
        ]
    counts = np.bincount(predicted[rows].argmax(axis=1), minlength=graph.num_classes)
    trained = np.bincount(graph.labels[split.train], minlength=graph.num_classes)
    there = np.bincount(graph.labels[rows], minlength=graph.num_classes)
    most = counts.argmax()
    others = len(rows) - counts[most]  # predictions of other classes
    if (there > 0).sum() > 1 and others <= 0.01 * len(rows) and 4 * others <= len(rows) - there[most]:
        name, share = graph.class_names[most], there[most] / there.sum()
        times = "every" if not others else f"{counts[most]:,} of {len(rows):,}"
        plural = "" if not others else "s"
        return [
            f"the network predicts {name!r} for {times} validation and test {graph.unit}{plural}, which "
            f"{100 * share:.1f} % of them are: it has learned nothing else; {remedies.for_rare_classes}"
        ]
    balanced = measure("multiclass", graph.labels[rows], predicted[rows], only=("balanced_accuracy",))[
        "balanced_accuracy"
    ]
    chance = 1 / max((there > 0).sum(), 1)
    if balanced is not None and balanced < chance + 0.05 * (1 - chance):
        return [
            f"the network is hardly better than a guess on the validation and test {graph.unit}s (balanced accuracy "
            f"{100 * balanced:.1f} %): {remedies.for_guesses}"
        ]
    return _notes_on_never(graph, counts, trained, there, f"{graph.unit}s", remedies)


def _notes_on_never(
    graph: Graph, counts: np.ndarray, trained: np.ndarray, there: np.ndarray, what: str, remedies: Remedies
) -> list[str]:
    """Which classes or labels are never predicted.

    Args:
        counts: how often each is predicted ``[C]``
        trained, there: how often each is there in training, and in the nodes that were predicted ``[C]``
        what: is counted by ``there``
    """
    never = np.flatnonzero((counts == 0) & (there > 0) & (trained > 0))
    if not len(never):
        return []
    some = ", ".join(f"{graph.class_names[one]!r}" for one in never[:5]) + (", ..." if len(never) > 5 else "")
    share = there[never].sum() / there.sum()
    return [f"the network never predicts {some} ({100 * share:.1f} % of the {what}): {remedies.for_rare_classes}"]


def _are_amounts(graph: Graph) -> bool:
    """Whether the classes look like numbers to predict: many, and hardly one comes twice."""
    names = graph.class_names
    return len(names) > 20 and 2 * len(names) > graph.labelled.sum() and all(map(is_number_text, names))
