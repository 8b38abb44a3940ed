"""A first look: the paper's networks and the recommended one on Cora, which comes with the package."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

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
from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import Protocol


def is_of(config: ModelConfig, result: dict[str, Any]) -> bool:
    """Whether a result is of this network, whose dropout and shares training may have chosen."""
    found = ModelConfig(**result["config"])
    names = [name for name in ("initial_share", "linear_share") if getattr(config, name) is None]
    return found.suited() == replace(config, **{name: getattr(found, name) for name in names}).suited()


def demo(splits: int, jobs: int) -> None:
    """Train them on several splits and print their accuracies beside the paper's."""
    networks = {
        "DNA (g=16)": (paper.published("dna-g16", "cora"), Protocol(), paper.TABLE1["dna-g16"]["cora"]),
        "GCN (JK-None)": (paper.published("gcn-none", "cora"), Protocol(), paper.TABLE1["gcn-none"]["cora"]),
        "DNA, recommended": (recommended(ModelConfig), recommended(Protocol), None),
    }
    todo = [
        Job(GraphSpec("cora"), config, protocol, seed)
        for config, protocol, _ in networks.values()
        for seed in range(splits)
    ]
    titles = [f"{name} split {seed}" for name in networks for seed in range(splits)]
    on = count(splits, "random split")
    print(f"Cora: the paper's DNA and GCN and the recommended DNA on {on}, 20/20/60 % of the nodes", flush=True)
    results, seconds = run_jobs(todo, titles, jobs)
    table = Table(title="Test accuracy on Cora in percent", box=SIMPLE_HEAD, pad_edge=False)
    for column in ("model", "config", "splits", "here", "paper", "diff"):
        table.add_column(column, justify="left" if column == "model" else "right", no_wrap=True)
    for name, (config, _, stated) in networks.items():
        own = [r for r in results if r["finished"] and is_of(config, r)]
        done, here, difference = "0", "stopped", "-"
        if (summary := Summary.of(own)) is not None:
            mean, std, number = summary
            done, here = str(number), percent(mean, std)
            difference = f"{mean - stated.mean:+.2f}" if stated else "-"
        table.add_row(name, config.notation, done, here, percent(*stated) if stated else "-", difference)
    Console().print(table)
    took = f"{seconds:.0f} seconds with {count(worker_count(jobs), 'job')} at a time"
    print(f"config: layers/hidden/groups/heads (GCN has no heads); {took}")
    if sum(r["finished"] for r in results) < len(todo):
        sys.exit(130)
