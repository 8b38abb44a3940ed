"""Many training runs, one after the other or in worker processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
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
class Job:
    """One run: a graph (a dataset's name, or the path of a user's graph), a network, a protocol and a seed."""

    graph: str
    config: ModelConfig
    protocol: Protocol
    seed: int
    data_dir: str | None = None
    directed: bool = False
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


def load_graph(source: str, data_dir: str | None = None, directed: bool = False) -> Graph:
    """A dataset by its name, or a user's graph by its path."""
    if source in NAMES or not (os.sep in source or Path(source).exists() or source.endswith(".npz")):
        return load(source, data_dir)
    return read_graph(source, directed)


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
    graph = _graph(job.graph, job.data_dir, job.directed)
    return fit(graph, job.config, job.protocol, seed=job.seed, output=job.output, on_epoch=on_epoch).to_dict()


# Jobs of one graph share it.
_graph = lru_cache(maxsize=1)(load_graph)


def _report(number: int, on_event: Callable[[Event], None], progress: Progress) -> None:
    on_event(Epoch(number, progress.epoch, progress.seconds, progress.val_accuracy[-1]))


def _in_workers(jobs: Sequence[Job], workers: int, on_event: Callable[[Event], None]) -> None:
    context = multiprocessing.get_context(
        "spawn"
    )  # a forked child would inherit torch's thread pool without its threads
    events, stop = context.Queue(), context.Event()
    pool = ProcessPoolExecutor(workers, context, _start_worker, (events, stop))
    futures = [pool.submit(_run_in_worker, number, job) for number, job in enumerate(jobs)]
    try:
        _follow(futures, events, on_event)
    except KeyboardInterrupt:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        _follow([future for future in futures if not future.cancelled()], events, on_event)
    except BrokenProcessPool as error:
        raise RunError("a worker process died, most likely for lack of memory: use fewer --jobs") from error
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _follow(futures: Sequence[Future[None]], events: Queue[Event], on_event: Callable[[Event], None]) -> None:
    """Pass on events until all futures are done; raise what one of them raised."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=0.05)
        while True:
            try:
                on_event(events.get(timeout=0.05))
            except Empty:
                break
        for future in done:
            future.result()


def _start_worker(events: Queue[Event], stop: EventFlag) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent decides
    torch.set_num_threads(1)
    _worker.update(events=events, stop=stop)


_worker: dict[str, Any] = {}


def _run_in_worker(number: int, job: Job) -> None:
    def on_event(event: Event) -> None:
        _worker["events"].put(event)
        if _worker["stop"].is_set():
            raise KeyboardInterrupt  # fit() saves its state and returns the best network so far

    result = _run(job, partial(_report, number, on_event))
    _worker["events"].put(Done(number, result))
