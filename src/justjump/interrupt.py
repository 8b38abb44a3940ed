"""What Ctrl-C does while modules are imported, which takes a command its first seconds."""

import os
import signal
from types import FrameType

STOPPED = 128 + signal.SIGINT  # the exit code of a command after Ctrl-C


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, as Python's own handler does; in the middle of an import, end the process.

    An import that is interrupted leaves half a module, and those who import it next fail in ways of their own.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib."):
            os.write(2, b"stopped\n")
            os._exit(STOPPED)
        frame = frame.f_back
    raise KeyboardInterrupt


def is_default() -> bool:
    """Whether Ctrl-C raises KeyboardInterrupt, and nobody has decided otherwise."""
    return signal.getsignal(signal.SIGINT) in (signal.default_int_handler, interrupt)
