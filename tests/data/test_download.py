from __future__ import annotations

import contextlib
import gzip
import hashlib
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.progress import Progress

from justjump.data import DataError, datasets, download, load
from justjump.data.download import checksum_matches, fetch

CONTENT = b"some bytes " * 20_000
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
GIT = "git:" + hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_checksums(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    assert checksum_matches(path, "git:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")  # what git calls the empty file
    path.write_bytes(b"hello\n")
    assert checksum_matches(path, "git:ce013625030ba8dba906f756967f9e9ca394464a")
    assert not checksum_matches(path, "git:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    path.write_bytes(CONTENT)
    assert checksum_matches(path, SHA256)
    assert not checksum_matches(path, "sha256:" + "0" * 64)


@pytest.mark.parametrize("checksum", [SHA256, GIT])
def test_download_once(server: Any, tmp_path: Path, checksum: str) -> None:
    server.content = {"a": CONTENT, "b": CONTENT}
    for _ in range(2):
        fetch({"a": checksum, "b": checksum}, server.url, tmp_path / "new" / "folder")
    assert _files(tmp_path) == ["a", "b"]
    assert server.requests == ["a", "b"]
    assert (tmp_path / "new" / "folder" / "a").read_bytes() == CONTENT


def test_damaged_file_in_the_cache_is_replaced(server: Any, tmp_path: Path) -> None:
    server.content = {"a": CONTENT}
    (tmp_path / "a").write_bytes(CONTENT[:100])
    fetch({"a": GIT}, server.url, tmp_path)
    assert (tmp_path / "a").read_bytes() == CONTENT


@pytest.mark.parametrize("checksum", [SHA256, GIT])
def test_wrong_content(server: Any, tmp_path: Path, checksum: str) -> None:
    server.content = {"a": CONTENT + b"!"}
    with pytest.raises(DataError, match="answered with other content than expected"):
        fetch({"a": checksum}, server.url, tmp_path)
    assert _files(tmp_path) == []


def test_half_a_file(server: Any, tmp_path: Path) -> None:
    server.content, server.halved = {"a": CONTENT, "b": CONTENT}, {"b"}
    with pytest.raises(DataError, match=r"/b "):
        fetch({"a": GIT, "b": GIT}, server.url, tmp_path)
    assert _files(tmp_path) == ["a"]  # what came whole is kept
    server.halved = set()
    fetch({"a": GIT, "b": GIT}, server.url, tmp_path)
    assert server.requests == ["a", "b", "b"]


def test_failure_keeps_an_older_file(server: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"older")
    with pytest.raises(DataError, match="answered 404 Not Found"):
        fetch({"a": GIT}, server.url, tmp_path)
    assert (tmp_path / "a").read_bytes() == b"older"
    assert _files(tmp_path) == ["a"]


def _closed_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_no_network(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be reached"):
        fetch({"a": GIT}, f"http://127.0.0.1:{_closed_port()}", tmp_path)
    assert _files(tmp_path) == []


def test_server_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_TIMEOUT", (0.3, 0.3))
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(DataError, match="did not answer in time"):
        fetch({"a": GIT}, f"http://127.0.0.1:{silent.getsockname()[1]}", tmp_path)
    assert _files(tmp_path) == []


def test_cache_that_cannot_be_written(server: Any, tmp_path: Path) -> None:
    server.content = {"a": CONTENT}
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot write to"):
        fetch({"a": GIT}, server.url, tmp_path / "file")


def test_interrupt_leaves_nothing(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.content = {"a": CONTENT}

    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "checksum_matches", interrupt)
    with pytest.raises(KeyboardInterrupt):
        download._fetch_one("a", GIT, f"{server.url}/a", tmp_path, download._Bar(Progress(disable=True), "a"))
    assert _files(tmp_path) == []


def test_many_at_once(server: Any, tmp_path: Path) -> None:
    server.content = {"a": CONTENT}
    errors: list[BaseException] = []

    def work() -> None:
        try:
            fetch({"a": GIT}, server.url, tmp_path)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert _files(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == CONTENT


def test_two_processes(server: Any, tmp_path: Path) -> None:
    server.content = {"a": CONTENT}
    program = (
        "import sys; from pathlib import Path; from justjump.data.download import fetch; "
        "fetch({'a': sys.argv[1]}, sys.argv[2], Path(sys.argv[3]))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, GIT, server.url, str(tmp_path)], stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    assert [process.communicate()[1] for process in processes] == [b"", b""]  # no bar where there is no terminal
    assert [process.returncode for process in processes] == [0, 0]
    assert _files(tmp_path) == ["a"]


class Hostile:
    """A server that answers each connection with `head`, then repeats `block` every `pause` seconds."""

    def __init__(self, head: bytes, block: bytes = b"", pause: float = 0.0) -> None:
        self._head, self._block, self._pause = head, block, pause
        self._stopped = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Hostile:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        with self._listener:
            self._thread.join()

    def _serve(self) -> None:
        self._listener.settimeout(5)
        connection, _ = self._listener.accept()
        with connection, contextlib.suppress(OSError):  # the client leaves
            connection.recv(10_000)
            connection.sendall(self._head)
            while self._block and not self._stopped.wait(self._pause):
                connection.sendall(self._block)


OK_HEAD = b"HTTP/1.1 200 OK\r\n"


def _message(server: Hostile, folder: Path) -> str:
    """What a download from a server says about its failure, which leaves nothing behind."""
    with server, pytest.raises(DataError) as caught:
        fetch({"a": GIT}, server.url, folder, largest=1_000_000)
    assert _files(folder) == []
    return str(caught.value)


@pytest.mark.parametrize("length", [b"abc", b"-1", b"1e3", b"9" * 30, b"0" * 5000, b"1000001", "\u0665".encode()])
def test_length_that_cannot_be(tmp_path: Path, length: bytes) -> None:
    message = _message(Hostile(OK_HEAD + b"Content-Length: " + length + b"\r\n\r\nabc"), tmp_path)
    assert f"/a answered with Content-Length '{length.decode('latin-1')[:40]}'" in message
    assert message.endswith(": expected a number of bytes, at most 1000000")


def test_body_without_end(tmp_path: Path) -> None:
    message = _message(Hostile(OK_HEAD + b"\r\n", b"x" * 100_000), tmp_path)
    assert message.endswith("/a sends more than the 1000000 bytes that are expected")


def test_compressed_body_is_counted_as_it_is_written(tmp_path: Path) -> None:
    packed = gzip.compress(bytes(50_000_000))
    head = OK_HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    assert "sends more than the 1000000 bytes" in _message(Hostile(head + packed), tmp_path)


@pytest.mark.parametrize("head", [b"", OK_HEAD, OK_HEAD + b"Content-Length: 1000\r\n\r\n"])
def test_a_byte_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    monkeypatch.setattr(download, "_TOTAL_TIME", 0.5)
    begin = time.monotonic()
    assert _message(Hostile(head, b"x", pause=0.1), tmp_path).endswith("/a took longer than 0.5 seconds")
    assert time.monotonic() - begin < 5


def test_words_of_a_status_line_are_not_repeated(tmp_path: Path) -> None:
    message = _message(Hostile(b"HTTP/1.1 599 \x1b[2Jgone\r\nContent-Length: 0\r\n\r\n"), tmp_path)
    assert message.endswith("/a answered 599")


def test_load_limits_the_size(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Hostile(OK_HEAD + b"Content-Length: 99999999\r\n\r\n")
    known = replace(datasets.DOWNLOADS["cora_full"], base_url=server.url)
    monkeypatch.setitem(datasets.DOWNLOADS, "cora_full", known)
    with server, pytest.raises(DataError, match=f"'99999999': expected .* {2 * known.size}; try again, or put cora_f"):
        load("cora_full")
    assert _files(cache) == []
