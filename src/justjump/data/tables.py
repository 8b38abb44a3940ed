"""Reader for graphs in a folder with `nodes.csv` and `edges.csv`."""

from __future__ import annotations

import csv
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from .errors import DataError, short
from .graph import Graph, Masks
from .sparse import WeightConflictError, simplify
from .splits import ROLES

# Above this share of non-zeros a dense array is smaller than CSR (8 bytes per entry) and faster.
_DENSE = 0.5


def read_tables(folder: str | Path, directed: bool = False) -> Graph:
    """Read a graph from `nodes.csv` (`id[,label][,split],features...`) and `edges.csv` (`source,target[,weight]`).

    Self-loops are dropped, repeated edges count once and, unless `directed`, the reverse of every edge is added.
    """
    folder = Path(folder)
    try:
        return _read(folder, directed)
    except MemoryError as error:
        raise DataError(
            f"cannot read {folder}: its graph does not fit into memory: use a machine with more, or a smaller graph"
        ) from error


def _read(folder: Path, directed: bool) -> Graph:
    nodes = _read_nodes(folder / "nodes.csv")
    edge_index, weight = _read_edges(folder / "edges.csv", nodes.number, directed)
    labels, class_names = nodes.labels()
    return Graph(
        edge_index=edge_index,
        features=nodes.features(),
        labels=labels,
        class_names=class_names,
        name=folder.resolve().name,
        edge_weight=weight,
        node_names=tuple(nodes.number),
        masks=nodes.masks(),
        feature_names=tuple(nodes.columns),
    )


class _Table:
    """A CSV file with a header. Iterating over it yields the line number and the values of each row."""

    def __init__(self, path: Path, required: tuple[str, ...]) -> None:
        self.path = path
        self._lines = self._read()
        try:
            _, header = next(self._lines)
        except StopIteration:
            raise DataError(f"{path} is empty: its first line must name the columns {','.join(required)},...") from None
        self.columns = [column.strip() for column in header]
        for column in required:
            if column not in self.columns:
                raise DataError(
                    f"{path}, line 1: there is no column {column!r} in {short(','.join(self.columns))!r}: the first "
                    f"line must name the columns {','.join(required)},... separated by commas"
                )
        twice, count = Counter(self.columns).most_common(1)[0]
        if count > 1:
            raise DataError(f"{path}, line 1: there are two columns {short(twice)!r}: rename one of them")

    def position(self, column: str) -> int | None:
        return self.columns.index(column) if column in self.columns else None

    def error(self, line: int, problem: str) -> DataError:
        return DataError(f"{self.path}, line {line}: {problem}")

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        for line, row in self._lines:
            if len(row) != len(self.columns):
                raise self.error(line, f"{len(row)} values, expected {len(self.columns)}, one for each column")
            yield line, row

    def _read(self) -> Iterator[tuple[int, list[str]]]:
        line = 0
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file, strict=True)
                for row in reader:
                    line = reader.line_num
                    if row:
                        yield line, row
        except FileNotFoundError:
            raise DataError(
                f"{self.path} does not exist: the folder of a graph must hold nodes.csv and edges.csv"
            ) from None
        except OSError as error:
            raise DataError(f"cannot read {self.path}: {error.strerror}") from error
        except csv.Error as error:
            raise self.error(line + 1, f"not valid CSV ({short(error)})") from error
        except UnicodeDecodeError as error:
            raise DataError(f"{self.path} is not UTF-8 text after line {line}: save it as UTF-8") from error


class _Nodes:
    """The contents of `nodes.csv`, collected row by row."""

    def __init__(self, columns: list[str]) -> None:
        self.columns = columns  # names of the features
        self.number: dict[str, int] = {}  # id -> number of the node
        self.label: list[str] = []
        self.role = array("b")  # 0 train, 1 val, 2 test, -1 none
        self.entries: list[tuple[np.ndarray, np.ndarray]] = []  # per node, columns and values of the non-zeros

    def features(self) -> csr_matrix | np.ndarray:
        counts = [len(indices) for indices, _ in self.entries]
        indices = np.concatenate([indices for indices, _ in self.entries])
        values = np.concatenate([values for _, values in self.entries])
        matrix = csr_matrix((values, indices, np.cumsum([0, *counts])), shape=(len(counts), len(self.columns)))
        return matrix.toarray() if matrix.nnz > _DENSE * np.prod(matrix.shape, dtype=float) else matrix

    def labels(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """Labels `[N]`, and the names of the classes, sorted as numbers if all are numbers, otherwise as text."""
        names = set(self.label) - {""}
        numeric = all(name.isascii() and name.isdigit() for name in names)
        ordered = sorted(names, key=_numerical if numeric else None)
        number = {"": -1} | {name: index for index, name in enumerate(ordered)}
        return np.fromiter((number[name] for name in self.label), np.int64, len(self.label)), tuple(ordered)

    def masks(self) -> Masks | None:
        role = np.array(self.role)
        return (role == 0, role == 1, role == 2) if (role >= 0).any() else None


def _read_nodes(path: Path) -> _Nodes:
    table = _Table(path, ("id",))
    identity, label, split = (table.position(column) for column in ("id", "label", "split"))
    chosen = [index for index, column in enumerate(table.columns) if column not in ("id", "label", "split")]
    if not chosen:
        raise DataError(
            f"{path}, line 1: there is no column of features besides {','.join(table.columns)}: add at least one"
        )
    nodes = _Nodes([table.columns[index] for index in chosen])
    contiguous = slice(chosen[0], chosen[-1] + 1) if chosen[-1] - chosen[0] + 1 == len(chosen) else None
    roles = {"": -1} | {role: index for index, role in enumerate(ROLES)}
    lines = array("q")
    for line, row in table:
        name = row[identity or 0].strip()
        if not name:
            raise table.error(line, "the id is empty: give every node an id")
        if name in nodes.number:
            raise table.error(
                line, f"the id {short(name)!r} is already in line {lines[nodes.number[name]]}: all ids must differ"
            )
        nodes.number[name] = len(lines)
        lines.append(line)
        text = "" if label is None else row[label].strip()
        if text == "-1":
            raise table.error(
                line, "the label -1 is ambiguous: leave it empty if it is unknown, or give the class another name"
            )
        nodes.label.append(text)
        role = "" if split is None else row[split].strip().lower()
        if role not in roles:
            raise table.error(line, f"the split {short(role)!r} must be train, val, test or empty")
        nodes.role.append(roles[role])
        nodes.entries.append(
            _features(table, line, row[contiguous] if contiguous else [row[i] for i in chosen], nodes.columns)
        )
    if not lines:
        raise DataError(f"{path} has a header but no nodes: add one line per node")
    return nodes


def _features(table: _Table, line: int, cells: list[str], columns: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Columns (int32) and values (float32) of the non-zeros of one row."""
    try:
        numbers = list(map(float, cells))
    except ValueError:
        numbers = [_number(cell) for cell in cells]
    with np.errstate(over="ignore"):  # values that overflow become inf, which is reported below
        values = np.array(numbers, dtype=np.float32)
    finite = np.isfinite(values)
    if not finite.all():
        bad = int(np.flatnonzero(~finite)[0])
        raise table.error(
            line, f"the feature {short(columns[bad])!r} must be a finite number, got {short(cells[bad])!r}"
        )
    indices = np.flatnonzero(values)
    return indices.astype(np.int32), values[indices]


def _read_edges(path: Path, number: dict[str, int], directed: bool) -> tuple[np.ndarray, np.ndarray | None]:
    table = _Table(path, ("source", "target"))
    unknown = [column for column in table.columns if column not in ("source", "target", "weight")]
    if unknown:
        raise DataError(f"{path}, line 1: unknown column {short(unknown[0])!r}: the columns are source,target[,weight]")
    source, target, weight = (table.position(column) for column in ("source", "target", "weight"))
    ends, weights, lines = array("q"), array("d"), array("q")
    for line, row in table:
        for column, position in (("source", source), ("target", target)):
            name = row[position or 0].strip()
            node = number.get(name)
            if node is None:
                raise table.error(line, f"the {column} {short(name)!r} is not an id in nodes.csv")
            ends.append(node)
        lines.append(line)
        if weight is not None:
            value = _number(row[weight])
            if not 0 <= value <= float(np.finfo(np.float32).max):
                raise table.error(line, f"the weight {short(row[weight])!r} must be a number that is not negative")
            weights.append(value)
    edge_index = np.array(ends, dtype=np.int64).reshape(-1, 2).T  # [2, E]
    try:
        return simplify(edge_index, len(number), None if weight is None else np.array(weights), directed)
    except WeightConflictError as error:
        first, second = lines[error.first], lines[error.second]
        raise table.error(
            max(first, second),
            f"the edge of line {min(first, second)} is repeated with another weight ({error.weights[0]:g} and "
            f"{error.weights[1]:g}): keep one, or read the graph with directed=True if they have opposite directions",
        ) from None


def _numerical(digits: str) -> tuple[int, str, str]:
    """Key that sorts numbers by value, however many digits they have; equal ones such as 1 and 01 as text."""
    significant = digits.lstrip("0")
    return len(significant), significant, digits


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
