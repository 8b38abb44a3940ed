"""Many jobs on this machine, with one process and one thread per job."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event as Flag
from pathlib import Path

import torch

from justjump.experiments.jobs import Claim, Done, Epoch, Event, Failed, Job, OnEvent, Stopping
from justjump.experiments.orphans import start_worker
from justjump.train import Progress
from justjump.train.process import ctrl_c_waits

SECONDS_BETWEEN_REPORTS = 0.1
# Share of the memory that is left to other programs.
SPARE_MEMORY = 0.1


def worker_count(jobs: int) -> int:
    """How many jobs run at a time: as many as asked for, or one per core for 0."""
    if jobs:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_here(jobs: Sequence[Job], on_event: OnEvent) -> bool:
    """Run one job after the other in this process, with all its threads.

    Returns False after Ctrl-C, which ends the running job after its current epoch.
    """
    for number, job in enumerate(jobs):
        event = _run(number, job, on_event)
        on_event(event)
        if isinstance(event, Done) and not event.result["finished"]:
            return False
    return True


def _run(number: int, job: Job, on_event: OnEvent) -> Done | Failed:
    def report(progress: Progress) -> None:
        on_event(Epoch(number, progress.epoch, progress.seconds, progress.val_score[-1], progress.measure))

    try:
        return Done(number, job.run(report))
    except Exception as error:
        return Failed(number, str(error) or type(error).__name__, traceback.format_exc())


def run_in_workers(jobs: Sequence[Job], workers: int, on_event: OnEvent, claim: Claim | None = None) -> bool:
    """Run as many jobs at a time as there are workers and as fit into memory.

    Results do not depend on ``workers``. If the process of a job dies, that job has failed, and the others go on.
    Returns False after Ctrl-C, which ends the running jobs after their current epoch; a second Ctrl-C ends them at
    once.
    """
    pool = _Pool(min(workers, len(jobs)))
    waiting = list(range(len(jobs)))
    try:
        with ctrl_c_waits() as is_stopped:
            while waiting or pool.busy:
                if is_stopped() and not pool.stop.is_set():
                    pool.stop.set()
                    waiting.clear()
                    on_event(Stopping())
                _start_what_fits(pool, jobs, waiting, claim)
                for worker in pool.ready():
                    worker.hear(on_event)
            return not is_stopped()
    finally:
        pool.close()


def _start_what_fits(pool: _Pool, jobs: Sequence[Job], waiting: list[int], claim: Claim | None) -> None:
    for worker in pool.idle:
        while worker.job is None:
            number = _next(jobs, waiting, sum(jobs[w.job].memory for w in pool.busy if w.job is not None))
            if number is None:
                return
            waiting.remove(number)
            if claim is None or claim(number):
                worker.start(number, jobs[number])


def _next(jobs: Sequence[Job], waiting: Sequence[int], in_use: int) -> int | None:
    """The first job that fits into memory beside the running ones; if nothing runs, the first job."""
    room = (1 - SPARE_MEMORY) * total_memory() - in_use
    return next((number for number in waiting if not in_use or jobs[number].memory <= room), None)


def total_memory() -> int:
    """Bytes of main memory that this process may use: all, or the limit of its control group."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # this system does not tell
        return 2**63
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            total = min(total, int(Path(path).read_text()))
    return total


@dataclass(eq=False)
class _Worker:
    """A process that runs one job after the other. It starts with its first job, and again if it died."""

    stop: Flag
    process: SpawnProcess | None = None
    connection: Connection | None = None
    job: int | None = None

    def start(self, number: int, job: Job) -> None:
        self.job = number
        if self.process is None or not self.process.is_alive():
            self._spawn()
        assert self.connection is not None
        with suppress(BrokenPipeError):  # it died just now: hear() finds out
            self.connection.send((number, job))

    def _spawn(self) -> None:
        # A forked child would inherit torch's thread pool without its threads.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=start_worker, args=(theirs, self.stop), daemon=True)
        with _ctrl_c_ignored():  # the child ignores it, too, from its first moment on: the parent decides
            self.process.start()
        theirs.close()

    def hear(self, on_event: OnEvent) -> None:
        """Pass on the next event of the process, or that it died."""
        assert self.connection is not None
        assert self.process is not None
        try:
            event: Epoch | Done | Failed = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            event = Failed(self.job or 0, _cause_of_death(self.process.exitcode))
            self.process = None
        if not isinstance(event, Epoch):
            self.job = None
        on_event(event)


def _cause_of_death(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = ", most likely for lack of memory: use fewer --jobs" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with code {code}"


@dataclass
class _Pool:
    size: int
    stop: Flag = field(default_factory=lambda: multiprocessing.get_context("spawn").Event())
    workers: list[_Worker] = field(init=False)

    def __post_init__(self) -> None:
        self.workers = [_Worker(self.stop) for _ in range(self.size)]

    @property
    def busy(self) -> list[_Worker]:
        return [worker for worker in self.workers if worker.job is not None]

    @property
    def idle(self) -> list[_Worker]:
        return [worker for worker in self.workers if worker.job is None]

    def ready(self) -> Iterator[_Worker]:
        """Busy workers that have sent an event; waits a moment for the first."""
        by_connection = {worker.connection: worker for worker in self.busy}
        for connection in wait([c for c in by_connection if c is not None], timeout=SECONDS_BETWEEN_REPORTS):
            yield by_connection[connection]  # type: ignore[index]

    def close(self) -> None:
        for worker in self.workers:
            if worker.process is not None:
                worker.process.kill() if worker.job is not None else worker.process.terminate()
                worker.process.join()


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def work(connection: Connection, stop: Flag) -> None:
    """Run the jobs that come through a connection, until it closes."""
    torch.set_num_threads(1)
    said = 0.0

    def report(event: Event) -> None:
        nonlocal said
        if not isinstance(event, Epoch) or time.monotonic() - said > SECONDS_BETWEEN_REPORTS:
            said = time.monotonic()
            connection.send(event)
        if isinstance(event, Epoch) and stop.is_set():
            raise KeyboardInterrupt  # fit() saves its state and returns the best network so far

    with suppress(EOFError, BrokenPipeError):  # the parent is gone
        while True:
            number, job = connection.recv()
            said = 0.0  # always report the first epoch: a job without one was finished before
            report(_run(number, job, report))
