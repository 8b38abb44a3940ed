"""Verified downloads: a file gets its final name only after its content has been checked."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO

import requests
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from .errors import DataError

_TIMEOUT = (10, 60)  # seconds to connect, and seconds between two blocks of the answer
_TOTAL_TIME = 600.0  # seconds for one file: 32 MB at 53 kB/s
_BLOCK = 1 << 16  # bytes
LARGEST = 64 << 20  # bytes; the largest file of the paper's datasets has half as many


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


def fetch(files: Mapping[str, str], base_url: str, folder: Path, largest: int = LARGEST) -> None:
    """Download those of the `files` (name -> checksum) that a folder lacks.

    Each file is written under a temporary name, verified and then renamed. So a failed download leaves nothing behind,
    and two processes can download the same file at the same time. A download ends with an error once it is longer than
    `largest` bytes, or takes longer than ten minutes.
    """
    missing = [name for name, checksum in files.items() if not is_complete({name: checksum}, folder)]
    if not missing:
        return
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        for name in missing:
            _fetch_one(name, files[name], f"{base_url.rstrip('/')}/{name}", folder, _Bar(progress, name), largest)


def is_complete(files: Mapping[str, str], folder: Path) -> bool:
    """Whether a folder has all `files` (name -> checksum) with the right content."""
    try:
        return all(checksum_matches(folder / name, checksum) for name, checksum in files.items())
    except OSError:
        return False


def _fetch_one(name: str, checksum: str, url: str, folder: Path, bar: _Bar, largest: int = LARGEST) -> None:
    partial = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(prefix=f".{name}-", suffix=".part", dir=folder)
        partial = Path(path)
        with os.fdopen(handle, "wb") as file:
            _Transfer(url, file, bar, largest).finish()
        if not checksum_matches(partial, checksum):
            raise DataError(f"{url} answered with other content than expected (its checksum is not {checksum})")
        partial.replace(folder / name)
    except requests.HTTPError as error:
        problem = "answered with an error"
        if (answer := error.response) is not None:
            known = answer.status_code in set(HTTPStatus)
            problem = f"answered {answer.status_code} {HTTPStatus(answer.status_code).phrase if known else ''}".rstrip()
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


class _Transfer:
    """The answer of an address on its way into a file.

    It runs in a thread of its own: a server that sends a byte now and then keeps `requests` waiting forever, in the
    headers as well as in the body. The thread ends with the next block, and never holds up the end of the program.
    """

    def __init__(self, url: str, file: BinaryIO, bar: _Bar, largest: int) -> None:
        self._url, self._file, self._bar, self._largest = url, file, bar, largest
        self._answer: requests.Response | None = None
        self._error: BaseException | None = None
        self._given_up = False

    def finish(self) -> None:
        """Wait for the end of the answer."""
        thread = threading.Thread(target=self._run, daemon=True, name=f"download of {self._url}")
        thread.start()
        try:
            thread.join(_TOTAL_TIME)
            if thread.is_alive():
                raise DataError(f"{self._url} took longer than {_TOTAL_TIME:g} seconds")
        finally:
            self._given_up = True
            if thread.is_alive() and self._answer is not None:
                with suppress(Exception):  # it may have ended by itself; older versions of urllib3 cannot end it
                    self._answer.raw.shutdown()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            # Content-Length counts the compressed bytes of a compressed answer.
            headers = {"Accept-Encoding": "identity"}
            with requests.get(self._url, timeout=_TIMEOUT, stream=True, headers=headers) as self._answer:
                self._answer.raise_for_status()
                self._bar.set_total(self._length(self._answer))
                self._copy(self._answer)
        except BaseException as error:
            self._error = error

    def _length(self, answer: requests.Response) -> int | None:
        """The number of bytes to come, if the server says it."""
        text = answer.headers.get("Content-Length")
        if text is None:
            return None
        if not (text.isascii() and text.isdecimal() and len(text) <= 15 and int(text) <= self._largest):
            wanted = f"expected a number of bytes, at most {self._largest}"
            raise DataError(f"{self._url} answered with Content-Length {text[:40]!r}: {wanted}")
        return int(text)

    def _copy(self, answer: requests.Response) -> None:
        size = 0
        for block in answer.iter_content(_BLOCK):
            if self._given_up:
                return
            size += len(block)
            if size > self._largest:
                raise DataError(f"{self._url} sends more than the {self._largest} bytes that are expected")
            self._file.write(block)
            self._bar.advance(len(block))


class _Bar:
    """A progress bar of one file."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress = progress
        self._task = progress.add_task(name, total=None)

    def set_total(self, size: int | None) -> None:
        self._progress.update(self._task, total=size)

    def advance(self, size: int) -> None:
        self._progress.advance(self._task, size)
