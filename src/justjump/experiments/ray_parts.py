"""Train on a graph in parts with Ray Train, on this machine or on a cluster."""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from justjump.data.errors import short
from justjump.data.parts import Parts
from justjump.experiments.ray_engine import RayEngine, _ray
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, RunError
from justjump.train.checkpoint import saved_epoch
from justjump.train.errors import TrainingError, first_line
from justjump.train.parts.supervise import RESTARTS
from justjump.train.parts.workers import TIMEOUT, check_training
from justjump.train.saved import RUN_FILE

# Ray's own limit on how long it waits for a worker that gives no sign of life.
SILENCE = "RAY_TRAIN_WORKER_HEALTH_CHECK_TIMEOUT_S"
# Seconds between two looks for machines that have come back: workers start again where there is room for more of them.
RESIZE_EVERY = 600.0
# Seconds between two looks for workers that were lost.
SECONDS_TO_LISTEN = 0.5
# What a worker raises that it would raise again.
OWN_ERRORS = (ValueError, TypeError, OSError, ArithmeticError, TrainingError)


def train_with_ray(
    parts: Parts,
    config: ModelConfig,
    protocol: Protocol,
    *,
    workers: int,
    address: str | None,
    seed: int,
    output: Path | None,
    scratch: Path | None,
    worker_timeout: float = TIMEOUT,
    log: Path | None = None,
) -> Run:
    """What :func:`~justjump.train.parts.workers.train_on_parts` does, with workers that Ray starts.

    All machines must see the folders of the parts and of the output. If a worker or a machine is lost, Ray starts the
    workers again, or as many as the machines that are left can take, and they go on from the last epoch that was saved.
    """
    check_training(parts, config, protocol, workers, worker_timeout)
    ray = _ray()
    try:
        from ray.train import FailureConfig, RunConfig, ScalingConfig, UserCallback
        from ray.train.torch import TorchConfig, TorchTrainer
    except ImportError as error:
        raise RunError(f"--engine ray needs Ray Train ({first_line(error)}): pip install 'ray[train]'") from error

    class Watch(UserCallback):
        """Ends training for errors of our own, where Ray would try again, and tells of workers that were lost.

        Ray calls it in a process of its own, which may be on another machine.
        """

        def __init__(self, losses: Any) -> None:
            self.losses = losses

        def after_exception(self, run_context: Any, worker_exceptions: Any) -> None:
            for one in _of_workers(worker_exceptions).values():
                if isinstance(one, OWN_ERRORS):
                    raise one
            with suppress(Exception):  # a line less is no reason to end
                self.losses.put_nowait(loss(worker_exceptions))

    ours = not ray.is_initialized()
    if ours:
        RayEngine(address).connect(ray)
    try:
        with tempfile.TemporaryDirectory(prefix="justjump-") as folder:
            output = Path(folder, "run") if output is None else output.resolve()
            options = {"split": None, "seed": seed, "output": output, "scratch": scratch}
            options["log"] = None if log is None else log.resolve()
            logging.getLogger("ray.train").setLevel(logging.ERROR)
            scaling: dict[str, Any] = {"num_workers": workers}
            if hasattr(ScalingConfig, "elastic_resize_monitor_interval_s"):
                scaling = {"num_workers": (1, workers), "elastic_resize_monitor_interval_s": RESIZE_EVERY}
            with _losses_said(ray, output) as losses, _ctrl_c_as_before(), _silence_of(worker_timeout):
                trainer = TorchTrainer(
                    _work,
                    train_loop_config={"folder": parts.folder.resolve(), "own": (config, protocol), "options": options},
                    torch_config=TorchConfig(backend="gloo", timeout_s=math.ceil(worker_timeout)),
                    scaling_config=ScalingConfig(**scaling),
                    run_config=RunConfig(
                        storage_path=folder,
                        failure_config=FailureConfig(max_failures=RESTARTS),
                        callbacks=[Watch(losses)],  # type: ignore[list-item]
                    ),
                )
                _fit(trainer, output)
            if not (output / RUN_FILE).exists():
                raise RunError(f"the run is not in {output}: name a folder that all machines see, with --output")
            return Run.load(output)
    finally:
        if ours:
            ray.shutdown()


def _fit(trainer: Any, output: Path) -> None:
    """Train until the end, as long as a further epoch was saved between the failures that Ray allows."""
    while True:
        before = saved_epoch(output)
        try:
            trainer.fit()
            return
        except Exception as error:  # Ray wraps those of workers in classes of its own
            cause = _cause(error)
            if isinstance(cause, OWN_ERRORS) or saved_epoch(output) <= before:
                raise RunError(f"training with Ray has failed: {_reason(cause)}") from error


@contextmanager
def _ctrl_c_as_before() -> Iterator[None]:
    """Ray leaves a handler of its own."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _silence_of(seconds: float) -> Iterator[None]:
    """Ray reads from the environment how long it waits for a worker; what the user has set there stays."""
    ours = SILENCE not in os.environ
    os.environ.setdefault(SILENCE, str(seconds))
    try:
        yield
    finally:
        if ours:
            del os.environ[SILENCE]


@contextmanager
def _losses_said(ray: Any, output: Path) -> Iterator[Any]:
    """A queue for what is known of lost workers; each entry becomes a line on the terminal."""
    from ray.util.queue import Queue
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # On this machine, where it is not lost with another one.
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    queue = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": here})
    ended = threading.Event()

    def say() -> None:
        while True:
            is_last = ended.wait(SECONDS_TO_LISTEN)
            with suppress(Exception):
                for lost in queue.get_nowait_batch(queue.qsize()):
                    print(f"{lost}: new workers go on after epoch {saved_epoch(output)}", file=sys.stderr)
            if is_last:
                return

    thread = threading.Thread(target=say, daemon=True, name="losses")
    thread.start()
    try:
        yield queue
    finally:
        ended.set()
        thread.join()
        with suppress(Exception):
            queue.shutdown()


def loss(failures: Mapping[int, BaseException]) -> str:
    """Which worker was lost, and why: the others have lost their connection to it.

    >>> loss({0: RuntimeError("Connection closed by peer"), 1: ConnectionError("The actor died unexpectedly.")})
    'worker 1 was lost (The actor died unexpectedly)'
    """
    found = _of_workers(failures)
    worker = min(found, key=lambda rank: isinstance(found[rank], RuntimeError))
    return f"worker {worker} was lost ({short(first_line(found[worker]), 120).rstrip('.:')})"


def _of_workers(failures: Any) -> dict[int, BaseException]:
    """The errors of workers, without what Ray has wrapped them in."""
    return {rank: getattr(one, "_base_exc", one) for rank, one in (failures or {}).items()}


def _cause(error: BaseException) -> BaseException:
    """The error that explains the others: workers that have lost one another do not."""
    found = [*_of_workers(getattr(error, "worker_failures", None)).values()]
    found.append(getattr(error, "controller_failure", None) or error.__cause__ or error)
    return min(found, key=lambda one: (not isinstance(one, OWN_ERRORS), isinstance(one, RuntimeError)))


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def _work(given: Mapping[str, Any]) -> None:
    """What each worker runs; Ray has made them a group."""
    import torch

    from justjump.data.parts import open_parts
    from justjump.train.parts.loop import train_and_log
    from justjump.train.parts.transport import Processes

    torch.set_num_threads(1)
    parts, (config, protocol) = open_parts(given["folder"], verify=False), given["own"]
    train_and_log(parts, config, protocol, Processes(), on_epoch=None, progress=False, **given["options"])
