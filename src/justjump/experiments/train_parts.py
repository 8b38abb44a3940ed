"""Train one network on several splits of a graph in parts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from justjump.data.parts import open_parts
from justjump.experiments.train import conclude
from justjump.experiments.tune import parse_time
from justjump.files import new_folder
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run
from justjump.train.errors import TrainingWarning
from justjump.train.parts.nodes import labels_of
from justjump.train.parts.workers import check_training, train_on_parts
from justjump.train.start import say_features, say_task
from justjump.train.tensorboard import check_log_folder, run_folder


def train_parts(
    folder: Path,
    config: ModelConfig,
    protocol: Protocol,
    *,
    workers: int,
    engine: str,
    address: str | None,
    scratch: Path | None,
    worker_timeout: str,
    verify: bool,
    splits: int,
    seed: int,
    output: Path | None,
    as_json: bool,
    tensorboard: Path | None = None,
) -> None:
    """Train on one split after the other, print the accuracy over them, and write it to the folder ``output``."""
    seconds = parse_time(worker_timeout, "--worker-timeout")
    parts = open_parts(folder, verify)
    check_training(parts, config, protocol, workers, seconds)
    graph = labels_of(parts)
    train: Callable[..., Run] = partial(train_on_parts, progress=True)
    if engine == "ray":
        from justjump.experiments.ray_parts import train_with_ray

        train = partial(train_with_ray, address=address)
    start, results = time.perf_counter(), []
    with new_folder(output, "--output"), new_folder(scratch, "--scratch"), new_folder(tensorboard, "--tensorboard"):
        if tensorboard is not None:
            check_log_folder(tensorboard)
        say_task(graph, protocol, None)  # it was chosen when the graph was partitioned
        say_features(parts.manifest.preprocessing)
        for number in range(seed, seed + splits):
            options: dict[str, Any] = {"workers": workers, "scratch": scratch, "seed": number}
            options |= {"worker_timeout": seconds, "output": output and output / f"split-{number}"}
            if tensorboard is not None:
                name = f"{parts.manifest.name}-{parts.manifest.digest[:8]}"
                options["log"] = Path(run_folder(tensorboard, name, config, protocol, number))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrainingWarning)  # the result has them as notes
                run = train(parts, config, protocol, **options)
            results.append(run.to_dict())
            if not run.finished:
                break
    conclude(graph, config, protocol, results, time.perf_counter() - start, splits, output, as_json)
