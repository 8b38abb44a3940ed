"""Write files that are either complete or absent."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


class FileError(OSError):
    """A file or a folder cannot be written. The message is one line that says which one and why."""


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a new file beside ``path`` and then move it there: nobody ever sees half a file, not even after a crash.

    Args:
        path: the file; missing folders are created, and a link stays a link
        write: is called with the path of the new file

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replace_file(Path(folder, "new", "a.txt"), lambda path: path.write_text("whole"))
    ...     Path(folder, "new", "a.txt").read_text()
    'whole'
    """
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder, name a file")
    if path.exists() and not path.is_file():  # a pipe or a device
        write(path)
        return
    path = path.resolve()  # where a link leads to
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(partial)
        partial.replace(path)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # after a success it is gone already
            partial.unlink()


def replace_text(path: Path, text: str) -> None:
    """:func:`replace_file` with a text in UTF-8."""
    replace_file(path, lambda new: new.write_text(text, encoding="utf-8"))


def make_folder(path: Path, option: str) -> None:
    """Create a folder that the user named with an option, unless it is there already."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{option} {path} cannot be created: {error.strerror}") from error
