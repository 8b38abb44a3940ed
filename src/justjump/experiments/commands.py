"""What each command does and prints."""

from __future__ import annotations

import csv
import json
import os
import platform
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import justjump
from justjump.data import NAMES, DataError, Graph, is_available, load, location, origin
from justjump.data.datasets import cache_dir
from justjump.experiments import paper
from justjump.experiments.display import RunsDisplay
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Done, Event, Failed, Job
from justjump.experiments.local import run_here, run_in_workers
from justjump.experiments.summary import Summary
from justjump.experiments.words import count, percent
from justjump.files import make_folder, replace_file
from justjump.nn import ModelConfig
from justjump.ops import native
from justjump.train import Protocol, Run, RunError
from justjump.train.tensorboard import check_log_folder

SUMMARY_FILE = "summary.json"
COUNTS = ("nodes", "edges", "features", "classes")


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
) -> None:
    """Train on several splits; print, and keep in ``output``, the accuracy over them."""
    graph = spec.load()  # what is wrong with it is said before workers start
    if splits > 1 and graph.masks is not None:
        print(f"{graph.name} brings its own split: {splits} initialisations on it", file=sys.stderr)
    if output is not None:
        make_folder(output, "--output")
    if tensorboard is not None:
        check_log_folder(tensorboard)
    todo = [
        Job(spec, config, protocol, number, _text(output and output / f"split-{number}"), _text(tensorboard))
        for number in range(seed, seed + splits)
    ]
    results, seconds = _run(todo, [f"split {job.seed}" for job in todo], jobs)
    done = [result for result in results if result["finished"]]
    summary = _report(graph, config, protocol, done, seconds)
    if output is not None and done:
        text = json.dumps(summary, indent=2) + "\n"
        replace_file(output / SUMMARY_FILE, lambda path: path.write_text(text, encoding="utf-8"))
    if as_json:
        print(json.dumps(summary))
    elif done:
        print(f"accuracy: {Summary.of(done) or 'there are no test nodes'}")
    if len(done) < splits:
        kept = f"the same command goes on from {output}" if output else "nothing was kept (no --output)"
        print(f"stopped after {len(done)} of {count(splits, 'split')}: {kept}", file=sys.stderr)
        sys.exit(130)


def _report(
    graph: Graph, config: ModelConfig, protocol: Protocol, results: Sequence[dict[str, Any]], seconds: float
) -> dict[str, Any]:
    summary = Summary.of(results)
    return {
        "dataset": graph.name,
        "accuracy_mean": summary and summary.mean,
        "accuracy_std": summary and summary.std,
        "splits": len(results),
        "config": {**asdict(config), "protocol": asdict(protocol)},
        "seconds": seconds,
        "runs": [
            {key: result[key] for key in ("seed", "epochs", "best_epoch", "seconds")}
            | {key: result[key] and 100 * result[key] for key in ("test_accuracy", "val_accuracy")}
            for result in results
        ],
    }


def predict(run_folder: Path, spec: str, output: Path, directed: bool, data_dir: Path | None) -> None:
    """Write the predicted class of every node and its probability as CSV."""
    run = find_run(run_folder)
    graph = GraphSpec.named(spec, _text(data_dir), directed).load()
    classes, probabilities = run.predict(graph)
    names = graph.node_names or range(graph.num_nodes)

    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["node", "class", "probability"])
            for name, label, row in zip(names, classes, probabilities, strict=True):
                writer.writerow([name, run.class_names[label], f"{row[label]:.6f}"])

    replace_file(output, write)
    print(f"the classes of {count(graph.num_nodes, 'node')} are in {output}", file=sys.stderr)


def find_run(folder: Path) -> Run:
    """The run in a folder, or the best on validation of the splits in it."""
    parts = sorted(folder.glob("split-*/run.json"))
    if not parts:
        return Run.load(folder)
    runs = [Run.load(part.parent) for part in parts]
    return max(runs, key=lambda run: run.val_accuracy or 0.0)


def datasets(data_dir: Path | None, as_json: bool) -> None:
    """Statistics of every dataset that is here, beside the paper's Table 2."""
    rows = []
    for name in NAMES:
        stated = paper.DATASETS[name]
        row: dict[str, Any] = {"name": name, "paper": asdict(stated), "here": None}
        row["location"] = location(name, data_dir)
        if row["location"] == "folder":
            row["location"] = f"in {data_dir or os.environ['JUSTJUMP_DATA']}"
        if is_available(name, _text(data_dir)):
            try:
                graph = load(name, data_dir)
            except DataError as error:
                row["location"] = f"broken: {error}"
            else:
                counts = graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes
                row["here"] = dict(zip(COUNTS, counts, strict=True))
        row["origin"] = origin(name)
        rows.append(row)
    if as_json:
        print(json.dumps(rows))
        return
    table = Table(title="Nodes / undirected edges / features / classes", box=SIMPLE_HEAD, pad_edge=False)
    for title in ("dataset", "here", "paper, Table 2"):
        table.add_column(title, no_wrap=True, justify="left" if title == "dataset" else "right")
    for row in rows:
        table.add_row(row["name"], _counts(row), _counts(row, of="paper"))
    Console().print(table)
    for row in rows:
        print(f"{row['name']:<17} {row['location']}; {_short_origin(row['origin'])}")
    print("origins: paths of raw.githubusercontent.com, commits shortened; --json has them in full")


def _short_origin(address: str) -> str:
    return re.sub(r"\b([0-9a-f]{7})[0-9a-f]{33}\b", r"\1", address.removeprefix("https://raw.githubusercontent.com/"))


def _counts(row: dict[str, Any], of: str = "here") -> str:
    if row[of] is None:
        return str(row["location"]).split(":")[0]
    differs = " (!)" if any(row[of][key] != row["paper"][key] for key in COUNTS) else ""
    return " / ".join(f"{row[of][key]:,}" for key in COUNTS) + differs


def demo(splits: int, jobs: int) -> None:
    """DNA and GCN on the embedded Cora, beside the paper's figures."""
    models = {"dna-g16": "DNA (g=16)", "gcn-none": "GCN (JK-None)"}
    todo = [
        Job(GraphSpec("cora"), paper.published(model, "cora"), Protocol(), seed)
        for model in models
        for seed in range(splits)
    ]
    titles = [f"{title.split()[0]} split {seed}" for title in models.values() for seed in range(splits)]
    on = count(splits, "random split")
    print(f"Cora: {' and '.join(models.values())} on {on}, 20/20/60 % of the nodes", flush=True)
    results, seconds = _run(todo, titles, jobs)
    table = Table(title="Test accuracy on Cora in percent", box=SIMPLE_HEAD, pad_edge=False)
    for column in ("model", "config", "splits", "here", "paper", "diff"):
        table.add_column(column, justify="left" if column == "model" else "right", no_wrap=True)
    for number, (model, title) in enumerate(models.items()):
        own = [r for r in results if r["finished"] and r["config"]["model"] == model.split("-")[0]]
        stated, config = paper.TABLE1[model]["cora"], todo[number * splits].config
        here = ("0", "stopped", percent(*stated), "-")
        if (summary := Summary.of(own)) is not None:
            mean, std, done = summary
            here = (str(done), percent(mean, std), percent(*stated), f"{mean - stated.mean:+.2f}")
        table.add_row(title, config.notation, *here)
    Console().print(table)
    took = f"{seconds:.0f} seconds with {count(workers(jobs), 'job')} at a time"
    print(f"config: layers/hidden/groups/heads (GCN has no heads); {took}")
    if sum(r["finished"] for r in results) < len(todo):
        sys.exit(130)


def info(as_json: bool) -> None:
    """Versions, kernels and threads of this installation."""
    facts = {
        "justjump": justjump.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "path": "native kernels" if native.available() else f"PyTorch ({native.why_not()})",
        "isa": native.isa() if native.available() else None,
        "isas": native.available_isas() if native.available() else [],
        "threads": torch.get_num_threads(),
        "thread_pool": native.thread_backend() if native.available() else None,
        "data_dir": os.environ.get("JUSTJUMP_DATA"),
        "cache": str(cache_dir()),
    }
    if as_json:
        print(json.dumps(facts))
        return
    for name, value in facts.items():
        shown = ", ".join(value) if isinstance(value, list) else "-" if value is None else value
        print(f"{name.replace('_', ' '):<12} {shown}")


def _run(todo: Sequence[Job], titles: Sequence[str], jobs: int) -> tuple[list[dict[str, Any]], float]:
    """Results of the jobs that ended, in their order, and the time it took; the first failure ends all."""
    start = time.perf_counter()
    results: dict[int, dict[str, Any]] = {}
    with RunsDisplay(todo, titles, workers(jobs)) as display:

        def on_event(event: Event) -> None:
            if isinstance(event, Failed):
                raise RunError(event.message)
            if isinstance(event, Done):
                results[event.job] = event.result
            display(event)

        if workers(jobs) > 1 and len(todo) > 1:
            run_in_workers(todo, workers(jobs), on_event)
        else:
            run_here(todo, on_event)
    return [results[number] for number in sorted(results)], time.perf_counter() - start


def workers(jobs: int) -> int:
    """How many jobs at a time: as asked for, or one a core."""
    return jobs or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else jobs or os.cpu_count() or 1


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
