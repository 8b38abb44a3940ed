"""What a run says about itself."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from justjump.data import Graph, Split
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, TrainingWarning, fit
from justjump.train.evaluation import notes_on_data, notes_on_predictions
from justjump.train.remedies import Remedies
from made_graphs import made_graph, made_graphs

SMALL: dict[str, Any] = {"layers": 2, "hidden": 32, "heads": 4, "groups": 4, "learning_rate": 0.02}
REMEDIES = Remedies(ModelConfig(), Protocol(), 50)


def split_of(graph: Graph) -> Split:
    rows = np.flatnonzero(graph.labelled)
    return Split(rows[::3], rows[1::3], rows[2::3])


def test_labels_that_look_like_amounts_are_named() -> None:
    graph = made_graph("multiclass")
    number = graph.num_nodes
    prices = replace(graph, labels=np.arange(number), class_names=tuple(str(100 + 7 * i) for i in range(number)))
    (note,) = notes_on_data(prices, split_of(prices))
    assert f"{number:,} different numbers for {number:,} nodes" in note
    assert "task='regression'" in note
    names = replace(prices, class_names=tuple(f"n{i}" for i in range(number)))
    assert "different numbers" not in notes_on_data(names, split_of(names))[0]


@pytest.mark.parametrize(("task", "least"), [("multiclass", 0.9), ("multilabel", 0.8), ("regression", 0.5)])
def test_every_task_is_learned_saved_and_predicted(task: str, least: float, tmp_path: Path) -> None:
    graph = made_graph(task)
    run = fit(graph, **SMALL, max_epochs=80, patience=40, output=tmp_path)
    score = run.score("test")
    assert score is not None
    assert score > least
    assert run.task == task
    again = Run.load(tmp_path)
    assert (again.measures, again.confusion, again.calibration) == (run.measures, run.confusion, run.calibration)
    assert again.split is not None
    assert run.split is not None
    np.testing.assert_array_equal(again.split.test, run.split.test)
    found = again.predict(graph)
    np.testing.assert_array_equal(found.probabilities, run.predict(graph).probabilities)
    assert len(found.classes) == graph.num_nodes
    if task == "regression":
        error = np.abs(found.classes - graph.labels)[run.split.test].mean()
        assert error == pytest.approx(run.measures["test"]["mae"], rel=1e-5)


def test_whole_graphs_are_learned() -> None:
    graphs = made_graphs()
    run = fit(graphs, **SMALL, max_epochs=60, patience=30)
    assert run.test_accuracy is not None
    assert run.test_accuracy > 0.9
    assert run.predict(graphs).classes.shape == (60,)


def test_another_task_may_be_named() -> None:
    graph = made_graph("multiclass")
    assert fit(graph, **SMALL, max_epochs=2, task="regression").measures["val"].keys() == {"mae", "rmse", "r2"}
    assert fit(graph, **SMALL, max_epochs=2, task="multilabel").task == "multilabel"


def test_any_measure_may_be_watched() -> None:
    graph = made_graph("multiclass")
    seen: list[float] = []
    run = fit(
        graph, **SMALL, max_epochs=15, watch="log_loss", on_epoch=lambda progress: seen.append(progress.best_value)
    )
    assert seen == sorted(seen)
    assert run.measures["val"]["log_loss"] == pytest.approx(-seen[-1], rel=1e-4)
    for watch, match in (("mae", "no measure of a multiclass task: choose one of loss, accuracy"),):
        with pytest.raises(ValueError, match=match):
            fit(graph, watch=watch)
    with pytest.raises(ValueError, match="class_weight='balanced' is for classes"):
        fit(made_graph("regression"), class_weight="balanced")


def test_a_majority_class_is_said() -> None:
    graph = made_graph("multiclass", unknown=0)
    rare = np.where(np.arange(graph.num_nodes) % 20 == 0, 1, 0)
    graph = replace(graph, labels=rare, class_names=("often", "seldom"))
    with pytest.warns(TrainingWarning, match=r"predicts 'often' for every validation and test node, which 9\d"):
        run = fit(graph, **SMALL, max_epochs=5)
    assert len(run.notes) == 1
    assert "try class_weight='balanced', watch='balanced_accuracy' or more epochs than max_epochs=5" in run.notes[0]


def test_a_class_that_is_never_predicted_is_said() -> None:
    graph = made_graph("multiclass", unknown=0)
    predicted = np.eye(3)[np.minimum(graph.labels, 1)]
    (note,) = notes_on_predictions(graph, split_of(graph), predicted, REMEDIES)
    assert note.startswith("the network never predicts '2' (")
    assert notes_on_predictions(graph, split_of(graph), np.eye(3)[graph.labels], REMEDIES) == []


def test_a_label_that_is_never_predicted_is_said() -> None:
    graph = made_graph("multilabel", unknown=0)
    predicted = np.where(graph.labels == 1, 0.9, 0.1)
    assert notes_on_predictions(graph, split_of(graph), predicted, REMEDIES) == []
    (note,) = notes_on_predictions(graph, split_of(graph), predicted * [0.5, 1, 1], REMEDIES)
    ones = np.delete(graph.labels, split_of(graph).train, axis=0).sum(axis=0)
    share = f"{100 * ones[0] / ones.sum():.1f} % of the labels that are 1"
    assert note == f"the network never predicts '0' ({share}): {REMEDIES.for_rare_classes}"


def test_a_guess_is_said_to_be_one() -> None:
    graph = made_graph("regression")
    mean = np.full((graph.num_nodes, 1), np.nanmean(graph.labels))
    (note,) = notes_on_predictions(graph, split_of(graph), mean, REMEDIES)
    assert "hardly better than a guess" in note


def test_a_class_without_training_nodes_is_named_before_training() -> None:
    graph = made_graph("multiclass", unknown=0)
    rows = np.arange(graph.num_nodes)
    without = rows[graph.labels != 2]
    split = Split(without[::2], without[1::2], rows[graph.labels == 2])
    assert notes_on_data(graph, split) == ["no training node has the class '2': the network cannot learn to predict it"]
    with pytest.warns(TrainingWarning, match="no training node has the class '2'"):
        fit(graph, **SMALL, split=split, max_epochs=1)
    several = made_graph("multilabel", unknown=0)
    several = replace(several, labels=np.where([False, True, True], several.labels, 0))
    assert "the label '0'" in notes_on_data(several, split_of(several))[0]


def test_calibration_lowers_the_log_loss() -> None:
    graph = made_graph("multiclass")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, calm = (fit(graph, **SMALL, max_epochs=60, patience=60, calibrate=on) for on in (False, True))
    assert calm.objective.temperature != 1.0
    losses = [run.measures["val"]["log_loss"] for run in (calm, plain)]
    assert losses == sorted(losses, key=lambda loss: loss or 0.0)
    assert calm.test_accuracy == plain.test_accuracy


def test_one_other_prediction_does_not_hide_a_majority_class() -> None:
    graph = made_graph("multiclass", unknown=0)
    labels = np.where(np.arange(graph.num_nodes) % 4 == 0, 1, 0)
    graph = replace(graph, labels=labels, class_names=("often", "seldom"))
    predicted = np.tile([0.9, 0.1], (graph.num_nodes, 1))
    predicted[1] = [0.1, 0.9]
    (note,) = notes_on_predictions(graph, split_of(graph), predicted, REMEDIES)
    assert note.startswith("the network predicts 'often' for 199 of 200 validation and test nodes, which 75.")


def test_a_guess_among_classes_is_said_to_be_one() -> None:
    graph = made_graph("multiclass", unknown=0)
    (note,) = notes_on_predictions(graph, split_of(graph), np.eye(3)[np.arange(graph.num_nodes) % 3], REMEDIES)
    assert "hardly better than a guess" in note


PAPERS: dict[str, Any] = {"jump": "concat", "attention_dropout": 0.8, "start": "paper"}  # a start that learns late


def test_notes_do_not_advise_what_is_set() -> None:
    graph = made_graph("multiclass", unknown=0)
    rare = np.where(np.arange(graph.num_nodes) % 20 == 0, 1, 0)
    graph = replace(graph, labels=rare, class_names=("often", "seldom"), features=np.ones((graph.num_nodes, 2)))
    with pytest.warns(TrainingWarning) as seen:
        run = fit(graph, **SMALL, max_epochs=5, class_weight="balanced", watch="balanced_accuracy", **PAPERS)
    (note,) = {str(one.message) for one in seen}
    assert run.notes == (note,)
    assert "try a lower attention_dropout than 0.8, more epochs than max_epochs=5 or another learning_rate" in note
