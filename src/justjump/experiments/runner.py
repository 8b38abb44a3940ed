"""Many training runs, one after the other or in worker processes."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event as EventFlag
from pathlib import Path
from queue import Empty
from typing import Any

import torch

from justjump.data import NAMES, Graph, load, read_graph
from justjump.nn import ModelConfig
from justjump.train import Progress, Protocol, RunError, fit


@dataclass(frozen=True)
class Source:
    """Where a graph comes from: one of the paper's datasets, or a user's file or folder."""

    dataset: str | None = None
    path: str | None = None
    data_dir: str | None = None
    directed: bool = False

    @classmethod
    def named(cls, text: str, data_dir: str | None = None, directed: bool = False) -> Source:
        """A path where there is one, else a dataset's name; one of the two is ambiguous only with ``./`` to help."""
        if Path(text).exists() and text in NAMES:
            raise ValueError(f"{text} is a dataset and a path here: write ./{text} for the path")
        looks_like_path = Path(text).exists() or (text not in NAMES and ("/" in text or text.endswith(".npz")))
        if looks_like_path:
            return cls(path=text, directed=directed)
        if directed:
            raise ValueError(f"--directed is for a graph of your own, and {text} is a dataset")
        return cls(dataset=text, data_dir=data_dir)

    def load(self) -> Graph:
        return _load(self)


@lru_cache(maxsize=1)  # jobs of one graph share it
def _load(source: Source) -> Graph:
    if source.path is not None:
        return read_graph(source.path, source.directed)
    return load(source.dataset or "", source.data_dir)


@dataclass(frozen=True)
class Job:
    """One run: a graph, a network, a protocol and a seed."""

    source: Source
    config: ModelConfig
    protocol: Protocol
    seed: int
    output: str | None = None


@dataclass(frozen=True)
class Epoch:
    """A job has done one more epoch."""

    job: int
    epoch: int
    seconds: float
    val_accuracy: float


@dataclass(frozen=True)
class Done:
    """A job has ended; ``result`` is :meth:`Run.to_dict <justjump.train.Run.to_dict>`, not finished after Ctrl-C."""

    job: int
    result: dict[str, Any]


Event = Epoch | Done


def run_jobs(jobs: Sequence[Job], workers: int, on_event: Callable[[Event], None]) -> list[dict[str, Any]]:
    """Run all jobs and return the results of those that ended, in the order of ``jobs``.

    With more than one worker each job has a process and one thread. Results do not depend on ``workers``. Ctrl-C
    stops the running jobs after their current epoch, with ``finished: False`` in their results, and starts no other.
    """
    results: dict[int, dict[str, Any]] = {}

    def collect(event: Event) -> None:
        if isinstance(event, Done):
            results[event.job] = event.result
        on_event(event)

    if workers > 1 and len(jobs) > 1:
        _in_workers(jobs, min(workers, len(jobs)), collect)
    else:
        _in_process(jobs, collect)
    return [results[number] for number in sorted(results)]


def _in_process(jobs: Sequence[Job], on_event: Callable[[Event], None]) -> None:
    for number, job in enumerate(jobs):
        result = _run(job, partial(_report, number, on_event))
        on_event(Done(number, result))
        if not result["finished"]:
            return


def _run(job: Job, on_epoch: Callable[[Progress], None]) -> dict[str, Any]:
    graph = job.source.load()
    return fit(graph, job.config, job.protocol, seed=job.seed, output=job.output, on_epoch=on_epoch).to_dict()


def _report(number: int, on_event: Callable[[Event], None], progress: Progress) -> None:
    on_event(Epoch(number, progress.epoch, progress.seconds, progress.val_accuracy[-1]))


def _in_workers(jobs: Sequence[Job], workers: int, on_event: Callable[[Event], None]) -> None:
    # A forked child would inherit torch's thread pool without its threads.
    context = multiprocessing.get_context("spawn")
    events, stop = context.Queue(), context.Event()
    pool = ProcessPoolExecutor(workers, context, _start_worker, (events, stop))
    with _ctrl_c_ignored():  # by the workers too, from their first moment: the parent decides
        pending = {pool.submit(_run_in_worker, number, job): number for number, job in enumerate(jobs)}
    try:
        _follow(pending, events, on_event)
    except KeyboardInterrupt:
        stop.set()
        for future in [future for future in pending if future.cancel()]:
            del pending[future]
        with suppress(BrokenProcessPool):
            _follow(pending, events, on_event)
    except BrokenProcessPool as error:
        raise RunError("a worker process died, most likely for lack of memory: use fewer --jobs") from error
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _follow(
    pending: dict[Future[dict[str, Any]], int], events: Queue[Epoch], on_event: Callable[[Event], None]
) -> None:
    """Pass on events until nothing is pending; raise what a job raised."""
    while pending:
        done, _ = wait(pending, timeout=0.05, return_when=FIRST_COMPLETED)
        with suppress(Empty):
            for _ in range(1000):  # not for ever: jobs may report faster than they are heard
                on_event(events.get_nowait())
        for future in done:
            on_event(Done(pending[future], future.result()))
            del pending[future]


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


def _start_worker(events: Queue[Epoch], stop: EventFlag) -> None:
    torch.set_num_threads(1)
    _worker.update(events=events, stop=stop)


_worker: dict[str, Any] = {}


def _run_in_worker(number: int, job: Job) -> dict[str, Any]:
    def on_event(event: Event) -> None:
        _worker["events"].put(event)
        if _worker["stop"].is_set():
            raise KeyboardInterrupt  # fit() saves its state and returns the best network so far

    result = _run(job, partial(_report, number, on_event))
    _worker["events"].cancel_join_thread()  # a progress report may be lost, the result not
    return result
