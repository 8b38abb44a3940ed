"""Rows of features and targets, as scikit-learn has them, as a graph without edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from justjump.data import DataError, Graph, Table
from justjump.data.columns import cell_text
from justjump.data.errors import short
from justjump.data.frames import text_of
from justjump.data.labels import Labels, find_labels, is_number_text
from justjump.warn import warn


def is_table(X: Any) -> bool:
    """Whether ``X`` is rows of features: everything that is not a graph, its name, or a list of graphs."""
    from torch_geometric.data import Dataset
    from torch_geometric.data.data import BaseData

    if isinstance(X, list | tuple) and len(X):
        return not isinstance(X[0], Graph | BaseData)
    return not isinstance(X, Graph | str | BaseData | Dataset)


def table_graph(estimator: Any, X: Any, labels: Labels | None = None, *, fits: bool = False) -> Graph:
    """A node without edges for each row of ``X`` ``[N, F]``.

    Args:
        estimator: remembers the number and the names of the columns if this ``fits`` it, else they are compared
        X: an array, a sparse matrix, lists of numbers, or a data frame with columns of any kind; NaN is missing
        labels: of the rows; unknown by default
    """
    if _is_mixed_frame(X):
        validate_data(estimator, X, reset=fits, skip_check_array=True)
        features: Any = Table.of({str(name): X.iloc[:, place] for place, name in enumerate(X.columns)})
        names = None
    else:
        names = _names(X)
        least = 2 if fits else 1
        checks = {"accept_sparse": "csr", "ensure_all_finite": "allow-nan", "ensure_min_samples": least}
        features = validate_data(estimator, X, reset=fits, **checks)
    if labels is None:
        labels = Labels(np.full(features.shape[0], -1), (), "multiclass")
    check_consistent_length(labels.values, np.empty(features.shape[0]))
    no_edges = np.empty((2, 0), dtype=np.int64)
    return Graph(no_edges, features, labels.values, labels.names, name="table", feature_names=names, task=labels.task)


def class_labels(y: Any, task: str = "auto", classes: np.ndarray | None = None) -> tuple[Labels, np.ndarray]:
    """Labels of rows, and the classes (or the names of several labels) as they stand in ``y``.

    Args:
        y: ``[N]``, classes of any type; missing values are unknown, and so is -1 unless it is one of just two classes.
            Or ``[N, L]`` of 0 and 1, NaN or -1 for unknown
        task: ``"multiclass"`` reads several columns as classes that are written one-hot
        classes: those of ``fit``, if they are known: -1 is a class if it is one of them
    """
    columns = _names(y)
    y = y.toarray() if issparse(y) else np.asarray(y)
    if y.ndim == 2 and y.shape[1] > 1:
        numbers = check_array(y, ensure_all_finite="allow-nan", input_name="y")
        unknown = np.isnan(numbers) | (numbers == -1)
        wrong = numbers[~unknown & ~np.isin(numbers, (0, 1))]
        if len(wrong):
            raise DataError(f"Unknown label type: the columns of y must hold 0 and 1, got {wrong[0]:g}")
        labels = find_labels(np.where(unknown, np.nan, numbers), "multiclass" if task == "multiclass" else "multilabel")
        labels = labels._replace(names=columns or labels.names)
        return labels, np.arange(len(labels.names)) if columns is None else np.array(labels.names)

    if y.ndim == 2 and y.shape[1] == 1:  # column_or_1d says it, too, but of this line
        warn("A column-vector y was passed when a 1d array was expected: pass y.ravel()", DataConversionWarning)
    y = column_or_1d(y)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise DataError("y must hold classes, got infinity")
    known = ~_is_missing(y)
    if not known.any():
        raise DataError("y has no labels: all of its values are missing")
    there = np.array(y[known].tolist()) if y.dtype == object else y[known]
    check_classification_targets(there)
    is_unlabelled = len(np.unique(there)) > 2 if classes is None else -1 not in classes.tolist()
    if there.dtype.kind in "if" and is_unlabelled:
        known[known] = there != -1
        there = there[there != -1]
    found, numbers = np.unique(there, return_inverse=True)
    values = np.full(len(y), -1)
    values[known] = numbers
    labels = Labels(values, tuple(text_of(one) for one in found.tolist()), "multiclass")
    if task == "multilabel":
        raise DataError("task='multilabel' takes a y of several columns of 0 and 1, got one column")
    return labels, found


def number_labels(y: Any) -> Labels:
    """Targets ``[N]`` or ``[N, K]``; NaN is unknown."""
    columns = _names(y)
    text = next(filter(lambda one: not is_number_text(one), _texts(y)), None)
    if text is not None:
        raise DataError(f"y must hold numbers, got {short(text)!r}: DNAClassifier predicts classes")
    numbers = check_array(y, ensure_2d=False, ensure_all_finite="allow-nan", dtype="numeric", input_name="y")
    labels = find_labels(numbers, "regression")
    return labels if columns is None else labels._replace(names=columns)


def _texts(y: Any) -> Iterator[str]:
    values = np.empty(0) if issparse(y) else np.asarray(y)
    if values.dtype.kind in "OU":
        yield from (one for one in values.ravel() if isinstance(one, str))


def _is_mixed_frame(X: Any) -> bool:
    """Whether it is a data frame with columns that are not numbers."""
    if not hasattr(X, "columns") or not hasattr(X, "iloc"):
        return False
    return not all(getattr(kind, "kind", "O") in "iuf" for kind in X.dtypes)


def _names(frame: Any) -> tuple[str, ...] | None:
    """The names of the columns of a data frame, if all of them are texts."""
    names = list(getattr(frame, "columns", []))
    return tuple(names) if names and all(isinstance(name, str) for name in names) else None


def _is_missing(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype.kind not in "OU":
        return np.zeros(len(y), dtype=bool)
    return np.array([cell_text(one) == "" or (isinstance(one, float) and one != one) for one in y.tolist()], dtype=bool)
