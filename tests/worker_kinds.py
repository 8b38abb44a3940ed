"""Workers that misbehave. Their processes import them from here, without torch unless they need it."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from justjump.files import FileError


def end(number: signal.Signals = signal.SIGKILL) -> None:
    os.kill(os.getpid(), number)
    time.sleep(600)  # a stopped process may take a moment to stop


def fails_at_first(rank: int, attempt: int, how: signal.Signals, folder: Path) -> None:
    """One of two workers ends or stops; the other one waits for it."""
    if attempt == 0:
        if rank == 1:
            end(how)
        time.sleep(600)
    (folder / f"{rank}").touch()


def dies(rank: int, attempt: int) -> None:
    if rank == 0:
        end()
    time.sleep(600)


def has_a_reason(rank: int, attempt: int) -> None:
    """One worker fails; another one notices first."""
    if rank == 0:
        raise RuntimeError("[/a/gloo/b.cc:1] Connection closed by peer [127.0.0.1]:7. Check the logs")
    time.sleep(0.3)
    raise FileError("cannot write x: No space left on device")


def waits_in_vain(rank: int, attempt: int) -> None:
    """A worker lives but does nothing; another one notices."""
    if rank == 0:
        raise RuntimeError("[/a/gloo/b.cc:1] Timed out waiting 500ms for recv operation to complete")
    time.sleep(600)


def exits(rank: int, attempt: int) -> None:
    os._exit(3)


def lose_workers(rank: int, attempt: int, *arguments: Any) -> None:
    """Training whose first workers die: when they start, in an exchange, and in a checkpoint."""
    if attempt == 0 and rank == 1:
        end()
    from justjump import files
    from justjump.train.parts import workers
    from justjump.train.parts.transport import Processes

    if attempt == 1 and rank == 1:
        epochs = 0

        def epoch_ends(self: Processes, flag: bool) -> bool:
            nonlocal epochs
            epochs += 1
            return ends(self, flag)

        def exchange(self: Processes, *rows: Any) -> Any:
            begun = begin(self, *rows)
            if epochs == 1:  # the others wait for the rows of this one, or have begun to receive them
                end()
            return begun

        def meet(self: Processes) -> None:
            if epochs == 1 and len(met) == 2:  # the others wait for the rows of this one
                end()
            met.extend([None] * (epochs == 1))
            wait(self)

        met: list[None] = []
        ends, begin, wait = Processes.any, Processes.exchange, Processes.meet
        Processes.any, Processes.exchange = epoch_ends, exchange  # type: ignore[method-assign, assignment]
        Processes.meet = meet  # type: ignore[method-assign]
    if attempt == 2 and rank == 0:
        files._sync = _after(2, files._sync)  # the new checkpoint is written, but not in its place
    workers.work(rank, attempt, *arguments)


def far_apart(rank: int, attempt: int, *arguments: Any) -> None:
    """Training by workers that take each other for workers of other machines."""
    from justjump.train.parts import sharing, workers

    sharing.machine = lambda: f"machine {rank}"
    workers.work(rank, attempt, *arguments)


def _after(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that ends its process the next time."""
    left = calls

    def call(*arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            end()
        return function(*arguments)

    return call
