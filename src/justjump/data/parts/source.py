"""Tables that are larger than memory: their columns, batch by batch."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from ..csv_file import CsvFile
from ..errors import DataError, refuse_pipe, short
from ..faults import Rows, no_column, two_columns
from .progress import Steps

# Rows of one batch; wide tables have fewer.
ROWS = 2**17
_CSV_BLOCK = 2**23  # bytes
_BUFFER = 2**20  # bytes that are read at a time of each column of a Parquet file


class _Files(Rows):
    """The rows of several files one after another."""

    def __init__(self, where: Path, files: Sequence[Path], sizes: Sequence[int]) -> None:
        super().__init__(where)
        self._files, self._first = files, [0, *accumulate(sizes)]

    def name(self, row: int) -> str:
        place = bisect_right(self._first, row) - 1
        return f"row {row - self._first[place]} of {self._files[place].name}"


class _Lines(Rows):
    """The lines of a CSV file, which is read again if someone asks."""

    def __init__(self, file: CsvFile) -> None:
        super().__init__(file.path)
        self._file = file

    def name(self, row: int) -> str:
        return f"line {next(islice(self._file, row, None))[0]}"


class TableSource:
    """A Parquet file, or several one after another, that are read again and again, some columns at a time.

    A CSV file is first copied into a Parquet file, with its cells as text, so that columns can be read one by one.

    Attributes:
        path: the user's file or folder
        rows: its rows, for messages
        columns: their names, with their types
        num_rows: number of rows
    """

    def __init__(self, path: Path, files: Sequence[Path], rows: Rows | None = None) -> None:
        import pyarrow.parquet as pq

        self.path, self._files = path, files
        sizes: list[int] = []
        fields: list[Any] = []
        for file in files:
            with foreign(file), pq.ParquetFile(file) as opened:
                sizes.append(opened.metadata.num_rows)
                found = list(opened.schema_arrow)
            if fields and [(one.name, one.type) for one in found] != [(one.name, one.type) for one in fields]:
                raise DataError(f"{file} has other columns than {files[0].name}: all files of a table need the same")
            fields = found
        twice, count = Counter(field.name for field in fields).most_common(1)[0] if fields else ("", 0)
        if count > 1:
            raise two_columns(path, twice)
        self.num_rows = sum(sizes)
        self.rows = rows or (Rows(path) if list(files) == [path] else _Files(path, files, sizes))
        self.columns: dict[str, Any] = {field.name: field.type for field in fields}

    @classmethod
    def open(cls, path: Path, required: tuple[str, ...], work: Path, steps: Steps) -> TableSource:
        """Open a table that must have some columns: a `.csv` or `.parquet` file, or a folder with `.parquet` files.

        A CSV file is copied into the folder `work`. The files of a folder are taken in the order of their names.
        """
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise DataError(f"{path} needs pyarrow to be streamed: pip install 'justjump[parts]'") from error
        files, rows = [path], None
        if path.is_dir():
            files = sorted(file for file in path.glob("*.parquet") if not file.name.startswith(("_", ".")))
            if not files:
                raise DataError(f"{path} holds no .parquet files: name a file, or a folder with some")
        elif not path.exists():
            raise DataError(f"{path} does not exist: name a .csv or a .parquet file")
        elif path.suffix not in (".csv", ".parquet"):
            raise DataError(f"{path} must be a .csv or a .parquet file, or a folder with .parquet files")
        elif path.suffix == ".csv":
            text = CsvFile(path, required)
            files, rows = [_copy_csv(text, work / f"by-{required[0]}.parquet", steps)], _Lines(text)
        for file in files:
            refuse_pipe(file)
        source = cls(path, files, rows)
        for column in required:
            if column not in source.columns:
                raise no_column(path, column, source.columns)
        return source

    def batches(self, columns: Sequence[str], most: int | None = None) -> Iterator[Any]:
        """Record batches of some columns: `ROWS` rows each, or `most` if that is less."""
        import pyarrow.parquet as pq

        for path in self._files:
            with foreign(self.path), pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
                yield from file.iter_batches(min(most or ROWS, ROWS), columns=list(columns), use_threads=False)

    def column(self, name: str) -> Iterator[tuple[int, Any]]:
        """The number of the first row and the array of each batch of one column."""
        first = 0
        for batch in self.batches([name]):
            yield first, plain(batch.column(0))
            first += len(batch)


class foreign:
    """Turns whatever a broken file makes pyarrow raise into a `DataError`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if isinstance(error, pa.ArrowException | OSError) and not isinstance(error, MemoryError):
            what = "CSV" if self._path.suffix == ".csv" else "Parquet"
            raise DataError(f"cannot read {self._path}: it is not a valid {what} file ({short(error, 120)})") from error


def plain(array: Any) -> Any:
    """An array without a dictionary."""
    import pyarrow as pa

    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def _copy_csv(text: CsvFile, target: Path, steps: Steps) -> Path:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    path = text.path
    schema = pa.schema([(column, pa.string()) for column in text.columns])
    read = pc.ReadOptions(column_names=text.columns, skip_rows=1, block_size=_CSV_BLOCK, use_threads=False)
    convert = pc.ConvertOptions(column_types=schema, strings_can_be_null=False)
    parse = pc.ParseOptions(newlines_in_values=True)
    advance = steps.count(f"reading {path.name}", path.stat().st_size)
    try:
        with pc.open_csv(path, read, parse, convert) as reader, pq.ParquetWriter(target, schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
                advance(_CSV_BLOCK)
    except pa.ArrowInvalid:
        deque(text, maxlen=0)  # the other reader says what is wrong in which line
        with foreign(path):
            raise
    return target
