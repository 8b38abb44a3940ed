"""Predictions as a CSV or Parquet file, written block by block."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from justjump.data.labels import Task
from justjump.files import replace_file
from justjump.train.errors import RunError

# Number of predicted values that are made into text, or into a row group, at a time.
BLOCK_VALUES = 2**20


class Block(NamedTuple):
    """What a network says about some nodes or graphs.

    Attributes:
        ids: ``[k]`` their names, or their numbers
        predicted: ``[k, C]`` probabilities or numbers
        roles: ``[k]`` their parts of the split, ``""`` for none; None if it is not known
    """

    ids: Sequence[Any] | np.ndarray
    predicted: np.ndarray
    roles: Sequence[str] | None


@dataclass(frozen=True)
class Columns:
    """The columns of the file.

    Attributes:
        unit: ``"node"`` or ``"graph"``
        task: of the network
        class_names: of the classes, labels or targets
        named: whether the ids are names
        roles: whether the split is known
    """

    unit: str
    task: Task
    class_names: Sequence[str]
    named: bool
    roles: bool

    @property
    def header(self) -> list[str]:
        best = ["class", "probability"] if self.task == "multiclass" else []
        return [self.unit, *best, *(["split"] if self.roles else []), *self.class_names]


def write_predictions(output: Path, columns: Columns, blocks: Iterable[Block]) -> None:
    """Write a Parquet file if its name ends in ``.parquet``, else a CSV file. It is there completely or not at all."""
    write = _parquet(columns, blocks) if output.suffix == ".parquet" else _csv(columns, blocks)
    replace_file(output, write)


def _csv(columns: Columns, blocks: Iterable[Block]) -> Callable[[Path], None]:
    form = ".7g" if columns.task == "regression" else ".6f"

    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns.header)
            for block in _small(blocks):
                best = block.predicted.argmax(axis=1) if columns.task == "multiclass" else None
                for number, (name, row) in enumerate(zip(block.ids, block.predicted, strict=True)):
                    cells = [name]
                    if best is not None:
                        cells += [columns.class_names[best[number]], f"{row[best[number]]:.6f}"]
                    cells += [] if block.roles is None else [block.roles[number]]
                    writer.writerow(cells + [format(value, form) for value in row])

    return write


def _parquet(columns: Columns, blocks: Iterable[Block]) -> Callable[[Path], None]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise RunError("a .parquet file needs pyarrow: pip install 'justjump[parts]', or name a .csv file") from error

    kinds = {columns.unit: pa.string() if columns.named else pa.int64(), "class": pa.string(), "split": pa.string()}
    beside = len(columns.header) - len(columns.class_names)
    fields = [(name, kinds.get(name, pa.float32())) for name in columns.header[:beside]]
    schema = pa.schema([*fields, *((name, pa.float32()) for name in columns.class_names)])
    names = np.array(columns.class_names, dtype=object)

    def write(path: Path) -> None:
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for block in _small(blocks):
                arrays: list[Any] = [block.ids]
                if columns.task == "multiclass":
                    arrays += [names[block.predicted.argmax(axis=1)], block.predicted.max(axis=1)]
                arrays += [] if block.roles is None else [[role or None for role in block.roles]]
                arrays += list(block.predicted.T)
                made = [pa.array(values, kind) for values, kind in zip(arrays, schema.types, strict=True)]
                writer.write_table(pa.Table.from_arrays(made, schema=schema))

    return write


def _small(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same in blocks of a limited size."""
    for ids, predicted, roles in blocks:
        size = max(1, BLOCK_VALUES // max(1, predicted.shape[1]))
        for begin in range(0, len(predicted), size):
            rows = slice(begin, begin + size)
            yield Block(ids[rows], predicted[rows], None if roles is None else roles[rows])
