"""What is here, and how fast it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from justjump.cli.app import AsJson, DataDir, Jobs, app


@app.command()
def datasets(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the paper's eight datasets. Downloads nothing.

    Counts beside the paper's, where each one is and where it comes from.

    Example: justjump datasets --data-dir ~/graphs
    """
    from justjump.experiments import commands

    commands.datasets(data_dir, as_json)


@app.command()
def demo(
    splits: Annotated[int, typer.Option(min=1, help="Number of random splits.")] = 10,
    jobs: Jobs = 0,
) -> None:
    """Train DNA and GCN on Cora, which comes with the package.

    DNA with g=16; accuracies stand beside the paper's.

    Example: justjump demo --splits 3
    """
    from justjump.experiments import commands

    commands.demo(splits, jobs)


@app.command()
def info(as_json: AsJson = False) -> None:
    """Show which kernels run, their threads, and versions.

    Example: justjump info
    """
    from justjump.experiments import commands

    commands.info(as_json)


@app.command()
def bench(
    case: Annotated[list[str] | None, typer.Argument(help="Cases to measure; all by default.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of both sides.")] = 2,
    repetitions: Annotated[int, typer.Option(min=1, help="Turns of each side.")] = 3,
    growth: Annotated[bool, typer.Option("--growth", help="Growth with the size of the graph.")] = False,
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Random graphs of the datasets' sizes.")] = False,
    keep_memory: Annotated[
        bool, typer.Option("--keep-memory", help="Both sides with an allocator that keeps its pages, as fit() sets it.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the table to this file, too.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Add the rows to this file of runs.")] = None,
) -> None:
    """Measure speed and memory beside PyTorch Geometric.

    Layers and training steps in turn: time, memory, share of the machine's limits.

    Cases: layer-cora, layer-photo, layer-computers, layer-computers-folds, layer-computers-deep, step-cora, step-photo,
    step-computers, step-physics, gat-computers, gcn-computers, gcn-computers-adj.

    With --growth, measure instead how our training step grows with the graph, from 0.5 to 16 million edges.

    Example: justjump bench layer-cora step-cora
    """
    from justjump.bench import report

    if growth:
        if csv_file is not None:
            raise typer.BadParameter("--csv keeps the runs of the cases: leave it out with --growth")
        report.growth(threads, as_json, markdown)
        return
    report.bench(case or [], threads, repetitions, synthetic, keep_memory, data_dir, as_json, markdown, csv_file)
