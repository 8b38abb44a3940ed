"""What training needs from its process: memory that stays, a fixed number of threads, and Ctrl-C between epochs."""

import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from justjump.interrupt import is_default
from justjump.ops import native

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


def keep_memory() -> None:
    """Let the process keep the memory of freed tensors: fresh pages would cost time in every training step.

    This sets glibc's allocator for the whole process. Without glibc, nothing happens.
    """
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_M_MMAP_THRESHOLD, 2**30)
        libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Use one thread for torch, whose results depend on the number of threads; our kernels' results do not."""
    threads, kernel_threads = torch.get_num_threads(), native.threads()
    native.set_threads(kernel_threads)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        native.set_threads(None)


@contextmanager
def ctrl_c_waits() -> Iterator[Callable[[], bool]]:
    """Ctrl-C only sets a flag, so that every epoch is completed; a second Ctrl-C interrupts at once.

    Yields a function that tells whether it was pressed.
    """
    pressed = threading.Event()

    def remember(number: int, frame: Any) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    ours = threading.current_thread() is threading.main_thread()
    if not (ours and is_default()):  # someone else decides what Ctrl-C means
        yield pressed.is_set
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)
