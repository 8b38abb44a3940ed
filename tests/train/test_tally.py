"""Measures block by block are those of all predictions at once."""

import numpy as np
import pytest

from justjump.data.labels import Task
from justjump.train import tally as module
from justjump.train.measures import measure
from justjump.train.tally import Tally

ROUGH = ("roc_auc", "average_precision")  # which are counted in bins


def made(task: Task, count: int = 4000, outputs: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which some are unknown, one column of which is all 1, and predictions that are somewhat right."""
    rng = np.random.default_rng(0)
    score = rng.standard_normal((count, outputs))
    noisy = score + rng.standard_normal((count, outputs))
    if task == "multiclass":
        labels = np.where(rng.random(count) < 0.1, -1, noisy[:, :-1].argmax(1))
        shares = np.exp(2 * score)
        return labels, (shares / shares.sum(1, keepdims=True)).astype(np.float32)
    unknown = rng.random((count, outputs)) < 0.1
    if task == "multilabel":
        truth = np.where(unknown, np.nan, noisy > 0.5).astype(np.float32)
        truth[:, 0] = 1
        return truth, (1 / (1 + np.exp(-3 * score))).astype(np.float32)
    noisy[:, 0] = 7
    return np.where(unknown, np.nan, 100 + noisy).astype(np.float32), (100 + score).astype(np.float32)


@pytest.mark.parametrize("task", ["multiclass", "multilabel", "regression"])
@pytest.mark.parametrize("kept", [0, 2**23])
def test_they_are_those_of_all_at_once(task: Task, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", kept)
    labels, predicted = made(task)
    tally = Tally(task, 4)
    for begin in range(0, len(labels), 901):
        tally.add(labels[begin : begin + 901], predicted[begin : begin + 901])
    expected, found = measure(task, labels, predicted), tally.values()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=2e-3 if name in ROUGH and not kept else 1e-6), name


def test_probabilities_close_to_0_and_1_keep_their_order() -> None:
    shares = np.array([0, 1e-30, 1e-8, 1e-3, 0.3, 0.5, 0.7, 0.999, 1 - 1e-6, 1], np.float32)
    places = module._place(shares)
    assert np.all(np.diff(places) > 0)
    assert places[0] == 0
    assert places[-1] == module.BINS - 1


def test_nothing_and_a_single_class(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally("multiclass", 2)
    tally.add(np.array([-1]), np.array([[0.5, 0.5]], np.float32))
    assert set(tally.values().values()) == {None}
    monkeypatch.setattr(module, "KEPT", 0)
    tally.add(np.array([1, 1]), np.array([[0.2, 0.8], [0.7, 0.3]], np.float32))
    found = tally.values()
    assert found["accuracy"] == 0.5
    assert found["roc_auc"] is None
