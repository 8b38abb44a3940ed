"""Several processes that train on the parts of one graph."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from justjump.data.parts import Parts, open_parts
from justjump.nn import ModelConfig
from justjump.train.checkpoint import Progress
from justjump.train.errors import RunError, TrainingError, TrainingWarning, first_line
from justjump.train.parts.boundary import dealt
from justjump.train.parts.loop import train_and_log
from justjump.train.parts.pieces import check_supported
from justjump.train.parts.transport import Alone, Processes
from justjump.train.protocol import Protocol
from justjump.train.run import Run
from justjump.warn import warn

# How long a worker waits for another one before it takes it for dead.
SECONDS = 1800.0


def train_on_parts(
    parts: Parts,
    config: ModelConfig,
    protocol: Protocol,
    *,
    workers: int = 1,
    scratch: str | Path | None = None,
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
        split, seed, output, on_epoch, progress: as of ``justjump.fit``; nodes have their numbers in the data that
            was partitioned
        log: folder of this run for TensorBoard's curves
    """
    check_supported(config, protocol)
    if protocol.task not in ("auto", parts.manifest.task):
        raise ValueError(f"task={protocol.task!r}, but the graph was partitioned for {parts.manifest.task!r}")
    dealt(len(parts), workers)
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
        with _group():
            return train_and_log(parts, config, protocol, Processes(), **options)
    if workers == 1:
        return train_and_log(parts, config, protocol, Alone(), **options)
    if on_epoch is not None:
        raise ValueError(f"on_epoch is called in this process, and {workers} workers are others: leave it out")
    with tempfile.TemporaryDirectory(prefix="justjump-") as folder:
        options["output"] = options["output"] or Path(folder, "run")
        _run_workers(workers, (Path(folder), workers, parts.folder, config, protocol, options))
        run = Run.load(options["output"])
    for note in run.notes:  # here, where someone may look at warnings
        warn(note, TrainingWarning)
    return run


@contextmanager
def _group() -> Iterator[None]:
    """The processes that ``torchrun`` started, unless they are a group already."""
    if dist.is_initialized():
        yield
        return
    dist.init_process_group("gloo", timeout=timedelta(seconds=SECONDS))
    try:
        yield
    finally:
        dist.destroy_process_group()


def _run_workers(workers: int, arguments: tuple[Any, ...]) -> None:
    """Start processes and wait for all of them; the first that fails ends the others."""
    context = multiprocessing.get_context("spawn")
    started: dict[Connection, BaseProcess] = {}
    before = None
    try:
        for rank in range(workers):
            here, there = context.Pipe(duplex=False)
            process: BaseProcess = context.Process(
                target=_work, args=(there, rank, *arguments), daemon=True, name=f"worker {rank}"
            )
            process.start()
            there.close()
            started[here] = process
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the workers end their epoch, and then this one ends
        _wait(started)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
        for one in started.values():
            one.kill()
            one.join()


def _wait(started: dict[Connection, BaseProcess]) -> None:
    left = list(started)
    while left:
        for connection in wait(left):
            assert isinstance(connection, Connection)
            left.remove(connection)
            process = started[connection]
            try:
                message = connection.recv()
            except EOFError:
                process.join()
                _raise_killed(started)
                raise RunError(f"{process.name} ended with exit code {process.exitcode}") from None
            if isinstance(message, RunError):  # perhaps only because another one has died
                _raise_killed(started)
            if message is not None:
                raise message


def _raise_killed(started: dict[Connection, BaseProcess]) -> None:
    """Raise an error about a worker that the system has ended, if there is one."""
    for process in started.values():
        process.join(0.2)
        if process.exitcode is not None and process.exitcode < 0:
            raise RunError(
                f"{process.name} was ended by signal {-process.exitcode}: the same command goes on from the last epoch "
                "that was saved"
            )


def _work(
    connection: Connection,
    rank: int,
    meeting: Path,
    workers: int,
    folder: Path,
    config: Any,
    protocol: Any,
    options: Any,
) -> None:
    """What a worker runs. It sends the error that ended it, or None."""
    _end_with_parent()
    warnings.simplefilter("ignore", TrainingWarning)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo" if sys.platform == "linux" else "lo0")
    torch.set_num_threads(max(1, torch.get_num_threads() // workers))
    try:
        dist.init_process_group(
            "gloo", f"file://{meeting / 'meeting'}", timedelta(seconds=SECONDS), world_size=workers, rank=rank
        )
        train_and_log(open_parts(folder, verify=False), config, protocol, Processes(), **options)
        connection.send(None)
        dist.destroy_process_group()
    except (ValueError, TypeError, OSError, ArithmeticError, TrainingError) as error:
        connection.send(error)
    except RuntimeError as error:
        connection.send(RunError(f"worker {rank}: {first_line(error)}"))


def _end_with_parent() -> None:
    """End this process when its parent has ended, however that was."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()
