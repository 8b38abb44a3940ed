"""Processes that work together: they are started, watched, and started again if one of them is lost.

No import of torch: a worker gives signs of life before it imports anything large.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from justjump.interrupt import STOPPED as INTERRUPTED
from justjump.train.errors import RunError, TrainingError, first_line
from justjump.train.orphans import die_with_parent, exit_after_parent

# So often in a row are workers started again though no further epoch was saved.
RESTARTS = 3
# How often a worker gives a sign of life: so often within the limit, and at least once a second.
SIGNS_PER_LIMIT = 5
# How long to wait, once a worker has lost its connection, for the others to say more about the reason.
SECONDS_FOR_REASONS = 5.0
ALIVE = "alive"


class Lost(RunError):
    """A worker was ended, hangs, or has lost its connection: new workers may go on."""


def run_with_restarts(
    workers: int,
    work: Callable[..., None],
    arguments: tuple[Any, ...],
    *,
    limit: float,
    saved: Callable[[], int],
    say: Callable[[str], None],
) -> None:
    """Run ``work(rank, attempt, *arguments)`` in several processes until all of them have ended well.

    If one is lost, the others are ended, too, and new ones start, which are to go on from what was saved.

    Args:
        workers: number of processes
        work: a function of a module; its errors end all workers and are raised here
        arguments: of ``work``, behind the number of the worker and that of the attempt
        limit: seconds without a sign of life after which a worker counts as lost
        saved: the last epoch that was saved
        say: is called with a line about each restart
    """
    fruitless, attempt, epoch = 0, 0, saved()
    with _ctrl_c_noted() as is_pressed:
        while True:
            try:
                _run(workers, work, (attempt, *arguments), limit)
                return
            except Lost as lost:
                if is_pressed():
                    raise KeyboardInterrupt from lost
                before, epoch = epoch, saved()
                fruitless = 0 if epoch > before else fruitless + 1
                if fruitless > RESTARTS:
                    raise RunError(
                        f"{lost}, as after {RESTARTS} restarts before, and none of them saved a further epoch: with "
                        f"fewer workers, less memory is needed; the same command goes on after epoch {epoch}"
                    ) from lost
                say(f"{lost}: new workers go on after epoch {epoch}")
                attempt += 1


@contextmanager
def _ctrl_c_noted() -> Iterator[Callable[[], bool]]:
    """Ctrl-C reaches the workers as well, which end their epoch; this process waits for them."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.set())  # workers do not inherit it
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _held_ctrl_c() -> Iterator[None]:
    """Processes that start here get Ctrl-C when they are ready for it, and not in the middle of their imports."""
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    resource_tracker.ensure_running()  # which lets Ctrl-C through when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class _Worker:
    """A worker as its parent sees it; ``lost`` is what it said about a lost connection."""

    process: BaseProcess
    silent: float = 0.0
    lost: str = field(default="", init=False)


def _run(workers: int, work: Callable[..., None], arguments: tuple[Any, ...], limit: float) -> None:
    """Start processes and wait for all of them; the first that fails ends the others."""
    context = multiprocessing.get_context("spawn")
    every = min(1.0, limit / SIGNS_PER_LIMIT)
    place = work.__module__, work.__qualname__
    started: dict[Connection, _Worker] = {}
    try:
        for rank in range(workers):
            here, there = context.Pipe(duplex=False)
            process: BaseProcess = context.Process(
                target=_begin, args=(there, every, place, rank, arguments), daemon=True, name=f"worker {rank}"
            )
            with _held_ctrl_c():
                process.start()
            there.close()
            started[here] = _Worker(process)
        _watch(started, limit, every)
    finally:
        for connection, one in started.items():
            one.process.kill()
            one.process.join()
            connection.close()


def _watch(started: dict[Connection, _Worker], limit: float, every: float) -> None:
    """Wait until all workers have ended well, or raise why not."""
    left = dict(started)
    reasons_until, then = float("inf"), time.monotonic()
    while left:
        ready = wait(list(left), every)
        now = time.monotonic()
        # Time in which this process stood still itself is not counted: nobody was asked.
        passed, then = min(now - then, 2 * every), now
        for connection, worker in list(left.items()):
            if connection not in ready:
                worker.silent += passed
                continue
            message = _received(connection, worker)
            worker.silent = 0.0
            if message == ALIVE:
                continue
            del left[connection]
            if isinstance(message, Lost):  # perhaps only because of another one, which may say more
                worker.lost, reasons_until = str(message), min(reasons_until, now + SECONDS_FOR_REASONS)
            elif message is not None:
                raise message
        for worker in left.values():
            if worker.silent > limit:
                raise Lost(f"{worker.process.name} has not answered for {limit:g} s")
        lost = [worker.lost for worker in started.values() if worker.lost]
        if lost and (not left or now > reasons_until):
            waited_for = " and ".join(worker.process.name for worker in left.values())
            raise Lost(f"{waited_for} kept the others waiting ({lost[0]})" if left else lost[0])


def _received(connection: Connection, worker: _Worker) -> Any:
    """The next message of a worker; an error if it has ended without a last one."""
    with suppress(EOFError, OSError):
        return connection.recv()
    worker.process.join()
    code, name = worker.process.exitcode or 0, worker.process.name
    if code < 0:
        raise Lost(f"{name} was ended by signal {-code}{' (out of memory?)' if code == -signal.SIGKILL else ''}")
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    raise RunError(f"{name} ended with exit code {code}")


def _begin(connection: Connection, every: float, place: tuple[str, str], rank: int, arguments: tuple[Any, ...]) -> None:
    """What a worker runs. It sends signs of life, and at last the error that ended it, or None."""
    die_with_parent()
    exit_after_parent()
    turn, done = threading.Lock(), threading.Event()

    def give_signs() -> None:
        while not done.wait(every):
            with turn, suppress(OSError):
                if not done.is_set():
                    connection.send(ALIVE)

    threading.Thread(target=give_signs, daemon=True, name="signs of life").start()
    message: Exception | None = None
    try:
        module, name = place
        function = getattr(importlib.import_module(module), name)
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        function(rank, *arguments)
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    except (ValueError, TypeError, OSError, ArithmeticError, TrainingError) as error:
        message = error
    except RuntimeError as error:
        message = as_lost(error, f"worker {rank}") or RunError(f"worker {rank}: {first_line(error)}")
    done.set()
    with turn:
        connection.send(message)


def as_lost(error: RuntimeError, worker: str) -> Lost | None:
    """In one line, if gloo, or the store where its workers meet, has waited for another worker in vain."""
    line = first_line(error)
    if "/gloo/" not in line and not re.search("time(d )?out", line, re.IGNORECASE):
        return None
    what = re.sub(r"\[/[^]]*\] ", "", line).partition(". ")[0]  # without the line of its source, and advice
    return Lost(f"{worker} lost the others: {what}")
