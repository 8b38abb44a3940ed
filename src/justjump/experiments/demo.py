"""A first look: DNA and GCN on Cora, which comes with the package."""

from __future__ import annotations

import sys

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from justjump.experiments import paper
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.local import worker_count
from justjump.experiments.summary import Summary
from justjump.experiments.train import run_jobs
from justjump.experiments.words import count, percent
from justjump.train import Protocol


def demo(splits: int, jobs: int) -> None:
    """Train both on several splits and print their accuracies beside the paper's."""
    models = {"dna-g16": "DNA (g=16)", "gcn-none": "GCN (JK-None)"}
    todo = [
        Job(GraphSpec("cora"), paper.published(model, "cora"), Protocol(), seed)
        for model in models
        for seed in range(splits)
    ]
    titles = [f"{title.split()[0]} split {seed}" for title in models.values() for seed in range(splits)]
    on = count(splits, "random split")
    print(f"Cora: {' and '.join(models.values())} on {on}, 20/20/60 % of the nodes", flush=True)
    results, seconds = run_jobs(todo, titles, jobs)
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
    took = f"{seconds:.0f} seconds with {count(worker_count(jobs), 'job')} at a time"
    print(f"config: layers/hidden/groups/heads (GCN has no heads); {took}")
    if sum(r["finished"] for r in results) < len(todo):
        sys.exit(130)
