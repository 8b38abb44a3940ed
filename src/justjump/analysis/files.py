"""Write tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from justjump.files import replace_file
from justjump.train import RunError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".pdf", ".svg")
# Without dates, so that the same figure always gives the same bytes.
_METADATA: dict[str, dict[str, None]] = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


def check_extra() -> None:
    """Raise unless everything that tables and figures need is installed."""
    try:
        import matplotlib  # noqa: F401
        import networkx  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise RunError(f"{error.name} is not installed: pip install 'justjump[analysis]'") from error


def figure_paths(output: Path) -> list[Path]:
    """One file if the name ends in a format; without an ending one file per format: PNG, PDF and SVG.

    >>> [path.name for path in figure_paths(Path("figure"))]
    ['figure.png', 'figure.pdf', 'figure.svg']
    """
    if output.suffix in FORMATS:
        return [output]
    if output.suffix:
        raise RunError(f"--output {output} must end in {', '.join(FORMATS)}, or have no ending for all three")
    return [output.with_suffix(suffix) for suffix in FORMATS]


def check_table(option: str, path: Path) -> None:
    """Raise unless the name of a table has the right ending."""
    if path.suffix != ".parquet":
        raise RunError(f"{option} {path} must end in .parquet: it is a table")


def save_figure(figure: Figure, paths: Iterable[Path]) -> None:
    """Write a figure in the formats that the names end in."""
    import matplotlib

    figure.draw_without_rendering()  # fixes the layout, which every further drawing would move a little
    figure.set_layout_engine("none")
    for path in paths:
        save = partial(figure.savefig, format=path.suffix[1:], dpi=200, metadata=_METADATA[path.suffix])
        with matplotlib.rc_context({"svg.hashsalt": "justjump", "svg.fonttype": "none", "pdf.fonttype": 42}):
            replace_file(path, save)


def write_parquet(path: Path, tables: Iterable[Mapping[str, Any]]) -> int:
    """Write columns block by block, with one block at a time in memory; returns the number of rows.

    Args:
        tables: blocks of the same columns; a column is an array, or a text that is repeated in every row
    """
    import pyarrow as pa
    from pyarrow import parquet

    rows = 0

    def write(beside: Path) -> None:
        nonlocal rows
        writer: parquet.ParquetWriter | None = None
        try:
            for columns in tables:
                table = pa.table(_filled(columns))
                writer = writer or parquet.ParquetWriter(beside, table.schema, compression="zstd")
                writer.write_table(table)
                rows += table.num_rows
        finally:
            if writer is not None:
                writer.close()

    replace_file(path, write)
    return rows


def _filled(columns: Mapping[str, Any]) -> dict[str, Any]:
    import pyarrow as pa

    length = next(len(values) for values in columns.values() if not isinstance(values, str))
    return {
        name: pa.array([values] * length).dictionary_encode() if isinstance(values, str) else values
        for name, values in columns.items()
    }
