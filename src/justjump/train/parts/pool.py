"""Tasks on parts, in this process or in several: one that dies is started again, and its task is repeated."""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from justjump.data.parts import Parts, open_parts
from justjump.nn import ModelConfig, NodeClassifier
from justjump.train.errors import RunError
from justjump.train.orphans import exit_after_parent
from justjump.train.parts.boundary import dealt
from justjump.train.parts.inference import Inference
from justjump.train.parts.storage import InMemory, OnDisk

# A task whose process ends this often is given up.
ATTEMPTS = 3
R = TypeVar("R")
Advance = Callable[[float], None]
Task = Callable[..., R]  # a function of a module, which gets an Inference and its own arguments


class Pool:
    """Runs tasks on the parts of a graph.

    Args:
        inference: the network and the parts; its storage is a folder if there are several workers
        workers: number of processes
    """

    def __init__(self, inference: Inference, workers: int) -> None:
        self.inference, self.workers = inference, workers
        self._processes: ProcessPoolExecutor | None = None

    def run(self, task: Task[R], arguments: Sequence[tuple[Any, ...]], advance: Advance | None = None) -> list[R]:
        """What the task gives for each of several arguments, in their order; ``advance(1)`` is called after each."""
        self._advance = advance or (lambda units: None)
        found: dict[int, R] = {}
        for number, own in enumerate(arguments if self.workers == 1 else ()):
            found[number] = task(self.inference, *own)
            self._advance(1)
        attempts = 0
        while left := [number for number in range(len(arguments)) if number not in found]:
            before = len(found)
            if self._try(task, {number: arguments[number] for number in left}, found):
                continue
            attempts = 1 if len(found) > before else attempts + 1
            if attempts == ATTEMPTS:
                raise RunError(
                    f"processes of {self.workers} workers were ended by the system {ATTEMPTS} times: if memory is "
                    "short, use fewer workers, or partition the graph into more parts"
                )
        return [found[number] for number in range(len(arguments))]

    def _try(self, task: Task[R], arguments: dict[int, tuple[Any, ...]], found: dict[int, R]) -> bool:
        """Add the results to those found; False if a process has died before all were there."""
        self._processes = self._processes or self._started()
        died = False
        try:
            todo: dict[Future[R], int] = {}
            for number, own in arguments.items():
                todo[self._processes.submit(_run, task, own)] = number
            for future in as_completed(todo):
                with suppress(BrokenProcessPool):
                    found[todo[future]] = future.result()
                    self._advance(1)
                died |= isinstance(future.exception(), BrokenProcessPool)
        except BrokenProcessPool:  # of submit
            died = True
        if died:
            self.close()
        return not died

    def _started(self) -> ProcessPoolExecutor:
        model, storage = self.inference.model, self.inference.storage
        assert isinstance(storage, OnDisk)
        weights = {name: value.numpy() for name, value in model.state_dict().items()}
        start = (self.inference.parts.folder, model.config, weights, storage.folder, self.workers)
        return ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"), _start, start)

    def close(self) -> None:
        """End the processes, whatever they do."""
        if self._processes is None:
            return
        for process in list((getattr(self._processes, "_processes", None) or {}).values()):
            process.kill()
        self._processes.shutdown(cancel_futures=True)
        self._processes = None


@contextmanager
def pool_of(parts: Parts, model: NodeClassifier, workers: int = 1, scratch: str | Path | None = None) -> Iterator[Pool]:
    """Processes for the tasks of a network on a graph in parts.

    Args:
        parts: of the graph
        model: the trained network
        workers: number of processes
        scratch: folder for the representations of all nodes; with one worker they are in memory by default, and several
            share a folder for temporary files
    """
    dealt(len(parts), workers)  # refuses more workers than parts
    if workers == 1 and scratch is None:
        yield Pool(Inference(parts, model, InMemory(torch.float32)), 1)
        return
    with tempfile.TemporaryDirectory(prefix="justjump-", dir=scratch) as folder:
        pool = Pool(Inference(parts, model, OnDisk(torch.float32, Path(folder))), workers)
        try:
            yield pool
        finally:
            pool.close()


def compute_layers(pool: Pool, last: int, advance: Advance | None = None) -> None:
    """Make h(0) .. h(last) of all parts."""
    for t in range(last + 1):
        pool.run(Inference.compute, [(t, number) for number in range(len(pool.inference.parts))], advance)


_inference: Inference | None = None  # of a worker


def _start(folder: Path, config: ModelConfig, weights: dict[str, np.ndarray], scratch: Path, workers: int) -> None:
    """What a worker does before its first task."""
    global _inference
    exit_after_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for the results ends this one
    torch.set_num_threads(max(1, torch.get_num_threads() // workers))
    parts = open_parts(folder, verify=False)
    outputs = len(weights["lin_out.bias"])
    model = NodeClassifier(config, parts.manifest.num_features, outputs)
    model.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    _inference = Inference(parts, model, OnDisk(torch.float32, scratch))


def _run(task: Task[R], arguments: tuple[Any, ...]) -> R:
    assert _inference is not None
    return task(_inference, *arguments)
