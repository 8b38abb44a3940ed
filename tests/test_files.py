"""Files are either complete or absent."""

import errno
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from justjump.files import FileError, make_folder, new_folder, remove_partial_files, replace_file, write_folder


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


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.txt"
    for text in ("first", "second"):
        replace_file(path, lambda partial, text=text: partial.write_text(text))  # type: ignore[misc]
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write(partial: Path) -> None:
        partial.write_text("ha")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(FileError, match="cannot write .*a.txt: No space left on device; free some space"):
        replace_file(path, write)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full, a device that is always full")
def test_a_full_device_is_named() -> None:
    with pytest.raises(FileError, match="cannot write /dev/full: No space left on device; free some space"):
        replace_file(Path("/dev/full"), lambda path: path.write_text("text"))


def test_a_folder_or_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="it is a folder, name a file"):
        replace_file(tmp_path, lambda path: path.write_text("text"))
    with pytest.raises(FileError, match="file/x: .*; a part of this path is a file"):
        replace_file(tmp_path / "file" / "x", lambda path: path.write_text("text"))
    with pytest.raises(FileError, match="--output .*x cannot be created: Not a directory; a part of this path"):
        make_folder(tmp_path / "file" / "x", "--output")


def test_a_limit_on_the_size_of_files_is_named(tmp_path: Path) -> None:
    code = """
        import resource, signal, sys
        from pathlib import Path
        from justjump.files import FileError, replace_file
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            replace_file(Path(sys.argv[1]), lambda path: path.write_bytes(bytes(5000)))
        except FileError as error:
            print(error)
    """
    path = tmp_path / "a"
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert text == (
        f"cannot write {path}: File too large; files of this size are not allowed here: raise the limit (ulimit -f), "
        "or choose another place\n"
    )
    assert not list(tmp_path.iterdir())


def test_content_and_names_are_on_the_disk_when_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    real_sync, real_replace = os.fsync, os.replace

    def sync(descriptor: int) -> None:
        events.append(f"sync {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
        real_sync(descriptor)

    def replace(source: Path, target: Path) -> None:
        events.append(f"rename to {Path(target).name}")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    replace_file(tmp_path / "outer" / "inner" / "a", lambda path: path.write_text("text"))
    expected = [f"sync .a.{os.getpid()}", "rename to a", "sync inner", "sync outer", f"sync {tmp_path.name}"]
    assert events == expected


def test_what_killed_writers_left_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name in (f".a[1].{ended.pid}", f".a[1].{os.getppid()}", f".b.{ended.pid}", ".a[1].txt"):
        (tmp_path / name).write_text("half")
    replace_file(tmp_path / "a[1]", lambda path: path.write_text("whole"))
    names = {".a[1].txt", f".a[1].{os.getppid()}", f".b.{ended.pid}", "a[1]"}
    assert {path.name for path in tmp_path.iterdir()} == names
    remove_partial_files(tmp_path / "b")
    assert {path.name for path in tmp_path.iterdir()} == names - {f".b.{ended.pid}"}


def fill(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "a.txt").write_text("whole")


def test_a_folder_is_there_completely_or_not_at_all(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        fill(folder)
        assert names(tmp_path) == [f".new.{os.getpid()}"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "new", fail)
    assert names(tmp_path) == []
    write_folder(tmp_path / "new", fill)
    assert names(tmp_path) == ["new"]
    assert (tmp_path / "new" / "deep" / "a.txt").read_text() == "whole"


def test_a_folder_that_holds_something_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    for path in (tmp_path, tmp_path / "a.txt"):
        with pytest.raises(FileError, match="it is there already; remove it, or choose another folder"):
            write_folder(path, fill)
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", fill)
    assert names(tmp_path) == ["a.txt", "empty"]
    with pytest.raises(FileError, match=r"cannot write .*a.txt/new: .* a part of this path is a file"):
        write_folder(tmp_path / "a.txt" / "new", fill)


def test_all_files_of_a_folder_are_on_the_disk_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = os.fsync

    def remember(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").resolve().name)
        sync(descriptor)

    if not Path("/proc/self/fd").exists():
        pytest.skip("looks up open files in /proc, which only Linux has")
    monkeypatch.setattr(os, "fsync", remember)
    write_folder(tmp_path / "new", fill)
    assert synced == ["a.txt", "deep", f".new.{os.getpid()}", tmp_path.name]


@pytest.mark.skipif(os.name != "posix", reason="only POSIX systems tell whether a process lives without ending it")
def test_what_a_killed_process_left_of_a_folder_is_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    fill_in = tmp_path / f".new.{dead.pid}"
    fill_in.mkdir()
    fill(fill_in)
    write_folder(tmp_path / "new", fill)
    assert names(tmp_path) == ["new"]


def test_a_folder_with_a_file_or_of_another_stays(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for folder in (tmp_path / "old", tmp_path / "new"):
        with pytest.raises(KeyboardInterrupt), new_folder(folder, "--output"):
            _stop_in(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old"]
    with new_folder(None, "--output"):
        pass


def _stop_in(folder: Path) -> None:
    if folder.name == "new":
        (folder / "checkpoint").touch()
    raise KeyboardInterrupt
