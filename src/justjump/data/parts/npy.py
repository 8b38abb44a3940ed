"""Arrays in `.npy` files: written piece by piece, read by memory mapping."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType

import numpy as np

from justjump.files import open_file

from ..errors import DataError, short

# All headers are so long: room for any shape and type that a part has.
_HEADER = 128


def _header(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    buffer = io.BytesIO()
    fields = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, fields)
    text = buffer.getvalue()
    if len(text) < _HEADER:  # numpy pads to multiples of 64 bytes
        text = text[:8] + (_HEADER - 10).to_bytes(2, "little") + text[10:-1].ljust(_HEADER - 11) + b"\n"
    assert len(text) == _HEADER
    return text


class ArrayFile:
    """A new `.npy` file that grows by appended rows. Its shape is written when it is closed.

    Rows are written and not mapped: a full disk is an error for a written row, and ends the process for a mapped one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ArrayFile(Path(folder, "a.npy"), np.dtype("<i8")) as file:
    ...         file.append(np.arange(3))
    ...         file.append(np.arange(2))
    ...     np.load(Path(folder, "a.npy")).tolist()
    [0, 1, 2, 0, 1]
    """

    def __init__(self, path: Path, dtype: np.dtype, row: tuple[int, ...] = ()) -> None:
        self.path, self.dtype, self.row = path, dtype, row
        self.length = 0
        path.write_bytes(_header(dtype, (0, *row)))

    def append(self, rows: np.ndarray) -> None:
        """Add rows `[k, *row]`. The file is open only meanwhile, because there may be many."""
        assert rows.shape[1:] == self.row
        if rows.size:
            with self.path.open("ab") as file:
                file.write(np.ascontiguousarray(rows, dtype=self.dtype).data.cast("B"))
        self.length += len(rows)

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

    def close(self) -> None:
        with self.path.open("r+b") as file:
            file.write(_header(self.dtype, (self.length, *self.row)))


def write_array(path: Path, array: np.ndarray, dtype: np.dtype) -> None:
    """Write a whole array as a `.npy` file of this type."""
    with ArrayFile(path, dtype, array.shape[1:]) as file:
        file.append(array)


def check_array(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> int:
    """The position of the first value in a `.npy` file that must hold an array of this type and shape.

    Only its header and its length are read. A `DataError` says what is wrong.
    """
    wanted = f"expected {dtype} of shape {list(shape)}"
    try:
        with open_file(path) as file:
            length = os.fstat(file.fileno()).st_size
            version = np.lib.format.read_magic(file)
            if version != (1, 0):
                raise ValueError("its version is unknown")
            found, fortran, kind = np.lib.format.read_array_header_1_0(file)
            start = file.tell()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: copy it again, or partition the graph again") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except Exception as error:  # numpy raises errors of many kinds
        raise DataError(
            f"{path} is no array ({short(error)}), {wanted}: copy it again, or partition the graph again"
        ) from None
    if kind != dtype or found != shape or fortran:
        raise DataError(f"{path} holds {kind} of shape {short(list(found))}, {wanted}: partition the graph again")
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if length != start + size:
        raise DataError(
            f"{path} has {length} bytes, expected {start + size}: copy it again, or partition the graph again"
        )
    return start


def mapped(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """The array of a `.npy` file, in the memory of the file. Changes of it stay in this process."""
    start = check_array(path, dtype, shape)
    if 0 in shape:  # nothing cannot be mapped
        return np.zeros(shape, dtype)
    _allow_many_files()
    # Copy on write rather than read-only: torch takes such memory without a copy and without a warning.
    return np.asarray(np.memmap(path, dtype, "c", start, shape))


@cache
def _allow_many_files() -> None:
    """Let the process open as many files as the system allows: each mapped array keeps its file open."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
