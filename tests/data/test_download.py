from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from rich.progress import Progress

from justjump.data import DataError, download
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
