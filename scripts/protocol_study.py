"""Which reading of the paper's one sentence on training fits its figures?

Trains four models on two datasets under each reading, keeps the results in a store (the same command goes on where it
was stopped), and writes the table of results/protocol.md:

    python scripts/protocol_study.py --store study --data-dir DATA --markdown table.md
"""

import argparse
import math
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from justjump.experiments import paper
from justjump.experiments.display import RunsDisplay
from justjump.experiments.execute import LocalEngine, execute
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.store import Store
from justjump.experiments.summary import Summary
from justjump.train import Protocol

MODELS = ("gcn-none", "gat-none", "dna-g1", "dna-g16")
DATASETS = ("cora", "citeseer")

BASE: dict[str, Any] = {"input_dropout": 0.5, "watch": "loss", "patience": 10, "patience_start": 0}
BASE |= {"scale": "auto", "stratified": False, "decay": "all"}

# What differs from BASE
READINGS: dict[str, dict[str, Any]] = {
    "base: dropout on the input too, patience 10 on the loss": {},
    "no dropout on the input": {"input_dropout": 0.0},
    "patience on accuracy": {"watch": "accuracy"},
    "patience on accuracy, from epoch 100": {"watch": "accuracy", "patience_start": 100},
    "patience 20": {"patience": 20},
    "patience 50": {"patience": 50},
    "patience 100": {"patience": 100},
    "patience 10 from epoch 100": {"patience_start": 100},
    "row-normalised features": {"scale": "rows"},
    "row-normalised features, patience 100": {"scale": "rows", "patience": 100},
    "stratified splits": {"stratified": True},
    "stratified splits, patience 50": {"stratified": True, "patience": 50},
    "no weight decay on biases": {"decay": "weights"},
    "no dropout on the input, patience 50": {"input_dropout": 0.0, "patience": 50},
    "no dropout on the input, patience 10 from epoch 100": {"input_dropout": 0.0, "patience_start": 100},
    "no dropout on the input, row-normalised, patience 100": {
        "input_dropout": 0.0,
        "scale": "rows",
        "patience": 100,
    },
}


def jobs(reading: dict[str, Any], model: str, dataset: str, splits: int, data_dir: str | None) -> list[Job]:
    options = {**BASE, **reading}
    config = replace(paper.published(model, dataset), input_dropout=options.pop("input_dropout"))
    return [Job(GraphSpec(dataset, data_dir=data_dir), config, Protocol(**options), seed) for seed in range(splits)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="folder for the results")
    parser.add_argument("--data-dir", help="folder with raw dataset files")
    parser.add_argument("--dataset", nargs="+", default=DATASETS)
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--reading", nargs="+", default=[""], help="readings whose name has one of these words")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    cells = [(model, dataset) for dataset in options.dataset for model in options.model]
    todo = {
        name: {cell: jobs(reading, *cell, options.splits, options.data_dir) for cell in cells}
        for name, reading in READINGS.items()
        if any(word in name for word in options.reading)
    }
    every = [job for cell_jobs in todo.values() for own in cell_jobs.values() for job in own]

    def watch(missing: Sequence[Job]) -> RunsDisplay:
        titles = [f"{job.spec.dataset} {job.config.model} {job.config.notation}" for job in missing]
        return RunsDisplay(missing, titles, options.jobs)

    with Store(options.store / "results.sqlite") as store:
        outcome = execute(every, store, LocalEngine(options.jobs), watch)
        for job, message in outcome.failed:
            print(f"failed: {job.spec.dataset} {job.config.notation} seed {job.seed}: {message}")
        text = table(cells, {n: {c: Summary.of(store.results(own)) for c, own in t.items()} for n, t in todo.items()})
    print(text)
    if options.markdown is not None:
        options.markdown.write_text(f"{text}\n{time.strftime('%Y-%m-%d')}, {options.splits} splits\n")


def table(cells: list[tuple[str, str]], found: dict[str, dict[tuple[str, str], Summary | None]]) -> str:
    """Readings with the best fit first: mean absolute difference, and root mean square in the paper's deviations."""
    stated = [paper.TABLE1[model][dataset] for model, dataset in cells]
    head = ["reading", *(f"{dataset} {model}" for model, dataset in cells), "mean diff", "abs diff", "rms z"]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    lines.append(f"| paper | {' | '.join(f'{a.mean:.2f} ± {a.std:.2f}' for a in stated)} | | | |")
    rows = []
    for name, summaries in found.items():
        values = [summaries[cell] for cell in cells]
        shown = ["-" if s is None else f"{s.mean:.2f} ± {s.std or 0:.2f}" for s in values]
        differences = [(s.mean - a.mean, a.std) for s, a in zip(values, stated, strict=True) if s is not None]
        if len(differences) < len(cells):
            rows.append((math.inf, [name, *shown, "-", "-", "-"]))
            continue
        mean = sum(d for d, _ in differences) / len(cells)
        absolute = sum(abs(d) for d, _ in differences) / len(cells)
        rms = math.sqrt(sum((d / std) ** 2 for d, std in differences) / len(cells))
        rows.append((absolute, [name, *shown, f"{mean:+.2f}", f"{absolute:.2f}", f"{rms:.2f}"]))
    return "\n".join(lines + [f"| {' | '.join(row)} |" for _, row in sorted(rows, key=lambda row: row[0])]) + "\n"


if __name__ == "__main__":
    main()
