"""What is installed, which datasets there are, and how fast the kernels are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from justjump.cli.app import AsJson, DataDir, Jobs, app


@app.command()
def datasets(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the paper's eight datasets. Downloads nothing.

    Shows the size of each dataset beside the paper's, where its files are, and where they come from.

    Example: justjump datasets --data-dir ~/graphs
    """
    from justjump.experiments.datasets import datasets as show

    show(data_dir, as_json)


@app.command()
def demo(
    splits: Annotated[int, typer.Option(min=1, help="Number of random splits.")] = 10,
    jobs: Jobs = 0,
) -> None:
    """Train the paper's DNA and GCN, and the recommended DNA, on Cora, which comes with the package.

    The paper's DNA has 16 groups. Their accuracies are printed beside the paper's.

    Example: justjump demo --splits 3
    """
    from justjump.experiments.demo import demo as run_demo

    run_demo(splits, jobs)


@app.command()
def info(as_json: AsJson = False) -> None:
    """Show which kernels run, their threads, and versions.

    Example: justjump info
    """
    from justjump.info import info as show

    show(as_json)


@app.command()
def bench(
    case: Annotated[list[str] | None, typer.Argument(help="Cases to measure; all by default.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Number of threads of both sides.")] = 2,
    repetitions: Annotated[int, typer.Option(min=1, help="Number of measurements of each side.")] = 3,
    growth: Annotated[bool, typer.Option("--growth", help="Measure how time and memory grow with the graph.")] = False,
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Use random graphs of the datasets' sizes.")] = False,
    keep_memory: Annotated[
        bool, typer.Option("--keep-memory", help="Give both sides an allocator that keeps its pages, as fit() does.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    markdown: Annotated[Path | None, typer.Option(help="Also write the table to this file.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Add the rows to this file of runs.")] = None,
) -> None:
    """Measure speed and memory beside PyTorch Geometric.

    Measures layers and training steps of both in turn: time, memory, and the share of the machine's limits.

    Cases: layer-cora, layer-photo, drop-in-cora, drop-in-photo (an edge_index in place of a sorted graph),
    layer-computers, layer-computers-folds, layer-computers-deep, step-cora, step-photo, step-computers, step-physics,
    gat-computers, gcn-computers, gcn-computers-adj.

    With --growth, measures instead how our training step grows with the graph, from 0.5 to 16 million edges.

    Example: justjump bench layer-cora step-cora
    """
    from justjump.bench import report

    if growth:
        if csv_file is not None:
            raise typer.BadParameter("--csv keeps the runs of the cases: leave it out with --growth")
        report.growth(threads, as_json, markdown)
        return
    report.bench(case or [], threads, repetitions, synthetic, keep_memory, data_dir, as_json, markdown, csv_file)
