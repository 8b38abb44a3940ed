"""The nodes of a graph, as readers of tables collect them, and which column holds their labels."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from justjump.warn import warn

from .cells import BOOLEANS, MANY_NUMBERS, MISSING, MOSTLY, number
from .columns import Table
from .errors import DataError, DataWarning, NoColumnError, short
from .faults import AMBIGUOUS, EMPTY_ID, RowError, no_number, no_role, odd_cell
from .labels import Labels, find_labels
from .masks import Masks
from .splits import ROLES

# Above this share of non-zeros a dense array is smaller than CSR (8 bytes per entry) and faster.
_DENSE = 0.5
# A column of texts with one of these names holds the labels, if no column is called label.
LIKELY = ("class", "target", "y")
ROLE_NUMBERS = {"": -1} | {role: index for index, role in enumerate(ROLES)}


class Nodes(NamedTuple):
    """Everything about the nodes of a graph; `number` maps the id of a node to its number."""

    number: dict[str, int]
    features: csr_matrix | np.ndarray | Table
    feature_names: tuple[str, ...]
    labels: Labels
    masks: Masks | None
    label_columns: tuple[str, ...]
    masks_from: str | None

    def fields(self) -> dict[str, Any]:
        """What a `Graph` takes of them."""
        return {
            "features": self.features,
            "labels": self.labels.values,
            "class_names": self.labels.names,
            "node_names": tuple(self.number),
            "masks": self.masks,
            "feature_names": self.feature_names,
            "task": self.labels.task,
            "label_columns": self.label_columns or None,
            "masks_from": self.masks_from,
        }


@dataclass
class NodeRows:
    """Ids, labels and roles of nodes, collected row by row. Its errors are `ValueError`s without the file."""

    label_columns: Sequence[str]
    split_column: str = "split"
    number: dict[str, int] = field(default_factory=dict)  # id -> number of the node
    labels: list[tuple[str, ...]] = field(default_factory=list)
    role: array[int] = field(default_factory=lambda: array("b"))  # 0 train, 1 val, 2 test, -1 none

    def add(self, name: str, labels: Iterable[str], split: str) -> None:
        if not name:
            raise ValueError(EMPTY_ID)
        self.number[name] = len(self.number)
        texts = tuple(text.strip() for text in labels)
        if len(texts) == 1 and texts[0] == "-1":
            raise ValueError(AMBIGUOUS)
        self.labels.append(texts)
        role = split.strip().lower()
        if role not in ROLE_NUMBERS:
            raise ValueError(no_role(self.split_column, role))
        self.role.append(ROLE_NUMBERS[role])

    def nodes(self, features: csr_matrix | np.ndarray | Table, names: Sequence[str], where: object) -> Nodes:
        """The nodes, given their features and the names of these; messages call their table `where`."""
        own, masks = tuple(self.label_columns), self._masks()
        masks_from = None if masks is None else f"the column {short(self.split_column)!r} of {where}"
        return Nodes(self.number, features, tuple(names), self._labels(), masks, own, masks_from)

    def _masks(self) -> Masks | None:
        role = np.array(self.role)
        return (role == 0, role == 1, role == 2) if (role >= 0).any() else None

    def _labels(self) -> Labels:
        if len(self.label_columns) < 2:
            return labels_of([texts[0] if texts else "" for texts in self.labels], *self.label_columns)
        values = np.empty((len(self.labels), len(self.label_columns)))
        for row, texts in enumerate(self.labels):
            for column, text in enumerate(texts):
                if (value := label_number(text)) is None:
                    raise RowError(row, no_number(self.label_columns[column], text))
                values[row, column] = value
        return labels_of_columns(values, self.label_columns)


def labels_of(texts: Sequence[str], column: str = "label") -> Labels:
    """Labels from the texts of a column: classes, or numbers to predict if there are many, and not all are whole.

    The classes are sorted as numbers if all their names are whole numbers, otherwise as text.

    >>> labels_of(["NA", *(f"{place / 10}" for place in range(30))]).task
    'regression'
    """
    names = set(texts) - {""}
    if all(name.isascii() and name.isdigit() for name in names):
        ordered = sorted(names, key=_numerical)
    elif _are_amounts(names):
        for row, text in enumerate(texts):
            if label_number(text) is None:
                raise RowError(row, odd_cell(column, text, "number"))
        return Labels(np.array([[number(text)] for text in texts]), (column,), "regression")
    else:
        ordered = sorted(names)
    place = {"": -1} | {name: index for index, name in enumerate(ordered)}
    return Labels(np.fromiter((place[text] for text in texts), np.int64, len(texts)), tuple(ordered), "multiclass")


def labels_of_columns(values: np.ndarray, columns: Sequence[str]) -> Labels:
    """Labels from several columns of numbers `[N, K]`, NaN where unknown."""
    found = find_labels(values)
    is_one_each = found.values.ndim == 2 or len(found.names) == len(columns)
    return found._replace(names=tuple(columns)) if is_one_each else found


def label_number(text: str) -> float | None:
    """The value of a label that is a number, or yes and no; NaN where it is missing, None for another text."""
    if not math.isnan(value := number(text)):
        return value
    lower = text.lower()
    return float("nan") if lower in MISSING else BOOLEANS.get(lower)


def _are_amounts(names: Iterable[str]) -> bool:
    """Whether nearly all of many different labels are numbers, and not all of these are whole."""
    known = [number(name) for name in names if name.lower() not in MISSING]
    numbers = [value for value in known if not math.isnan(value)]
    is_mostly = len(numbers) > MANY_NUMBERS and len(numbers) >= MOSTLY * len(known)
    return is_mostly and not all(value.is_integer() for value in numbers)


def choose_labels(columns: Sequence[str], wanted: str | Sequence[str] | None, where: object) -> list[str] | None:
    """The columns with the labels, as far as their names say; None if their values must decide."""
    if wanted is None:
        return ["label"] if "label" in columns else None if any(map(is_likely, columns)) else []
    names, there = [wanted] if isinstance(wanted, str) else list(wanted), set(columns)
    for name in names:
        if name in ("id", "split") or name not in there:
            others = ", ".join(column for column in columns if column not in ("id", "split"))
            raise NoColumnError(
                f"{where} has no column {short(name)!r} for the label: choose from {short(others, 300)}"
            )
    return names


def is_likely(column: str) -> bool:
    return column.lower() in LIKELY


def guess_label(is_text: Mapping[str, bool], where: object) -> list[str]:
    """The one column of texts that is called like a label, if there is one; `is_text` of each column."""
    found = [column for column, text in is_text.items() if text and is_likely(column)]
    if len(found) > 1:
        raise DataError(
            f"{where} has no column 'label', but {' and '.join(found)}: say which one is the label with "
            f"label={found[0]!r}"
        )
    for column in found:
        message = f"{where}: the column {column!r} is taken as the label; choose another one with label=..."
        warn(message, DataWarning)
    return found


def compact(matrix: csr_matrix) -> csr_matrix | np.ndarray:
    """An array instead, if that is smaller."""
    return matrix.toarray() if is_dense(matrix.nnz, matrix.shape) else matrix


def is_dense(filled: int, shape: tuple[int, int]) -> bool:
    """Whether a matrix with so many non-zeros is smaller as an array."""
    return filled > _DENSE * shape[0] * shape[1]


def _numerical(digits: str) -> tuple[int, str, str]:
    """Key that sorts numbers by value, however many digits they have; equal ones such as 1 and 01 as text."""
    significant = digits.lstrip("0")
    return len(significant), significant, digits
