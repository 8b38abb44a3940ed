"""Verified downloads: a file gets its final name only after its content has been checked."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pooch
import requests
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from .errors import DataError

_TIMEOUT = (10, 60)  # seconds to connect, and seconds between two blocks of the answer


def checksum_matches(path: Path, checksum: str) -> bool:
    """Whether a file has this checksum: `sha256:<hex>`, or `git:<hex>` (the id of its content in a git repository)."""
    kind, _, expected = checksum.partition(":")
    digest = (
        hashlib.sha256()
        if kind == "sha256"
        else hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    )
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == expected


def fetch(files: Mapping[str, str], base_url: str, folder: Path) -> None:
    """Download those of the `files` (name -> checksum) that a folder lacks.

    Each file is written under a temporary name, verified and then renamed. So a failed download leaves nothing behind,
    and two processes can download the same file at the same time.
    """
    missing = [name for name, checksum in files.items() if not is_complete({name: checksum}, folder)]
    if not missing:
        return
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        for name in missing:
            _fetch_one(name, files[name], f"{base_url.rstrip('/')}/{name}", folder, _Bar(progress, name))


def is_complete(files: Mapping[str, str], folder: Path) -> bool:
    """Whether a folder has all `files` (name -> checksum) with the right content."""
    try:
        return all(checksum_matches(folder / name, checksum) for name, checksum in files.items())
    except OSError:
        return False


def _fetch_one(name: str, checksum: str, url: str, folder: Path, bar: _Bar) -> None:
    partial = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(prefix=f".{name}-", suffix=".part", dir=folder)
        partial = Path(path)
        with os.fdopen(handle, "wb") as file:
            pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16, timeout=_TIMEOUT)(url, file, None)
        if not checksum_matches(partial, checksum):
            raise DataError(f"{url} answered with other content than expected (its checksum is not {checksum})")
        partial.replace(folder / name)
    except requests.HTTPError as error:
        problem = "answered with an error"
        if (answer := error.response) is not None:
            answer.close()
            problem = f"answered {answer.status_code} {answer.reason}"
        raise DataError(f"{url} {problem}") from error
    except requests.Timeout as error:
        raise DataError(f"{url} did not answer in time") from error
    except requests.ConnectionError as error:
        raise DataError(f"{url} cannot be reached, or the connection broke") from error
    except requests.RequestException as error:
        raise DataError(f"{url} could not be downloaded completely ({type(error).__name__})") from error
    except OSError as error:
        raise DataError(f"cannot write to {folder} ({error.strerror or error})") from error
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


class _Bar:
    """A progress bar with the interface that pooch expects, drawn by rich."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress = progress
        self._task = progress.add_task(name, total=None)
        self._total = 0

    @property
    def total(self) -> int:
        return self._total

    @total.setter
    def total(self, size: int) -> None:
        self._total = size
        self._progress.update(self._task, total=size or None)

    def update(self, size: int) -> None:
        self._progress.advance(self._task, size)

    def reset(self) -> None:
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        self._progress.stop_task(self._task)
