"""What training needs of its process: a fixed number of threads, and Ctrl-C at the right moment."""

import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from justjump.ops import native

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


def keep_memory() -> None:
    """Let freed tensors stay with the process: fresh pages for each step's tensors cost time in every step.

    A setting of glibc's allocator for the whole process; elsewhere nothing happens.
    """
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_M_MMAP_THRESHOLD, 2**30)
        libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """torch's reductions and products round differently with more threads; ours don't, and keep the full number."""
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
    """Ctrl-C sets a flag, so that an epoch is never left half done; a second Ctrl-C interrupts at once.

    Yields a function that tells whether it was pressed.
    """
    pressed = threading.Event()

    def remember(number: int, frame: Any) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours:  # someone else decides what Ctrl-C means
        yield pressed.is_set
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
