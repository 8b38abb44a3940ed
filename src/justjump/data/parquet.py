"""Reader for tables in Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DataError, refuse_pipe, short
from .frames import edges_of_frame, nodes_of_frame
from .nodes import Nodes


def read_nodes_parquet(path: Path, label: str | Sequence[str] | None = None) -> Nodes:
    """Read a table with the columns of `nodes.csv`."""
    frame = _frame(path)
    if "id" not in frame.columns:
        raise DataError(f"{path}: there is no column 'id' in {short(', '.join(map(str, frame.columns)))!r}")
    return nodes_of_frame(frame, "id", label, None, str(path))


def read_edges_parquet(
    path: Path, nodes: dict[str, int], directed: bool, nodes_file: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """Read a table with the columns of `edges.csv`."""
    frame = _frame(path)
    unknown = [str(column) for column in frame.columns if column not in ("source", "target", "weight")]
    if unknown:
        raise DataError(f"{path}: unknown column {short(unknown[0])!r}: the columns are source, target and weight")
    try:
        return edges_of_frame(frame, nodes, ("source", "target"), None, directed, str(path))
    except DataError as error:
        raise DataError(str(error).replace("the id of a node", f"an id in {nodes_file}")) from None


def _frame(path: Path) -> Any:
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
        rows, size = file.metadata.num_rows, path.stat().st_size
        if rows > 8 * size:  # different rows take at least one bit each
            raise DataError(f"{path} has {rows} rows, which cannot all differ in {size} bytes")
        flat = [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]
        table = file.read(columns=flat, use_threads=False)
        return pd.DataFrame({name: _values(table.column(place)) for place, name in enumerate(table.column_names)})
    except DataError:
        raise
    except MemoryError:
        raise
    except Exception as error:  # pyarrow raises errors of many kinds
        raise DataError(f"cannot read {path}: it is not a valid Parquet file ({short(error)})") from error


def _values(column: Any) -> Any:
    """A column as pandas takes it; dictionaries become what they stand for."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_pandas()
