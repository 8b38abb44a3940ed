"""Train on a graph in parts with Ray Train, on this machine or on a cluster."""

from __future__ import annotations

import logging
import signal
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from justjump.data.parts import Parts
from justjump.experiments.ray_engine import RayEngine, _ray
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, RunError
from justjump.train.errors import first_line
from justjump.train.parts.boundary import dealt
from justjump.train.parts.pieces import check_supported

# A group of workers that loses one starts again from the last epoch that was saved; this often at most.
RETRIES = 5
SECONDS = 1800


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
    log: Path | None = None,
) -> Run:
    """What :func:`~justjump.train.parts.workers.train_on_parts` does, with workers that Ray starts.

    All machines must see the folders of the parts and of the output. If a worker or a machine is lost, Ray starts the
    workers again, and they go on from the last epoch that was saved.
    """
    check_supported(config, protocol)
    dealt(len(parts), workers)
    ray = _ray()
    try:
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer
    except ImportError as error:
        raise RunError(f"--engine ray needs Ray Train ({first_line(error)}): pip install 'ray[train]'") from error
    ours = not ray.is_initialized()
    if ours:
        RayEngine(address)._connect(ray)
    try:
        with tempfile.TemporaryDirectory(prefix="justjump-") as folder:
            output = Path(folder, "run") if output is None else output.resolve()
            options = {"split": None, "seed": seed, "output": output, "scratch": scratch}
            options["log"] = None if log is None else log.resolve()
            logging.getLogger("ray.train").setLevel(logging.ERROR)
            trainer = TorchTrainer(
                _work,
                train_loop_config={"folder": parts.folder.resolve(), "own": (config, protocol), "options": options},
                torch_config=TorchConfig(backend="gloo", timeout_s=SECONDS),
                scaling_config=ScalingConfig(num_workers=workers),
                run_config=RunConfig(storage_path=folder, failure_config=FailureConfig(max_failures=RETRIES)),
            )
            before = signal.getsignal(signal.SIGINT)
            try:
                trainer.fit()
            except Exception as error:  # Ray wraps those of workers in classes of its own
                raise RunError(f"training with Ray has failed: {_reason(error)}") from error
            finally:
                if threading.current_thread() is threading.main_thread():
                    signal.signal(signal.SIGINT, before)  # Ray leaves its own
            return Run.load(output)
    finally:
        if ours:
            ray.shutdown()


def _reason(error: BaseException) -> str:
    """The error of a worker, if there is one."""
    failures = getattr(error, "worker_failures", None) or {}
    cause = next(iter(failures.values()), None) or error.__cause__ or error
    lines = str(cause).strip().splitlines()
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
