"""Files are either complete or absent."""

import os
import threading
from pathlib import Path

import pytest

from justjump.files import FileError, make_folder, replace_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_that_fails_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    replace_file(path, lambda new: new.write_text("old"))

    def fail(new: Path) -> None:
        new.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_file(path, fail)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("target.txt")
    replace_file(tmp_path / "link.txt", lambda new: new.write_text("new"))
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "target.txt").read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    replace_file(pipe, lambda new: new.write_text("through"))
    reader.join(timeout=10)
    assert heard == ["through"]
    assert names(tmp_path) == ["pipe"]


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="it is a folder, name a file"):
        replace_file(tmp_path, lambda new: new.write_text(""))
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"cannot write .*file/a\.txt: "):
        replace_file(tmp_path / "file" / "a.txt", lambda new: new.write_text(""))
    with pytest.raises(FileError, match=r"--output .*file/runs cannot be created: Not a directory"):
        make_folder(tmp_path / "file" / "runs", "--output")
    make_folder(tmp_path / "new" / "runs", "--output")
    make_folder(tmp_path / "new" / "runs", "--output")
    assert (tmp_path / "new" / "runs").is_dir()
