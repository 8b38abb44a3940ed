"""The paper's evaluation, and searches like it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from justjump.cli.app import AsJson, DataDir, Jobs, app

StoreFolder = Annotated[
    Path, typer.Option("--store", help="Folder for results; the same folder goes on where it was stopped.")
]
EngineName = Annotated[Literal["local", "ray"], typer.Option("--engine", help="What runs the jobs.")]
Address = Annotated[str | None, typer.Option(help="Ray cluster, such as auto or 10.0.0.1:6379 (--engine ray).")]
Shard = Annotated[str | None, typer.Option(help="Run the i-th of n equal parts, as i/n: one part an array job, say.")]

DEFAULT_STORE = Path("justjump-results")
ALL = ["all"]


@app.command()
def reproduce(
    dataset: Annotated[list[str], typer.Option(help="Datasets, one by one or with commas.")] = ALL,
    model: Annotated[list[str], typer.Option(help="Kinds or rows of Table 1, such as dna or gcn-pool.")] = ALL,
    splits: Annotated[int, typer.Option(min=1, help="Random splits and initialisations of each cell.")] = 10,
    jobs: Jobs = 0,
    store: StoreFolder = DEFAULT_STORE,
    engine: EngineName = "local",
    address: Address = None,
    shard: Shard = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Folder for TensorBoard's curves.")] = None,
    data_dir: DataDir = None,
    show: Annotated[bool, typer.Option("--show", help="Run nothing: the table of what the store holds.")] = False,
) -> None:
    """Run the paper's Table 1 and show it beside the paper.

    Trains every model on every dataset with its published configuration, prints the table with the paper's figures,
    ours and the difference, and writes it as Markdown, LaTeX, CSV and a picture into the store's folder. Jobs that are
    in the store are not run again, so a stopped command goes on.

    Models: all; the kinds gcn, gat, dna; the rows gcn-none, gcn-concat, gcn-pool, gcn-lstm, gat-none, gat-concat,
    gat-pool, gat-lstm, dna-g1, dna-g8, dna-g16.

    Example: justjump reproduce --dataset cora --model dna-g16,gcn-none --splits 3
    """
    from justjump.experiments.local import worker_count
    from justjump.experiments.reproduce import Setting, parse_shard
    from justjump.experiments.reproduce import reproduce as run
    from justjump.experiments.reproduce import show as show_only
    from justjump.train import Protocol

    if show:
        show_only(dataset, model, splits, store, Protocol())
        return
    setting = Setting(store, worker_count(jobs), engine, address, parse_shard(shard), tensorboard)
    run(dataset, model, splits, setting, Protocol(), None if data_dir is None else str(data_dir))


@app.command()
def sweep(
    dataset: Annotated[str | None, typer.Option(help="One of the paper's datasets.")] = None,
    graph: Annotated[str | None, typer.Option(help="Your own graph: an .npz file, or a folder with CSV files.")] = None,
    directed: Annotated[bool, typer.Option("--directed", help="Take the edges of --graph in one direction.")] = False,
    model: Annotated[str, typer.Option(help="Kinds or rows of Table 1, such as dna or gcn-pool.")] = "dna",
    grid: Annotated[
        str | None, typer.Option(help="paper, small, or a JSON file with lists of options.  [default: paper]")
    ] = None,
    search: Annotated[int | None, typer.Option(min=1, help="Instead of a grid, so many adaptive trials.")] = None,
    splits: Annotated[int, typer.Option(min=1, help="Random splits of each configuration.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --search.")] = 0,
    jobs: Jobs = 0,
    store: StoreFolder = DEFAULT_STORE,
    engine: EngineName = "local",
    address: Address = None,
    shard: Shard = None,
    data_dir: DataDir = None,
) -> None:
    """Try a grid of networks, or search, and choose on validation.

    Ends with the chosen configuration of each row in the paper's notation (layers/hidden/groups/heads, GCN without
    heads), beside the paper's, its test accuracy, and the command that trains it. Jobs that are in the store are not
    run again.

    The grid paper has all 40 (DNA), 60 (GCN) or 120 (GAT) configurations that the paper tries for a row. The grid small
    has those with 1, 2 or 4 layers, hidden 32 or 128, 8 heads and, for GCN and GAT, 8 or 16 groups: 6 or 12. A file
    maps options of the network or the training to lists: {"layers": [1, 2], "learning_rate": [0.005, 0.01]}

    Models: all; the kinds gcn, gat, dna; the rows gcn-none, gcn-concat, gcn-pool, gcn-lstm, gat-none, gat-concat,
    gat-pool, gat-lstm, dna-g1, dna-g8, dna-g16. A search takes a kind.

    Example: justjump sweep --dataset cora --model dna-g8 --grid small --splits 3
    """
    from justjump.experiments.graph_spec import GraphSpec
    from justjump.experiments.local import worker_count
    from justjump.experiments.reproduce import Setting, parse_shard
    from justjump.train import Protocol

    if (dataset is None) == (graph is None):
        raise typer.BadParameter("name either --dataset or --graph, for example --dataset cora")
    if directed and graph is None:
        raise typer.BadParameter("--directed is for --graph: the datasets are undirected")
    spec = GraphSpec(dataset, graph, None if data_dir is None else str(data_dir), directed)
    setting = Setting(store, worker_count(jobs), engine, address, parse_shard(shard))
    if search is not None:
        if grid is not None:
            raise typer.BadParameter("--search goes without a grid: leave out --search or --grid")
        from justjump.experiments.search import search as run_search

        run_search(spec, model, search, splits, setting, Protocol(), seed)
        return
    from justjump.experiments.sweep import sweep as run_sweep

    run_sweep(spec, model, grid or "paper", splits, setting, Protocol())


@app.command()
def results(
    store: Annotated[Path, typer.Argument(help="Folder of a store, or its file.")] = DEFAULT_STORE,
    merge: Annotated[list[Path] | None, typer.Option(help="Take over the results of this store first.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all results to this CSV file.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write all results to this Parquet file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show, export or merge what stores hold.

    Example: justjump results justjump-results --merge part-1 --merge part-2 --parquet all.parquet
    """
    from justjump.experiments.results import results as show

    show(store, merge or [], csv, parquet, as_json)
