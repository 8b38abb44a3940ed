"""Train one network on several splits."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from justjump.data import Graph
from justjump.experiments.display import RunsDisplay
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Done, Event, Failed, Job, preprocessing
from justjump.experiments.local import run_here, run_in_workers, worker_count
from justjump.experiments.report import report
from justjump.experiments.summary import Summary
from justjump.experiments.words import count, for_train
from justjump.files import new_folder, replace_text
from justjump.nn import ModelConfig
from justjump.train import Protocol, RunError
from justjump.train.batches import check_batches
from justjump.train.choices import LARGER_SHARE, described_linear_share, described_share, share_is_open
from justjump.train.device import checked_device
from justjump.train.evaluation import notes_on_data
from justjump.train.measures import measures_of
from justjump.train.memory import notes_on_memory
from justjump.train.start import as_graph, check_learnable, default_split, say_features, say_task
from justjump.train.tensorboard import check_log_folder

SUMMARY_FILE = "summary.json"


def train(
    spec: GraphSpec,
    config: ModelConfig,
    protocol: Protocol,
    *,
    splits: int,
    seed: int,
    jobs: int,
    output: Path | None,
    tensorboard: Path | None,
    as_json: bool,
    device: str | None = None,
) -> None:
    """Train on several splits, print the accuracy over them, and write it to the folder ``output``."""
    graph = as_graph(spec.load(), protocol)  # an error in it shows before workers start
    checked_device(device)
    check_learnable(graph, protocol)
    check_batches(graph, config, protocol)
    prepared = preprocessing(spec, protocol.scale)
    split = default_split(graph, protocol, seed)
    split.check(graph)
    with new_folder(tensorboard, "--tensorboard"), new_folder(output, "--output"):
        if tensorboard is not None:
            check_log_folder(tensorboard)
        say_task(graph, protocol, "--task")
        if splits > 1 and graph.masks is not None:
            print(f"{graph.name} brings its own split: {splits} initialisations on it", file=sys.stderr)
        say_features(prepared)
        for note in [*notes_on_data(graph, split), *notes_on_memory(graph, config, protocol, len(split.train))]:
            print(f"note: {for_train(note)}", file=sys.stderr)
        todo = [
            Job(spec, config, protocol, one, _text(output and output / f"split-{one}"), _text(tensorboard), device)
            for one in range(seed, seed + splits)
        ]
        results, seconds = run_jobs(todo, [f"split {job.seed}" for job in todo], jobs)
    conclude(graph, config, protocol, results, seconds, splits, output, as_json)


def conclude(
    graph: Graph,
    config: ModelConfig,
    protocol: Protocol,
    results: Sequence[dict[str, Any]],
    seconds: float,
    splits: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print what came of several splits, and write it to the folder ``output``; exit if some are missing."""
    done = [result for result in results if result["finished"]]
    if share_is_open(config):
        _say_where(described_share, done, [one["config"]["initial_share"] == LARGER_SHARE for one in done])
    shares = [one["config"]["linear_share"] for one in done]
    if config.linear_share is None and any(shares):
        found = sorted({share for share in shares if share})
        words = " to ".join(f"{share:g}" for share in dict.fromkeys([found[0], found[-1]]))
        _say_where(partial(described_linear_share, words), done, [bool(share) for share in shares])
    summary = _report(graph, config, protocol, done, seconds)
    if output is not None and done:
        replace_text(output / SUMMARY_FILE, json.dumps(summary, indent=2) + "\n")
    if as_json:
        print(json.dumps(summary))
    elif done:
        report(graph, done)
    if len(done) < splits:
        what_is_left = f"the same command goes on from {output}" if output else "nothing was saved (no --output)"
        print(f"stopped after {len(done)} of {count(splits, 'split')}: {what_is_left}", file=sys.stderr)
        sys.exit(130)


def _say_where(described: Callable[[str], str], results: Sequence[dict[str, Any]], is_so: Sequence[bool]) -> None:
    """What training has chosen, and in which splits, if not in all."""
    seeds = [str(one["seed"]) for one, chosen in zip(results, is_so, strict=True) if chosen]
    if seeds:
        some = f" in {'splits' if len(seeds) > 1 else 'split'} {', '.join(seeds)}"
        print(described("" if len(seeds) == len(results) else some), file=sys.stderr)


def _report(
    graph: Graph, config: ModelConfig, protocol: Protocol, results: Sequence[dict[str, Any]], seconds: float
) -> dict[str, Any]:
    summary = Summary.of(results)
    others = {name: Summary.of_measure(results, name) for name in measures_of(graph.task)}
    return {
        "dataset": graph.name,
        "task": graph.task,
        "accuracy_mean": summary and summary.mean,
        "accuracy_std": summary and summary.std,
        "measures": {name: one and {"mean": one.mean, "std": one.std} for name, one in others.items()},
        "splits": len(results),
        "config": {**asdict(config), "protocol": asdict(protocol)},
        "seconds": seconds,
        "runs": [
            {key: result[key] for key in ("seed", "epochs", "best_epoch", "seconds")}
            | {key: result[key] and 100 * result[key] for key in ("test_accuracy", "val_accuracy")}
            | {key: result[key] for key in ("measures", "confusion", "calibration", "notes")}
            # Training may have chosen them.
            | {name: result["config"][name] for name in ("initial_share", "linear_share")}
            for result in results
        ],
    }


def run_jobs(todo: Sequence[Job], titles: Sequence[str], jobs: int) -> tuple[list[dict[str, Any]], float]:
    """Run jobs with progress on the terminal; the first failure ends all.

    Returns:
        the results of the jobs that ended, in the order of the jobs, and the seconds that it took
    """
    start = time.perf_counter()
    results: dict[int, dict[str, Any]] = {}
    with RunsDisplay(todo, titles, worker_count(jobs)) as display:

        def on_event(event: Event) -> None:
            if isinstance(event, Failed):
                raise RunError(event.message)
            if isinstance(event, Done):
                results[event.job] = event.result
            display(event)

        if worker_count(jobs) > 1 and len(todo) > 1:
            run_in_workers(todo, worker_count(jobs), on_event)
        else:
            run_here(todo, on_event)
    return [results[number] for number in sorted(results)], time.perf_counter() - start


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
