"""How good predictions are, by scikit-learn's measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from justjump.data.labels import Task, known
from justjump.train.protocol import Measure

Values = dict[str, float | None]

OF_CLASSES = ("accuracy", "balanced_accuracy", "macro_f1", "roc_auc", "average_precision", "log_loss")
OF_NUMBERS = ("mae", "rmse", "r2")
# The one measure that progress, tables and the choice among runs show.
SCORE: dict[Task, Measure] = {"multiclass": "accuracy", "multilabel": "roc_auc", "regression": "r2"}
LOWER_IS_BETTER = ("loss", "log_loss", "mae", "rmse")
WORDS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro-F1",
    "roc_auc": "ROC-AUC",
    "average_precision": "average precision",
    "log_loss": "log loss",
    "mae": "MAE",
    "rmse": "RMSE",
    "r2": "R2",
}


def measures_of(task: Task) -> tuple[str, ...]:
    return OF_NUMBERS if task == "regression" else OF_CLASSES


def is_share(measure: str) -> bool:
    """Whether people read it in percent."""
    return measure in OF_CLASSES and measure != "log_loss"


def measure(task: Task, labels: np.ndarray, predicted: np.ndarray, only: tuple[str, ...] | None = None) -> Values:
    """Compare predictions with labels; None where a measure is not defined, such as ROC-AUC of a single class.

    Args:
        labels: as in :class:`~justjump.data.Graph`; unknown entries do not count
        predicted: multiclass: probabilities ``[N, C]``; multilabel: probabilities ``[N, L]``; regression: ``[N, K]``
        only: some of the measures of the task, all by default

    With several labels, the accuracy is the share of right entries, and the other measures are means over the labels.
    Over several classes, ROC-AUC and average precision are means of each class against the rest.

    >>> measure("regression", np.array([[1.0], [2.0]]), np.array([[1.0], [3.0]]), only=("mae",))
    {'mae': 0.5}
    """
    rows = known(labels)
    labels, predicted = labels[rows], predicted[rows].astype(np.float64)
    chosen = measures_of(task) if only is None else only
    if not len(labels):
        return dict.fromkeys(chosen)
    if task == "multiclass":
        return {name: _MULTICLASS[name](labels, predicted) for name in chosen}
    return {name: _mean_over_columns(name, task, labels, predicted) for name in chosen}


def confusion(labels: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """How often each class ``[true, predicted]`` was predicted, int ``[C, C]``; both arguments are class numbers."""
    from sklearn.metrics import confusion_matrix

    return np.asarray(confusion_matrix(labels, predicted, labels=np.arange(classes)))


def calibration(labels: np.ndarray, probabilities: np.ndarray, bins: int = 10) -> list[tuple[float, float, int]]:
    """Confidence, share of right predictions, and their number, for each tenth of the confidence that occurs.

    The confidence is the probability of the predicted class. For several labels, every entry counts as a prediction of
    two classes.
    """
    if labels.ndim == 1:
        confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    else:
        there = ~np.isnan(labels)
        confidence = np.maximum(probabilities, 1 - probabilities)[there]
        right = ((probabilities > 0.5) == (labels == 1))[there]
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    found = [place == number for number in range(bins)]
    return [(float(confidence[one].mean()), float(right[one].mean()), int(one.sum())) for one in found if one.any()]


def calibration_error(curve: list[tuple[float, float, int]]) -> float:
    """The mean distance of confidence and share of right predictions, each prediction counting once."""
    total = sum(count for _, _, count in curve)
    return sum(abs(confidence - right) * count for confidence, right, count in curve) / max(total, 1)


def _mean_over_columns(name: str, task: Task, labels: np.ndarray, predicted: np.ndarray) -> float | None:
    values, weights = [], []
    for column in range(labels.shape[1]):
        there = ~np.isnan(labels[:, column])
        if not there.any():
            continue
        truth, guess = labels[there, column], predicted[there, column]
        if task == "regression":
            value = _REGRESSION[name](truth, guess)
        else:
            function = _OF_ONES.get(name, _MULTICLASS[name])
            value = function(truth.astype(np.int64), np.stack([1 - guess, guess], axis=1))
        if value is not None:
            values.append(value)
            # Shares of entries weigh by their number; the others count each label alike.
            weights.append(int(there.sum()) if name in ("accuracy", "log_loss") else 1)
    return float(np.average(values, weights=weights)) if values else None


def _accuracy(labels: np.ndarray, probabilities: np.ndarray) -> float:
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(labels, probabilities.argmax(axis=1)))


def _balanced_accuracy(labels: np.ndarray, probabilities: np.ndarray) -> float:
    from sklearn.metrics import recall_score

    predicted = probabilities.argmax(axis=1)
    return float(recall_score(labels, predicted, labels=np.unique(labels), average="macro", zero_division=0))


def _macro_f1(labels: np.ndarray, probabilities: np.ndarray) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(labels, probabilities.argmax(axis=1), average="macro", zero_division=0))


def _f1(labels: np.ndarray, probabilities: np.ndarray) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(labels, probabilities.argmax(axis=1), zero_division=0))


def _one_against_rest(function: Callable[..., Any]) -> Callable[[np.ndarray, np.ndarray], float | None]:
    def mean(labels: np.ndarray, probabilities: np.ndarray) -> float | None:
        present = np.unique(labels)
        if len(present) < 2:
            return None
        return float(np.mean([function(labels == one, probabilities[:, one]) for one in present]))

    return mean


def _roc_auc(labels: np.ndarray, probabilities: np.ndarray) -> float | None:
    from sklearn.metrics import roc_auc_score

    return _one_against_rest(roc_auc_score)(labels, probabilities)


def _average_precision(labels: np.ndarray, probabilities: np.ndarray) -> float | None:
    from sklearn.metrics import average_precision_score

    return _one_against_rest(average_precision_score)(labels, probabilities)


def _precision_of_ones(labels: np.ndarray, probabilities: np.ndarray) -> float | None:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(labels, probabilities[:, 1])) if 0 < labels.sum() < len(labels) else None


def _log_loss(labels: np.ndarray, probabilities: np.ndarray) -> float:
    from sklearn.metrics import log_loss

    exact = probabilities / probabilities.sum(axis=1, keepdims=True)  # float32 sums to 1 only roughly
    return float(log_loss(labels, exact, labels=np.arange(exact.shape[1])))


def _mae(labels: np.ndarray, predicted: np.ndarray) -> float:
    from sklearn.metrics import mean_absolute_error

    return float(mean_absolute_error(labels, predicted))


def _rmse(labels: np.ndarray, predicted: np.ndarray) -> float:
    from sklearn.metrics import root_mean_squared_error

    return float(root_mean_squared_error(labels, predicted))


def _r2(labels: np.ndarray, predicted: np.ndarray) -> float | None:
    from sklearn.metrics import r2_score

    return float(r2_score(labels, predicted)) if len(labels) > 1 else None


_MULTICLASS: dict[str, Callable[[np.ndarray, np.ndarray], float | None]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "macro_f1": _macro_f1,
    "roc_auc": _roc_auc,
    "average_precision": _average_precision,
    "log_loss": _log_loss,
}
# A label is its ones: how well its zeros are found says little if they are many.
_OF_ONES: dict[str, Callable[[np.ndarray, np.ndarray], float | None]] = {
    "macro_f1": _f1,
    "average_precision": _precision_of_ones,
}
_REGRESSION: dict[str, Callable[[np.ndarray, np.ndarray], float | None]] = {"mae": _mae, "rmse": _rmse, "r2": _r2}
