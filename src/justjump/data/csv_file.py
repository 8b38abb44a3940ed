"""A CSV file with a header."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .errors import DataError, refuse_pipe, short
from .faults import Rows, no_column, two_columns


class CsvFile:
    """A CSV file with a header. Each iteration reads it anew, and yields the line number and the values of each row."""

    def __init__(self, path: Path, required: tuple[str, ...]) -> None:
        self.path = path
        try:
            _, header = next(self._lines())
        except StopIteration:
            raise DataError(f"{path} is empty: its first line must name the columns {','.join(required)},...") from None
        self.columns = [column.strip() for column in header]
        for column in required:
            if column not in self.columns:
                raise no_column(path, column, self.columns)
        self._place = {column: position for position, column in enumerate(self.columns)}
        twice, count = Counter(self.columns).most_common(1)[0]
        if count > 1:
            raise two_columns(path, twice)

    def position(self, column: str | None) -> int | None:
        return None if column is None else self._place.get(column)

    def positions(self, columns: Iterable[str]) -> list[int]:
        """The positions of columns that are there."""
        return [self._place[column] for column in columns]

    def rows(self, lines: Sequence[int]) -> Rows:
        """The rows, given the line of each."""
        return Rows(self.path, lines)

    def error(self, line: int, problem: str) -> DataError:
        return self.rows([line]).error(0, problem)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        lines = self._lines()
        next(lines)
        for line, row in lines:
            if len(row) != len(self.columns):
                raise self.error(line, f"{len(row)} values, expected {len(self.columns)}, one for each column")
            yield line, row

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        line = 0
        try:
            refuse_pipe(self.path)
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file, strict=True)
                for row in reader:
                    line = reader.line_num
                    if row:
                        yield line, row
        except FileNotFoundError:
            is_of_graph = self.path.name in ("nodes.csv", "edges.csv")
            remedy = "the folder of a graph must hold nodes.csv and edges.csv" if is_of_graph else "name a file"
            raise DataError(f"{self.path} does not exist: {remedy}") from None
        except OSError as error:
            raise DataError(f"cannot read {self.path}: {error.strerror}") from error
        except csv.Error as error:
            remedy = "close and double its quotes, and keep each cell below 131,072 characters"
            raise self.error(line + 1, f"not valid CSV ({short(error)}): {remedy}") from error
        except UnicodeDecodeError as error:
            bad = self._first_other_text()
            raise DataError(f"{self.path} is not UTF-8 text in line {bad}: save it as UTF-8") from error

    def _first_other_text(self) -> int:
        """The first line that is not UTF-8. Files are decoded in blocks, so the reader does not know it."""
        number = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return number
        return number
