"""What training needs from its process."""

import ctypes
import signal
import threading
from types import SimpleNamespace

import pytest
import torch

from justjump.ops import native
from justjump.train.process import ctrl_c_waits, keep_memory, one_torch_thread


def test_ctrl_c_is_remembered_and_a_second_one_interrupts() -> None:
    with ctrl_c_waits() as is_stopped:
        assert not is_stopped()
        signal.raise_signal(signal.SIGINT)
        assert is_stopped()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_stays_with_whom_it_belongs_to() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("theirs"))
    try:
        with ctrl_c_waits() as is_stopped:
            signal.raise_signal(signal.SIGINT)
            assert not is_stopped()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == ["theirs"]


def test_other_threads_leave_signals_alone() -> None:
    seen = []

    def work() -> None:
        with ctrl_c_waits() as is_stopped:
            seen.append((is_stopped(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, signal.default_int_handler)]


def test_torch_gets_one_thread_and_the_kernels_keep_theirs() -> None:
    torch.set_num_threads(2)
    with one_torch_thread():
        assert (torch.get_num_threads(), native.threads()) == (1, 2)
    assert (torch.get_num_threads(), native.threads()) == (2, 2)


def test_memory_is_kept_where_there_is_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    libc = SimpleNamespace(mallopt=lambda *setting: asked.append(setting))
    monkeypatch.setattr(ctypes, "CDLL", lambda name: libc)
    keep_memory()
    assert asked == [(-3, 2**30), (-1, 2**31 - 1)]

    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    keep_memory()
    assert len(asked) == 2
