"""From tables that are larger than memory to a graph in parts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from justjump.files import write_folder

from ..columns import cell_text
from ..errors import DataError
from ..faults import bad_weight, check_edge_columns, no_features, no_rows, two_weights
from ..preprocess import Scale
from .assign import check_parts, given_parts, hash_parts
from .buckets import Buckets
from .edges import PartEdges, part_edges
from .ids import Ids, are_integers
from .layout import Shape
from .numbering import Numbering
from .progress import Steps
from .reader import Parts, open_parts
from .source import TableSource
from .streamed_columns import read_column, weights_of_batch
from .streamed_fit import FeatureEncoder, FeatureFit
from .streamed_labels import label_columns, read_labels, read_roles
from .writer import NodeRows, PartsWriter

_FLOAT32 = float(np.finfo(np.float32).max)
_BATCH_BYTES = 2**25  # of the features of one batch


def partition_tables(
    nodes: str | Path,
    edges: str | Path,
    parts: int,
    output: str | Path,
    method: Any = "hash",
    *,
    directed: bool = False,
    label: str | Sequence[str] | None = None,
    scale: Scale = "auto",
    progress: bool = False,
) -> Parts:
    """Write a graph in parts from two tables that may be larger than memory.

    The result is that of `read_graph(...).partition(...)` on the same tables. They are read in batches, several times.
    In memory are about 200 MB, 70 bytes per node and 100 bytes per edge of the largest part. An edge counts in each
    direction, and repeated ones count until they are merged. Beside the result, the disk holds 8 to 24 bytes per edge
    and direction for a while, and a copy of CSV files.

    Args:
        nodes: a `.csv` or `.parquet` file, or a folder with `.parquet` files, with the columns of `nodes.csv`: `id`,
            perhaps `label` and `split`, features.
        edges: the same with `source`, `target` and perhaps `weight`.
        parts: number of parts.
        output: the folder, which must not exist yet. A killed call leaves nothing there.
        method: `"hash"`, or the part of each node as in `Graph.partition`. METIS needs the graph in memory.
        directed: use each edge in one direction only.
        label: the column with the labels, or several; by default `label`.
        scale: how columns of numbers are treated, as in `Preprocessing`.
        progress: show a bar with the time left.
    """
    parts = check_parts(parts)
    if isinstance(method, str) and method == "metis":
        raise DataError(
            "method='metis' needs the whole graph in memory, but tables are streamed: choose hash or a file with "
            "parts, or name the folder of the tables as GRAPH if it fits"
        )
    files, called = (Path(nodes), Path(edges)), "hash" if isinstance(method, str) and method == "hash" else "given"

    def write(folder: Path) -> None:
        with Steps(progress) as steps:
            work = folder / "work"
            work.mkdir()
            tables = _Tables.open(*files, work, steps)
            part = hash_parts(len(tables.ids), parts) if called == "hash" else _given(method, tables, parts)
            _Conversion(folder, tables, Numbering.of(part, parts), directed, steps).run(called, label, scale)

    try:
        write_folder(Path(output), write)
    except MemoryError as error:
        raise DataError(
            f"one of {parts} parts does not fit into memory: use more parts, or a machine with more memory"
        ) from error
    return open_parts(output, verify=False)


@dataclass(frozen=True, eq=False)
class _Tables:
    nodes: TableSource
    edges: TableSource
    ids: Ids

    @classmethod
    def open(cls, node_file: Path, edge_file: Path, work: Path, steps: Steps) -> _Tables:
        nodes = TableSource.open(node_file, ("id",), work, steps)
        edges = TableSource.open(edge_file, ("source", "target"), work, steps)
        check_edge_columns(edge_file, edges.columns)
        if not nodes.num_rows:
            raise no_rows(node_file)
        integers = are_integers(nodes.columns["id"], edges.columns["source"], edges.columns["target"])
        return cls(nodes, edges, Ids(nodes, integers, work))


def _given(method: Any, tables: _Tables, parts: int) -> np.ndarray:
    count = len(tables.ids)
    names = None
    if isinstance(method, str | Path) and Path(method).suffix == ".csv":
        names = [tables.ids.name(number) for number in range(count)]
    return given_parts(method, count, parts, names)


class _Conversion:
    def __init__(self, folder: Path, tables: _Tables, numbering: Numbering, directed: bool, steps: Steps) -> None:
        self.folder, self.tables, self.numbering, self.directed, self.steps = folder, tables, numbering, directed, steps
        self.work = folder / "work"
        self.weighted = "weight" in tables.edges.columns

    def run(self, method: str, label: str | Sequence[str] | None, scale: Scale) -> None:
        nodes = self.tables.nodes
        chosen = label_columns(nodes, label)
        labels, masks = read_labels(nodes, chosen), read_roles(nodes)
        features = [name for name in nodes.columns if name not in ("id", "split", *chosen)]
        if not features:
            raise no_features(nodes.path, nodes.columns)
        encoder = self._fit(features, scale)
        outputs = encoder.preprocessing.num_outputs
        flags = (encoder.sparse, self.weighted, masks is not None, True)
        shape = Shape(self.numbering.num_parts, outputs, len(labels.names), labels.task, *flags)
        writer = PartsWriter(self.folder, self.numbering, shape)
        self._fill_buckets()
        for number, edges in enumerate(self.steps.each("sorting edges", self._edges(), shape.num_parts)):
            writer.add_edges(number, edges)
        advance = self.steps.count("writing nodes", nodes.num_rows)
        first = 0
        for batch in nodes.batches(["id", *encoder.kinds], max(256, _BATCH_BYTES // (8 * outputs))):
            there = slice(first, first + len(batch))
            roles = None if masks is None else (masks[0][there], masks[1][there], masks[2][there])
            names = self.tables.ids.names(there.start, there.stop)
            writer.add_nodes(first, NodeRows(encoder.encode(batch), labels.values[there], roles, names))
            first += len(batch)
            advance(len(batch))
        shutil.rmtree(self.work)
        name, advance = nodes.path.resolve().parent.name, self.steps.count("checksums", shape.num_parts)
        writer.finish(name, labels, chosen or None, method, 0, encoder.preprocessing, advance)

    def _fit(self, columns: Sequence[str], scale: Scale) -> FeatureEncoder:
        nodes = self.tables.nodes
        fit = FeatureFit(nodes.num_rows, scale)
        for name in self.steps.each("looking at columns", columns, len(columns)):
            fit.add(name, read_column(nodes, name))
        try:
            return fit.result()
        except DataError as error:
            raise DataError(f"{nodes.path}: {error}") from None

    def _fill_buckets(self) -> None:
        self.buckets = Buckets(self.work, self.numbering, self.weighted, self.directed)
        advance = self.steps.count("reading edges", self.tables.edges.num_rows)
        for source, target, weight in self._ends_and_weights():
            self.buckets.add(source, target, weight)
            advance(len(source))

    def _ends_and_weights(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Sources, targets and weights of all edges, batch by batch, with the numbers of nodes in the data."""
        table, ids, first = self.tables.edges, self.tables.ids, 0
        columns = ["source", "target"] + ["weight"] * self.weighted
        for batch in table.batches(columns):
            arrays = {name: batch.column(batch.schema.get_field_index(name)) for name in columns}
            source, target = (ids.numbers(arrays[end], end, first, table.rows) for end in ("source", "target"))
            yield source, target, self._weights(arrays["weight"], first) if self.weighted else None
            first += len(batch)

    def _weights(self, array: Any, first: int) -> np.ndarray:
        weights = weights_of_batch(array)
        good = (weights >= 0) & (weights <= _FLOAT32)
        if not good.all():
            row = int(np.flatnonzero(~good)[0])
            raise self.tables.edges.rows.error(first + row, bad_weight(cell_text(array[row].as_py())))
        return weights

    def _edges(self) -> Iterator[PartEdges]:
        count = len(self.numbering.new)
        for part in range(self.numbering.num_parts):
            begin, end = (int(bound) for bound in self.numbering.ranges[part : part + 2])
            yield part_edges(*self.buckets.take(part, self._conflict), begin, end, count)

    def _conflict(self, source: int, target: int) -> DataError:
        """Two weights of one edge, between new numbers. Its rows are looked for in the table once more."""
        wanted = tuple(int(np.flatnonzero(self.numbering.new == new)[0]) for new in (source, target))
        found: dict[float, int] = {}
        begin = 0
        for sources, targets, weights in self._ends_and_weights():
            assert weights is not None
            there = (sources == wanted[0]) & (targets == wanted[1])
            if not self.directed:
                there |= (sources == wanted[1]) & (targets == wanted[0])
            for row in np.flatnonzero(there).tolist():
                found.setdefault(float(weights[row]), begin + row)
            begin += len(sources)
        (one, two), rows = list(found)[:2], list(found.values())
        return two_weights(self.tables.edges.rows, rows[0], rows[1], (one, two))
