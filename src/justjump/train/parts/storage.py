"""Where rows are between two visits of a part: in memory, or in files of a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from torch import Tensor

from justjump.files import FileError, reason

try:
    import fcntl
except ImportError:  # no POSIX system: what killed processes leave stays
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"


class InMemory:
    """Rows that stay in memory, by names.

    >>> rows = InMemory(torch.float32).rows("h0-3", 2, 4)
    >>> rows.shape
    torch.Size([2, 4])
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self._rows: dict[str, Tensor] = {}

    def rows(self, name: str, count: int, channels: int) -> Tensor:
        """``[count, channels]``, the same each time; zeros at first."""
        if name not in self._rows:
            self._rows[name] = torch.zeros(count, channels, dtype=self.dtype)
        return self._rows[name]

    def place(self, rows: dict[str, Tensor]) -> None:
        """Have rows where they are, which are zeros at first."""
        self._rows.update(rows)

    def write(self, name: str, first: int, values: Tensor) -> None:
        """Replace the rows of :meth:`rows` from number ``first`` on."""
        self._rows[name][first : first + len(values)] = values

    def fill(self, name: str, first: int, source: Tensor, chosen: Tensor) -> None:
        """Replace the rows of :meth:`rows` from number ``first`` on by chosen rows of another tensor."""
        torch.index_select(source, 0, chosen, out=self._rows[name][first : first + len(chosen)])


class OnDisk:
    """Rows in memory-mapped files of a folder. They take memory as long as someone holds the tensor.

    The room for a file is taken when it is made, because a disk that is full later would end the process.
    """

    def __init__(self, dtype: torch.dtype, folder: Path) -> None:
        self.dtype, self.folder = dtype, folder

    def rows(self, name: str, count: int, channels: int) -> Tensor:
        """``[count, channels]``, the same each time; zeros at first."""
        if not count:
            return torch.zeros(0, channels, dtype=self.dtype)
        path, size = self.folder / name, count * channels * self.dtype.itemsize
        if not path.exists():
            self._make(path, size)
        return torch.from_file(str(path), shared=True, size=count * channels, dtype=self.dtype).view(count, channels)

    def write(self, name: str, first: int, values: Tensor) -> None:
        """Replace the rows of :meth:`rows` from number ``first`` on: quicker than by mapped memory."""
        if not len(values):
            return
        path = self.folder / name
        try:
            with path.open("r+b", buffering=0) as file:
                file.seek(first * values.size(1) * values.itemsize)
                left = values.contiguous().numpy().data.cast("B")
                while left:
                    left = left[file.write(left) :]
        except OSError as error:
            raise FileError(f"cannot write {path}: {reason(error)}") from error

    def fill(self, name: str, first: int, source: Tensor, chosen: Tensor) -> None:
        """Replace the rows of :meth:`rows` from number ``first`` on by chosen rows of another tensor."""
        self.write(name, first, source[chosen])

    def _make(self, path: Path, size: int) -> None:
        try:
            with path.open("wb") as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise FileError(f"cannot write {path} of {size:,} bytes: {reason(error)}") from error


Storage = InMemory | OnDisk


@contextmanager
def new_folder(scratch: Path) -> Iterator[Path]:
    """A folder below ``scratch``, which is gone afterwards.

    What killed processes left there is removed: it may be most of a disk. A process holds a lock as long as it lives.
    """
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        _remove_left_over(scratch)
        folder = Path(tempfile.mkdtemp(prefix="justjump-", dir=scratch))
    except OSError as error:
        raise FileError(f"cannot write to the scratch folder {scratch}: {reason(error)}") from error
    try:
        with (folder / "new").open("wb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
                (folder / "new").rename(folder / LOCK)  # who sees it finds it locked
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left_over(scratch: Path) -> None:
    for path in scratch.glob(f"justjump-*/{LOCK}") if fcntl is not None else ():
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its process lives
            shutil.rmtree(path.parent, ignore_errors=True)
