"""Workers that die, hang or fail: others take their place, or the reason is one sentence."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worker_kinds
from justjump.files import FileError
from justjump.train import RunError
from justjump.train.parts import supervise
from justjump.train.parts.supervise import as_lost, run_with_restarts


def run(work: Callable[..., None], *arguments: Any, limit: float = 60.0, saved: Callable[[], int] = int) -> list[str]:
    """What two workers had said about them."""
    said: list[str] = []
    run_with_restarts(2, work, arguments, limit=limit, saved=saved, say=said.append)
    return said


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    said = run(worker_kinds.fails_at_first, signal.SIGKILL, tmp_path)
    assert said == ["worker 1 was ended by signal 9 (out of memory?): new workers go on after epoch 0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]


@pytest.mark.slow
def test_a_worker_that_hangs_is_named_and_replaced(tmp_path: Path) -> None:
    said = run(worker_kinds.fails_at_first, signal.SIGSTOP, tmp_path, limit=2.5)
    assert said == ["worker 1 has not answered for 2.5 s: new workers go on after epoch 0"]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.slow
def test_restarts_end_when_they_bring_nothing() -> None:
    epochs = iter([0, 1, 1, 2, 2, 2, 2, 2])  # one look at the start, and one after each loss
    message = "signal 9 .*, as after 3 restarts before, and none of them saved a further epoch: .* after epoch 2"
    with pytest.raises(RunError, match=message):
        run(worker_kinds.dies, saved=lambda: next(epochs))
    assert next(epochs, None) is None


def test_an_error_is_raised_though_another_worker_notices_it_first() -> None:
    with pytest.raises(FileError, match="^cannot write x: No space left on device$"):
        run(worker_kinds.has_a_reason)
    with pytest.raises(RunError, match=r"worker \d ended with exit code 3"):
        run(worker_kinds.exits)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="this system cannot hold signals back")
def test_ctrl_c_waits_for_the_imports_of_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)
except KeyboardInterrupt:  # as a library that leaves half of itself loaded
    raise ImportError("cannot load module more than once per process")
def work(*arguments):
    time.sleep(60)
"""
    (tmp_path / "interrupted_library.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))

    def work() -> None: ...

    monkeypatch.setattr(work, "__module__", "interrupted_library")
    monkeypatch.setattr(work, "__qualname__", "work")
    with pytest.raises(KeyboardInterrupt):
        run(work)


def test_who_lets_others_wait_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "SECONDS_FOR_REASONS", 0.2)
    monkeypatch.setattr(supervise, "RESTARTS", 0)
    message = r"^worker 1 kept the others waiting .worker 0 lost the others: Timed out waiting 500ms for recv"
    with pytest.raises(RunError, match=message):
        run(worker_kinds.waits_in_vain)


def test_what_is_an_error_of_the_network() -> None:
    assert as_lost(RuntimeError("DefaultCPUAllocator: can't allocate memory"), "worker 0") is None
    assert as_lost(RuntimeError("Wait timeout"), "worker 0") is not None
    text = "[/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:4269. This is typically ..."
    assert str(as_lost(RuntimeError(text), "worker 0")) == (
        "worker 0 lost the others: Connection closed by peer [127.0.0.1]:4269"
    )
