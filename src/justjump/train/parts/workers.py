"""Several processes that train on the parts of one graph."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from justjump.data.parts import Parts, open_parts
from justjump.nn import ModelConfig
from justjump.train.checkpoint import Progress, saved_epoch
from justjump.train.errors import RunError, TrainingWarning
from justjump.train.parts.boundary import dealt
from justjump.train.parts.loop import train_and_log
from justjump.train.parts.pieces import check_supported
from justjump.train.parts.supervise import as_lost, run_with_restarts
from justjump.train.parts.transport import Alone, Processes
from justjump.train.protocol import Protocol
from justjump.train.run import Run
from justjump.warn import warn

# How long a worker waits for another one before it takes it for lost, unless the user says something else.
TIMEOUT = 1800.0


def train_on_parts(
    parts: Parts,
    config: ModelConfig,
    protocol: Protocol,
    *,
    workers: int = 1,
    scratch: str | Path | None = None,
    worker_timeout: float = TIMEOUT,
    split: Any = None,
    seed: int = 0,
    output: str | Path | None = None,
    on_epoch: Callable[[Progress], None] | None = None,
    progress: bool | None = None,
    log: str | Path | None = None,
) -> Run:
    """Train a network on a graph in parts. The result is the same, bit for bit, for any number of workers.

    Args:
        parts: of the graph
        config: which network
        protocol: how it is trained
        workers: number of processes, which share the parts; processes that ``torchrun`` started are taken as they are
        scratch: folder on a fast disk for the representations of all nodes; they are in memory by default
        worker_timeout: seconds without a sign of life after which a worker counts as lost. If one is lost, however that
            was, new ones go on from the last epoch that was saved
        split, seed, output, on_epoch, progress: as of ``justjump.fit``; nodes have their numbers in the data that
            was partitioned
        log: folder of this run for TensorBoard's curves
    """
    check_training(parts, config, protocol, workers, worker_timeout)
    options = {
        "split": split,
        "seed": seed,
        "output": None if output is None else Path(output),
        "scratch": None if scratch is None else Path(scratch),
        "on_epoch": on_epoch,
        "progress": progress,
        "log": None if log is None else Path(log),
    }
    if dist.is_initialized() or "TORCHELASTIC_RUN_ID" in os.environ:
        with _group(worker_timeout):
            return train_and_log(parts, config, protocol, Processes(), **options)
    if workers == 1:
        return train_and_log(parts, config, protocol, Alone(), **options)
    if on_epoch is not None:
        raise ValueError(f"on_epoch is called in this process, and {workers} workers are others: leave it out")
    with tempfile.TemporaryDirectory(prefix="justjump-") as folder:
        options["output"] = options["output"] or Path(folder, "run")
        run_with_restarts(
            workers,
            work,
            (Path(folder), workers, parts.folder, config, protocol, worker_timeout, options),
            limit=worker_timeout,
            saved=partial(saved_epoch, options["output"]),
            say=lambda line: print(line, file=sys.stderr),
        )
        run = Run.load(options["output"])
    for note in run.notes:  # here, where someone may look at warnings
        warn(note, TrainingWarning)
    return run


def check_training(parts: Parts, config: ModelConfig, protocol: Protocol, workers: int, worker_timeout: float) -> None:
    """Raise ValueError for what cannot be trained on these parts, before anything is written or started."""
    check_supported(config, protocol)
    if protocol.task not in ("auto", parts.manifest.task):
        raise ValueError(f"task={protocol.task!r}, but the graph was partitioned for {parts.manifest.task!r}")
    dealt(len(parts), workers)
    if not 0 < worker_timeout < threading.TIMEOUT_MAX:
        raise ValueError(f"worker_timeout={worker_timeout} is no time to wait: give a number of seconds above 0")


@contextmanager
def _group(limit: float) -> Iterator[None]:
    """The processes that ``torchrun`` started, unless they are a group already."""
    ours = not dist.is_initialized()
    try:
        if ours:
            store, rank, world = next(rendezvous("env://", timeout=timedelta(seconds=limit)))
            if os.environ.get("GROUP_WORLD_SIZE") == "1":  # workers that torchrun started before left addresses there
                attempt = f"attempt-{os.environ['TORCHELASTIC_RESTART_COUNT']}"
                store = dist.PrefixStore(attempt, store)  # type: ignore[attr-defined]
            dist.init_process_group("gloo", timeout=timedelta(seconds=limit), store=store, rank=rank, world_size=world)
        yield
    except RuntimeError as error:
        name = f"worker {dist.get_rank()}" if dist.is_initialized() else "a worker"
        if (lost := as_lost(error, name)) is None:
            raise
        raise RunError(f"{lost}; the same command goes on from the last epoch that was saved") from error
    finally:
        if ours and dist.is_initialized():
            dist.destroy_process_group()


def work(
    rank: int,
    attempt: int,
    meeting: Path,
    workers: int,
    folder: Path,
    config: Any,
    protocol: Any,
    limit: float,
    options: Any,
) -> None:
    """What a worker runs, in a process of its own."""
    warnings.simplefilter("ignore", TrainingWarning)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo" if sys.platform == "linux" else "lo0")
    torch.set_num_threads(max(1, torch.get_num_threads() // workers))
    place = f"file://{meeting / f'meeting-{attempt}'}"
    dist.init_process_group("gloo", place, timedelta(seconds=limit), world_size=workers, rank=rank)
    train_and_log(open_parts(folder, verify=False), config, protocol, Processes(), **options)
    dist.destroy_process_group()
