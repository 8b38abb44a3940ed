"""What can be wrong with tables of nodes and edges: one sentence for each fault, whichever reader finds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .cells import number
from .errors import DataError, short

_UNKNOWN = "correct it, or leave it empty if it is unknown"
EDGE_COLUMNS = ("source", "target", "weight")


class Rows:
    """The rows of a table, as messages call them: lines of a CSV file, or numbers that are counted from 0.

    >>> Rows("nodes.csv", [2, 3, 5]).error(2, "the id is empty")
    DataError('nodes.csv, line 5: the id is empty')
    """

    def __init__(self, where: object, lines: Sequence[int] | None = None) -> None:
        self.where, self.lines = where, lines

    def name(self, row: int) -> str:
        """What a row is called."""
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"

    def error(self, row: int, problem: str) -> DataError:
        """The problem behind its place."""
        return DataError(f"{self.where}, {self.name(row)}: {problem}")


class RowError(DataError):
    """What is wrong in one row; readers put its place in front of it."""

    def __init__(self, row: int, problem: str) -> None:
        self.row, self.problem = row, problem
        super().__init__(f"row {row}: {problem}")


def no_column(where: object, column: str, columns: Iterable[str], argument: str | None = None) -> DataError:
    """A required column is missing; in Python, an ``argument`` may name another one."""
    found = list(columns)
    remedy = "add it, or rename the one that holds it"
    if argument is not None:
        remedy = f"add it, or name the one that holds it with {argument}=..."
    if len(found) == 1 and any(mark in found[0] for mark in ";\t|"):
        remedy = "commas must separate the columns"
    return DataError(f"{where} has no column {short(column)!r}: its columns are {short(', '.join(found))}; {remedy}")


def two_columns(where: object, column: str) -> DataError:
    return DataError(f"{where} has two columns {short(column)!r}: rename one of them")


def check_edge_columns(where: object, columns: Iterable[str]) -> None:
    """Raise a `DataError` if a table of edges has a column that means nothing."""
    for column in columns:
        if column not in EDGE_COLUMNS:
            raise DataError(
                f"{where} has the column {short(column)!r}, which edges do not have: remove it, or rename it to "
                "source, target or weight"
            )


def no_rows(where: object) -> DataError:
    return DataError(f"{where} has no rows: add one per node")


def no_features(where: object, columns: Iterable[str]) -> DataError:
    return DataError(f"{where} has no column of features besides {short(', '.join(columns))}: add at least one")


def ignored_columns(columns: Sequence[str]) -> str:
    """
    >>> ignored_columns(["a"]), ignored_columns(["a", "b"])
    ("the column 'a' is ignored", "the columns 'a' and 'b' are ignored")
    """
    *others, last = [repr(short(column)) for column in columns[:5]]
    last = "others" if len(columns) > 5 else last
    named = f"{', '.join(others)} and {last}" if others else last
    return f"the column{'s' * bool(others)} {named} {'are' if others else 'is'} ignored"


EMPTY_ID = "the id is empty: give every node an id"


def same_id(name: str, place: str) -> str:
    return f"the id {short(name)!r} is already in {place}: all ids must differ"


def unknown_end(column: str, name: str, nodes: object) -> str:
    """The source or the target of an edge is no node; ``nodes`` is what the table of nodes is called."""
    if not name:
        return f"the {column} is empty: name an id in {nodes}, or remove the edge"
    return f"the {column} {short(name)!r} is not an id in {nodes}: correct it, or add a node with this id"


def bad_weight(text: str) -> str:
    if number(text) > 0:
        return f"the weight {short(text)!r} is too large, expected at most 3.4e+38: correct it, or scale all weights"
    return f"the weight {short(text)!r} must be a number that is not negative: correct it"


def two_weights(rows: Rows, first: int, second: int, weights: tuple[float, float]) -> DataError:
    """An edge has two weights, in two rows."""
    first, second = sorted((first, second))
    return rows.error(
        second,
        f"the edge of {rows.name(first)} is repeated with another weight ({weights[0]:g} and {weights[1]:g}): keep "
        "one, or read the graph with directed=True if they have opposite directions",
    )


def odd_cell(column: str, text: str, wanted: str) -> str:
    """A text in a column of numbers or of dates."""
    return f"the column {short(column)!r} holds {short(text)!r}, but most others are {wanted}s: {_UNKNOWN}"


def not_finite(column: str, value: float) -> str:
    found = f"{value} (or a number beyond 1.8e+308)"  # the text of the cell is not kept
    return f"the feature {short(column)!r} must be a finite number, got {found}: {_UNKNOWN}"


def no_number(column: str, text: str) -> str:
    """One of several columns of labels holds a text."""
    return f"several labels must be numbers, but {short(column)!r} holds {short(text)!r}: {_UNKNOWN}"


AMBIGUOUS = "the label -1 is ambiguous: leave it empty if it is unknown, or give the class another name"


def no_role(column: str, text: str) -> str:
    """A text in the column that says which nodes are for training, validation and test."""
    return f"the column {short(column)!r} must hold train, val, test or nothing, got {short(text)!r}"
