"""Reader for tables in Parquet files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import check_memory
from .errors import DataError, refuse_pipe, short
from .faults import check_edge_columns, no_column, two_columns
from .frames import Found, columns_of_frames, edges_of_frame, nodes_of_frame
from .nodes import Nodes

# Bytes at the peak of reading, as measured: of the id of a node, of a cell, and for each byte of a number.
_NODE_BYTES, _CELL_BYTES, _NUMBER_BYTES = 64, 32, 4


def read_nodes_parquet(paths: Sequence[Path], label: str | Sequence[str] | None = None) -> list[Nodes]:
    """Read tables with the columns of `nodes.csv`. What kinds their columns are is found from all together."""
    frames = [_frame(path, _NODE_BYTES) for path in paths]
    for path, frame in zip(paths, frames, strict=True):
        _check_columns(path, frame, "id")
    columns: list[Found] = columns_of_frames(frames, [str(path) for path in paths]) if len(paths) > 1 else [{}]
    read: list[Nodes] = []
    for path, frame, found in zip(paths, frames, columns, strict=True):
        own = label if not read else [name for name in read[0].label_columns if name in frame.columns]
        read.append(nodes_of_frame(frame, "id", own, None, str(path), found))
    return read


def read_edges_parquet(
    path: Path, nodes: dict[str, int], directed: bool, nodes_file: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """Read a table with the columns of `edges.csv`."""
    frame = _frame(path, 0)
    _check_columns(path, frame, "source", "target")
    check_edge_columns(path, map(str, frame.columns))
    return edges_of_frame(frame, nodes, ("source", "target"), None, directed, str(path), nodes_file)


def _check_columns(path: Path, frame: Any, *required: str) -> None:
    for column in required:
        if column not in frame.columns:
            raise no_column(path, column, map(str, frame.columns))


def _frame(path: Path, row_bytes: int) -> Any:
    try:
        import pandas as pd
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DataError(
            f"{path} needs {error.name}: pip install 'justjump[analysis]', or save the table as CSV"
        ) from error
    try:
        refuse_pipe(path)
        file = pq.ParquetFile(path)
        rows, columns = file.metadata.num_rows, list(file.schema_arrow)
        groups = (file.metadata.row_group(place) for place in range(file.metadata.num_row_groups))
        need = rows * (row_bytes + sum(map(_cell_bytes, columns))) + sum(group.total_byte_size for group in groups)
        check_memory(f"{path} with {rows} rows and {len(columns)} columns", need)
        flat = [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]
        table = file.read(columns=flat, use_threads=False)
        values = {name: _values(table.column(place)) for place, name in enumerate(table.column_names)}
        twice, count = Counter(file.schema_arrow.names or [""]).most_common(1)[0]
        if count > 1:
            raise two_columns(path, twice)
        nested = pd.Series([[]] * rows, dtype=object)  # lists are left out, whatever they hold
        return pd.DataFrame({name: values.get(name, nested) for name in file.schema_arrow.names})
    except DataError:
        raise
    except MemoryError:
        raise
    except Exception as error:  # pyarrow raises errors of many kinds
        raise DataError(f"cannot read {path}: it is not a valid Parquet file ({short(error)})") from error


def _cell_bytes(field: Any) -> int:
    """Bytes that reading takes for each row of a column; those of texts are in the file's own count."""
    try:
        width = field.type.bit_width // 8
    except ValueError:  # its values differ in length
        width = 0
    return _CELL_BYTES + _NUMBER_BYTES * width


def _values(column: Any) -> Any:
    """A column as pandas takes it; dictionaries become what they stand for."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_pandas()
