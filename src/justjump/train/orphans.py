"""A worker process ends when its parent does, however that ended. No import of torch: this must work from the start."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import wait

_PR_SET_PDEATHSIG = 1  # sys/prctl.h


def die_with_parent() -> None:
    """Let Linux kill this process at the moment when its parent ends, even if it is stopped or in a kernel."""
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def exit_after_parent() -> None:
    """Watch the parent from a thread, on every system: its end of a pipe closes when it ends, even before this call."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(1)  # nobody hears an exception

    threading.Thread(target=watch, daemon=True, name="parent watch").start()
