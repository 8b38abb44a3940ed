"""Writing files that are whole or not there."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


class RunError(ValueError):
    """A run's folder cannot be read or written; the message says what to do."""


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside ``path`` and put the result in its place, so that a reader or a crash never sees half a file."""
    if path.is_dir():
        raise RunError(f"cannot write {path}: it is a folder, name a file")
    if path.exists() and not path.is_file():  # a pipe or a device
        write(path)
        return
    path = path.resolve()  # a link stays a link
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(partial)
        partial.replace(path)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # most often: not there, which is as it should be
            partial.unlink()
