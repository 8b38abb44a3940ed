"""Run the jobs whose results a store does not hold yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol as Interface

from justjump.experiments.jobs import Claim, Done, Event, Failed, Job, OnEvent, biggest_first
from justjump.experiments.local import run_in_workers
from justjump.experiments.store import Store

SECONDS_TO_LOOK_AGAIN = 1.0


class Engine(Interface):
    """Something that runs jobs. It asks ``claim`` before it starts a job, and tells ``on_event`` what happens.

    Returns False if Ctrl-C stopped it.
    """

    def __call__(self, jobs: Sequence[Job], on_event: OnEvent, claim: Claim) -> bool: ...


Watch = Callable[[Sequence[Job]], AbstractContextManager[OnEvent]]


@dataclass(frozen=True)
class LocalEngine:
    """Runs jobs in processes of this machine."""

    workers: int

    def __call__(self, jobs: Sequence[Job], on_event: OnEvent, claim: Claim) -> bool:
        return run_in_workers(jobs, self.workers, on_event, claim)


@dataclass(frozen=True)
class Outcome:
    """Which jobs failed, and why; how many were stopped by Ctrl-C or never started."""

    failed: tuple[tuple[Job, str], ...]
    missing: int


def missing(jobs: Sequence[Job], store: Store) -> list[Job]:
    """The jobs without a result, each once, the biggest first."""
    unique = {job.key: job for job in jobs}
    return biggest_first([job for job in unique.values() if job not in store])


def execute(jobs: Sequence[Job], store: Store, engine: Engine, watch: Watch | None = None) -> Outcome:
    """Run the jobs that have no result yet, and store each result as it comes.

    Several processes may do this at once with the same store: each job is run by one of them, and each process waits
    until all jobs are done.

    Args:
        jobs: the jobs whose results are wanted
        store: holds the results
        engine: runs the jobs
        watch: opens a listener for the jobs that will run, such as a progress display
    """
    todo = missing(jobs, store)
    failed: dict[int, str] = {}
    claimed: set[int] = set()

    def claim(number: int) -> bool:
        mine = number not in failed and store.claim(todo[number])
        claimed.update([number] if mine else [])
        return mine

    def on_event(event: Event) -> None:
        if isinstance(event, Done) and event.result["finished"]:
            store.add(todo[event.job], event.result)
            claimed.discard(event.job)
        elif isinstance(event, Failed):
            store.add_failure(todo[event.job], event.message, event.traceback)
            failed[event.job] = event.message
            claimed.discard(event.job)
        show(event)

    with watch(todo) if watch is not None else nullcontext(_ignore) as show:
        try:
            while engine(todo, on_event, claim) and len(missing(todo, store)) > len(failed):
                time.sleep(SECONDS_TO_LOOK_AGAIN)  # another process runs the rest
        finally:
            store.release(todo[number] for number in claimed)
    return Outcome(
        failed=tuple((todo[number], message) for number, message in failed.items()),
        missing=len(missing(todo, store)) - len(failed),
    )


def _ignore(event: Event) -> None:
    pass
