"""Measures by scikit-learn, with unknown entries, absent classes and several columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from justjump.train.measures import (
    LOWER_IS_BETTER,
    OF_CLASSES,
    OF_NUMBERS,
    SCORE,
    WORDS,
    calibration,
    calibration_error,
    confusion,
    is_share,
    measure,
    measures_of,
)

NAN = float("nan")


def test_two_classes_by_hand() -> None:
    labels = np.array([0, 0, 0, 1, -1])
    probabilities = np.array([[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.3, 0.7], [0.0, 1.0]])
    found = measure("multiclass", labels, probabilities)
    assert found["accuracy"] == pytest.approx(3 / 4)
    assert found["balanced_accuracy"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["macro_f1"] == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert found["roc_auc"] == pytest.approx(1.0)
    assert found["average_precision"] == pytest.approx(1.0)


def test_the_order_of_two_classes_does_not_matter() -> None:
    labels = np.random.RandomState(0).rand(200) < 0.05
    score = np.random.RandomState(1).rand(200)
    first = measure("multiclass", labels.astype(int), np.stack([1 - score, score], axis=1))
    second = measure("multiclass", 1 - labels, np.stack([score, 1 - score], axis=1))
    assert first == pytest.approx(second)


def test_two_classes_have_a_log_loss() -> None:
    labels, probabilities = np.array([0, 1]), np.array([[0.9, 0.1], [0.4, 0.6]])
    found = measure("multiclass", labels, probabilities)
    assert found["log_loss"] == pytest.approx(-np.log([0.9, 0.6]).mean())


def test_numbers_by_hand() -> None:
    found = measure("regression", np.array([[1.0, NAN], [3.0, 2.0], [5.0, 4.0]]), np.array([[1.0, 9], [3, 2], [8, 2]]))
    assert found["mae"] == pytest.approx((1 + 1) / 2)  # the mean over both targets
    assert found["rmse"] == pytest.approx((np.sqrt(3) + np.sqrt(2)) / 2)
    assert found["r2"] == pytest.approx((1 - 9 / 8 + 1 - 4 / 2) / 2)


def test_several_labels_by_hand() -> None:
    labels = np.array([[1, 0], [0, NAN], [1, 1]])
    found = measure("multilabel", labels, np.array([[0.9, 0.8], [0.6, 0.1], [0.7, 0.9]]))
    assert found["accuracy"] == pytest.approx(3 / 5)
    assert found["roc_auc"] == pytest.approx(1.0)
    assert found["macro_f1"] == pytest.approx((4 / 5 + 2 / 3) / 2)


def test_what_is_not_defined_is_none() -> None:
    assert measure("multiclass", np.array([1, 1]), np.full((2, 3), 1 / 3))["roc_auc"] is None
    assert set(measure("multiclass", np.array([-1]), np.ones((1, 2))).values()) == {None}
    assert measure("regression", np.array([[1.0]]), np.array([[1.0]]))["r2"] is None
    assert measure("multilabel", np.full((2, 1), NAN), np.ones((2, 1)))["accuracy"] is None


def test_a_class_that_is_absent_among_the_labels_does_not_count() -> None:
    found = measure("multiclass", np.array([0, 2]), np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]))
    assert found["balanced_accuracy"] == found["roc_auc"] == 1.0


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 2)), min_size=1, max_size=20))
def test_every_measure_of_classes_is_in_its_range(pairs: list[tuple[int, int]]) -> None:
    labels, predicted = np.array(pairs).T
    probabilities = 0.7 * np.eye(3)[predicted] + 0.1
    found = measure("multiclass", labels, probabilities)
    assert tuple(found) == OF_CLASSES
    for name, value in found.items():
        assert value is None or (0 <= value <= 1 if is_share(name) else value >= 0), name
    known = labels >= 0
    if known.any():
        assert found["accuracy"] == pytest.approx((labels == predicted)[known].mean())
        counts = confusion(labels[known], predicted[known], 3)
        assert counts.sum() == known.sum()
        assert np.trace(counts) == (labels == predicted)[known].sum()


def test_calibration_is_right_share_by_confidence() -> None:
    labels = np.array([0, 0, 1, 1])
    probabilities = np.array([[0.95, 0.05], [0.95, 0.05], [0.95, 0.05], [0.45, 0.55]])
    curve = calibration(labels, probabilities)
    assert [(round(c, 2), round(r, 3), n) for c, r, n in curve] == [(0.55, 1.0, 1), (0.95, 0.667, 3)]
    assert calibration_error(curve) == pytest.approx((0.45 + 3 * (0.95 - 2 / 3)) / 4)
    several = calibration(np.array([[1, NAN]]), np.array([[0.2, 0.9]]))
    assert several[0] == pytest.approx((0.8, 0.0, 1))


def test_every_measure_has_a_word_and_every_task_a_score() -> None:
    assert set(WORDS) == {*OF_CLASSES, *OF_NUMBERS}
    assert all(SCORE[task] in measures_of(task) for task in SCORE)
    assert not set(LOWER_IS_BETTER) & set(SCORE.values())
