"""Write files that are either complete or absent, also after a crash or a power failure, and read files alone."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_NOT_ALLOWED = "choose a place that you may write to"
_ADVICE = {
    errno.ENOSPC: "free some space and give the same command again",
    errno.EDQUOT: "your share of the disk is used up: free some space and give the same command again",
    errno.EFBIG: "files of this size are not allowed here: raise the limit (ulimit -f), or choose another place",
    errno.EACCES: _NOT_ALLOWED,
    errno.EPERM: _NOT_ALLOWED,
    errno.EROFS: _NOT_ALLOWED,
    errno.ENOTDIR: "a part of this path is a file: choose another place",
    errno.EEXIST: "a part of this path is a file: choose another place",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EIO: "the disk reports an error: choose a place on another disk",
}


class FileError(OSError):
    """A file or a folder cannot be written. The message is one line that says which one, why and what to do."""


def is_pipe(path: Path) -> bool:
    """Whether a path leads to a pipe or a device: nobody knows how long to wait for what comes from it."""
    return path.exists() and not path.is_file() and not path.is_dir()


def open_file(path: Path) -> BinaryIO:
    """Open a file to read its bytes. A pipe or a device raises an OSError, as does whatever cannot be opened."""
    if is_pipe(path):
        raise OSError(errno.EINVAL, "it is a pipe or a device, expected a file", str(path))
    return path.open("rb")


def read_file(path: Path) -> bytes:
    """The bytes of a file, opened by :func:`open_file`."""
    with open_file(path) as file:
        return file.read()


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a new file beside ``path`` and then move it there: nobody ever sees half a file, not even after a crash.

    When this returns, the file is on the disk: a power failure does not take it back.

    Args:
        path: the file; missing folders are created, and a link stays a link
        write: is called with the path of the new file

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replace_file(Path(folder, "new", "a.txt"), lambda path: path.write_text("whole"))
    ...     Path(folder, "new", "a.txt").read_text()
    'whole'
    """
    try:
        if path.is_dir():
            raise FileError(f"cannot write {path}: it is a folder, name a file")
        if is_pipe(path):
            write(path)
        else:
            _replace(path.resolve(), write)  # where a link leads to
    except (FileError, BrokenPipeError):  # the reader of a pipe may have seen enough
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {reason(error)}") from error


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    new_folders = _make_folders(path.parent)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(partial)
        _sync(partial)
        partial.replace(path)
        _sync(path.parent)
        for folder in new_folders:
            _sync(folder.parent)
    finally:
        with suppress(OSError):  # after a success it is gone already
            partial.unlink()
    remove_partial_files(path)


def write_folder(path: Path, write: Callable[[Path], object]) -> None:
    """Write a new folder beside ``path`` and then move it there: nobody ever sees half a folder.

    When this returns, all its files are on the disk. A killed process leaves a hidden folder, which the next call for
    the same ``path`` removes.

    Args:
        path: the folder, which must not exist yet, or be empty; missing folders above it are created
        write: is called with the path of the new folder

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_folder(Path(folder, "new"), lambda path: Path(path, "a.txt").write_text("whole"))
    ...     Path(folder, "new", "a.txt").read_text()
    'whole'
    """
    path = path.absolute()
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise FileError(f"cannot write {path}: it is there already; remove it, or choose another folder")
        new_folders = _make_folders(path.parent)
        remove_partial_files(path)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        write(partial)
        for one in sorted(partial.rglob("*"), reverse=True):
            _sync(one)
        _sync(partial)
        if path.exists():
            path.rmdir()
        partial.replace(path)
        for folder in (path, *new_folders):
            _sync(folder.parent)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {reason(error)}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)  # after a success it is gone already


def _make_folders(folder: Path) -> list[Path]:
    """Create a folder and those above it. Returns the new ones."""
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return new


def move_file(source: Path, target: Path) -> None:
    """Rename a file within its folder, and bring the new name to the disk."""
    try:
        source.replace(target)
        _sync(target.parent)
    except OSError as error:
        raise FileError(f"cannot write {target}: {reason(error)}") from error


def remove_file(path: Path) -> None:
    """Remove a file, if there is one, and what killed processes left of attempts to write it."""
    path.unlink(missing_ok=True)
    remove_partial_files(path)


def remove_partial_files(path: Path) -> None:
    """Remove what killed processes left of attempts to write ``path``, a file or a folder."""
    if os.name != "posix":  # elsewhere, nobody can ask whether a process lives without ending it
        return
    for partial in path.parent.glob(f".{_literal(path.name)}.*"):
        writer = partial.name.rpartition(".")[2]
        if writer.isdecimal() and not _is_alive(int(writer)):
            if partial.is_dir() and not partial.is_symlink():
                shutil.rmtree(partial, ignore_errors=True)
                continue
            with suppress(OSError):
                partial.unlink()


def _literal(name: str) -> str:
    """A name as a pattern that matches this name alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _sync(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    is_folder = path.is_dir()
    if is_folder and os.name != "posix":  # folders cannot be opened there
        return
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # this file system cannot
            raise
    finally:
        os.close(descriptor)


def reason(error: OSError) -> str:
    """Why the system refused, and what to do about it."""
    text = error.strerror or str(error)
    return f"{text}; {_ADVICE[error.errno]}" if error.errno in _ADVICE else text


def replace_text(path: Path, text: str) -> None:
    """:func:`replace_file` with a text in UTF-8."""
    replace_file(path, lambda new: new.write_text(text, encoding="utf-8"))


def make_folder(path: Path, option: str) -> list[Path]:
    """Create a folder that the user named with an option, and those above it. Returns the new ones."""
    try:
        return _make_folders(path)
    except OSError as error:
        raise FileError(f"{option} {path} cannot be created: {reason(error)}") from error


@contextmanager
def new_folder(path: Path | None, option: str) -> Iterator[None]:
    """:func:`make_folder` for what follows, which may be nothing: ``path`` is None where the user has named no folder.

    If what follows fails before it has written a file, the folders that were made for it are removed again.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, suppress(ValueError):
    ...     with new_folder(Path(folder, "runs", "first"), "--output"):
    ...         raise ValueError("the options are refused")
    >>> Path(folder, "runs").exists()
    False
    """
    if path is None:
        yield
        return
    new = make_folder(path, option)
    try:
        yield
    except BaseException:
        inside = sorted(new[-1].rglob("*"), reverse=True) if new else []
        for folder in (*inside, *new):
            with suppress(OSError):  # it is a file, or there are files in it
                folder.rmdir()
        raise
