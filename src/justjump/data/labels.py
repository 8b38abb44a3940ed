"""What is to be learned about each node or graph: one class, several labels, or numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from .errors import DataError, short

Task = Literal["multiclass", "multilabel", "regression"]
TASKS: tuple[Task, ...] = get_args(Task)
_HIGHEST = np.iinfo(np.int64).max


class Labels(NamedTuple):
    """Labels of N nodes or graphs.

    Attributes:
        values: multiclass: int64 `[N]`, the number of a class, -1 = unknown. multilabel: float32 `[N, L]` of 0 and 1,
            NaN = unknown. regression: float32 `[N, K]`, NaN = unknown.
        names: of the classes, of the L labels or of the K targets
        task: which of the three it is
    """

    values: np.ndarray
    names: tuple[str, ...]
    task: Task


def known(values: np.ndarray) -> np.ndarray:
    """Which rows have a label, or at least one of several: bool `[N]`."""
    return values >= 0 if values.ndim == 1 else ~np.isnan(values).all(axis=1)


def find_labels(y: Any, task: Task | None = None) -> Labels:
    """Make labels of an array `[N]` or `[N, K]`, and find the task from it unless one is named.

    Integers `[N]`, or 0.0 and 1.0 alone, are classes (-1 or NaN = unknown). Several columns of 0 and 1 are labels; if
    every row has exactly one 1, they are classes that are written one-hot. Everything else is numbers to predict. NaN
    means unknown.

    >>> find_labels(np.array([2, 0, -1])).task, find_labels(np.array([0.5, 2.0])).task
    ('multiclass', 'regression')
    >>> find_labels(np.array([[1, 0], [1, 1]])).task, find_labels(np.array([[1, 0], [0, 1]])).names
    ('multilabel', ('0', '1'))
    """
    y = np.asarray(y)
    if y.dtype.kind not in "iufb" or y.ndim not in (1, 2) or (y.ndim == 2 and not y.shape[1]):
        raise DataError(
            f"labels must be numbers of shape [N] or [N, K], got {y.dtype} of shape {list(y.shape)}: "
            "give each class a number, counted from 0"
        )
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    task = task or _task(y)
    if task == "multiclass":
        return _classes(y)
    columns = y.reshape(len(y), -1)
    names = tuple(str(number) for number in range(columns.shape[1]))
    if task == "multilabel" and columns.dtype.kind in "iu" and not np.isin(columns, (0, 1)).all():
        columns = np.where(columns == -1, np.nan, columns)  # -1 is unknown, as with classes
    return Labels(_float32(columns), names if len(names) > 1 or task == "multilabel" else ("target",), task)


def change_task(labels: Labels, task: Task) -> Labels:
    """The same labels for another task: classes with numbers as names become these numbers, and so on."""
    values, names, found = labels
    if task == found:
        return labels
    if not names:
        raise DataError(f"there are no labels to read for task={task!r}: label some nodes or graphs")
    if task == "regression" and found == "multiclass":
        try:
            numbers = np.array([float(name) for name in names] + [np.nan], dtype=np.float32)
        except ValueError:
            bad = next(name for name in names if not is_number_text(name))
            raise DataError(f"the class {short(bad)!r} is no number: task='regression' needs numbers") from None
        return Labels(numbers[values][:, None], ("target",), task)
    if task == "multilabel" and found == "multiclass":
        hot = np.eye(len(names), dtype=np.float32)[values]
        return Labels(np.where(values[:, None] < 0, np.float32("nan"), hot), names, task)
    if task == "regression":
        return Labels(values, names, task)
    changed = find_labels(values, task)
    return changed if len(changed.names) != len(names) else changed._replace(names=names)


def check_labels(labels: Labels, count: int) -> Labels:
    """Raise a `DataError` unless there are `count` labels of the right type and range; convert their numbers."""
    values, names, task = np.asarray(labels.values), tuple(str(name) for name in labels.names), labels.task
    if task not in TASKS:
        raise DataError(f"task={task!r} is unknown: choose one of {', '.join(TASKS)}")
    if len(set(names)) != len(names):
        twice, count = Counter(names).most_common(1)[0]
        raise DataError(f"all class_names must differ, but {short(twice)!r} is there {count} times")
    if task == "multiclass":
        if values.shape != (count,):
            raise DataError(f"labels must have shape [{count}], one for each, got {list(values.shape)}")
        values = integers(values, "labels")
        if values.size and values.min() < -1:
            raise DataError(f"labels must be numbers of classes, counted from 0, or -1 for unknown, got {values.min()}")
        check_range(values, -1, len(names), "labels", f"{len(names)} classes, -1 for unknown")
        return Labels(values, names, task)
    if values.ndim == 1:
        values = values[:, None]
    if values.shape != (count, len(names)) or not names:
        raise DataError(
            f"labels must have shape [{count}, {len(names)}], one column for each of class_names, "
            f"got {list(values.shape)}"
        )
    if values.dtype.kind not in "iufb":
        raise DataError(f"labels must be numbers, got {values.dtype}")
    values = _float32(values)
    bad = np.argwhere(np.isinf(values) if task == "regression" else ~(np.isnan(values) | np.isin(values, (0, 1))))
    if len(bad):
        row, column = bad[0]
        wanted = "finite numbers" if task == "regression" else "0 or 1"
        raise DataError(
            f"{task} labels must be {wanted}, NaN for unknown, but row {row} has {values[row, column]:g} for "
            f"{short(names[column])!r}"
        )
    return Labels(values, names, task)


def integers(values: Any, what: str) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise DataError(f"{what} must hold integers, got {array.dtype}: convert with .astype('int64')")
    if array.dtype == np.uint64 and array.size and array.max() > _HIGHEST:
        raise DataError(f"{what} must hold numbers below 2^63, got {array.max()}")
    return array.astype(np.int64)


def check_range(values: np.ndarray, low: int, high: int, what: str, why: str) -> None:
    if values.size and not low <= values.min() <= values.max() < high:
        bad = values[(values < low) | (values >= high)][0]
        raise DataError(f"{what} must lie in {low}..{high - 1} ({why}), got {bad}")


def _task(y: np.ndarray) -> Task:
    if y.ndim == 1:  # 0.0 and 1.0 are how people write two classes for a logistic loss
        return "multiclass" if y.dtype.kind in "iub" or np.isin(y[~np.isnan(y)], (0, 1)).all() else "regression"
    binary = (y == 0) | (y == 1) | (np.isnan(y) if y.dtype.kind == "f" else y == -1)
    if not binary.all():
        return "regression"
    return "multiclass" if len(y) and (y == 1).sum(axis=1).max() == 1 == (y == 1).sum(axis=1).min() else "multilabel"


def _classes(y: np.ndarray) -> Labels:
    if y.ndim == 2:  # one-hot; a row without a 1 is unknown
        several = np.flatnonzero((y == 1).sum(axis=1) > 1)
        if len(several) or not (np.isnan(y) | (y == 0) | (y == 1)).all():
            where = f", but row {several[0]} has several" if len(several) else ""
            raise DataError(f"task='multiclass' takes one class number per row, or one 1 among zeros{where}")
        values = np.where((y == 1).any(axis=1), (y == 1).argmax(axis=1), -1)
        return Labels(values, tuple(map(str, range(y.shape[1]))), "multiclass")
    if y.dtype.kind == "f":
        y = np.where(np.isnan(y), -1, y)
        wrong = (y != np.round(y)) | (np.abs(y) > 2**53)
        if wrong.any():
            raise DataError(f"task='multiclass' takes whole numbers, got {float(y[wrong][0])!r}: use task='regression'")
    values = integers(y.astype(np.int64) if y.dtype.kind in "bf" else y, "labels")
    highest = int(values.max(initial=-1))
    if highest >= max(len(values), 1000):
        raise DataError(f"labels must count from 0, got {highest} among {len(values)}: renumber the classes from 0")
    return Labels(values, tuple(map(str, range(highest + 1))), "multiclass")


def _float32(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # what overflows becomes inf
        found = np.ascontiguousarray(values, dtype=np.float32)
    large = np.argwhere(np.isinf(found) & np.isfinite(values))
    if len(large):
        row, value = large[0][0], values[tuple(large[0])]
        raise DataError(
            f"labels must be finite float32 numbers, but row {row} has {value:g}: scale them, or correct it"
        )
    return found


def is_number_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
