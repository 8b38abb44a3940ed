"""The paper's evaluation, and searches like it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from justjump.cli.app import (
    GRAPH,
    OUTPUT,
    RUNS,
    AsJson,
    DataDir,
    Dataset,
    Directed,
    Jobs,
    LabelColumn,
    OwnGraph,
    Tensorboard,
    app,
    graph_spec,
)
from justjump.cli.options import GroupedCommand

NETWORKS = "Networks"
DEFAULT_STORE = Path("justjump-results")
ALL = ["all"]

StoreFolder = Annotated[
    Path,
    typer.Option(
        "--store",
        help="Folder for results; the same command with the same folder goes on where it was stopped.",
        rich_help_panel=OUTPUT,
    ),
]
EngineName = Annotated[
    Literal["local", "ray"], typer.Option("--engine", help="What runs the processes.", rich_help_panel=RUNS)
]
Address = Annotated[
    str | None,
    typer.Option(help="Ray cluster, such as auto or 10.0.0.1:6379 (--engine ray).", rich_help_panel=RUNS),
]
Shard = Annotated[
    str | None,
    typer.Option(
        help="Run shard i of n equal shards, as i/n; for example one shard per array job.", rich_help_panel=RUNS
    ),
]
MODELS = "Kinds or rows of Table 1, such as dna or gcn-pool."


@app.command(cls=GroupedCommand)
def reproduce(
    dataset: Annotated[
        list[str], typer.Option(help="Datasets, one by one or with commas.", rich_help_panel=GRAPH)
    ] = ALL,
    data_dir: DataDir = None,
    model: Annotated[list[str], typer.Option(help=MODELS, rich_help_panel=NETWORKS)] = ALL,
    reading: Annotated[
        str,
        typer.Option(help="What fills in what the paper leaves open; see below.", rich_help_panel=NETWORKS),
    ] = "historic",
    splits: Annotated[
        int, typer.Option(min=1, help="Number of random splits and initialisations per cell.", rich_help_panel=RUNS)
    ] = 10,
    jobs: Jobs = 0,
    engine: EngineName = "local",
    address: Address = None,
    shard: Shard = None,
    store: StoreFolder = DEFAULT_STORE,
    tensorboard: Tensorboard = None,
    show: Annotated[
        bool, typer.Option("--show", help="Run nothing; show what the store holds.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Run the paper's Table 1 and show it beside the paper.

    Trains every model on every dataset with its published configuration, and prints the table with the paper's figures,
    ours and the difference. Writes the table as Markdown, LaTeX, CSV and a picture into the store's folder. Does not
    run jobs again that are in the store, so a stopped command goes on.

    Models: all; the kinds gcn, gat, dna; the rows gcn-none, gcn-concat, gcn-pool, gcn-lstm, gat-none, gat-concat,
    gat-pool, gat-lstm, dna-g1, dna-g8, dna-g16.

    The paper says little about training. A reading fills in the rest: historic, which fits the paper's figures best;
    patience-10, as the paper writes; or for example benchmark or example, the rules of what the author published
    elsewhere in the same weeks. The table of each reading has a file of its own.

    Example: justjump reproduce --dataset cora --model dna-g16,gcn-none --splits 3
    """
    from justjump.experiments.local import worker_count
    from justjump.experiments.readings import find_reading
    from justjump.experiments.reproduce import Setting, parse_shard
    from justjump.experiments.reproduce import reproduce as run
    from justjump.experiments.reproduce import show as show_only

    wanted = find_reading(reading)
    if show:
        show_only(dataset, model, splits, store, wanted)
        return
    setting = Setting(store, worker_count(jobs), engine, address, parse_shard(shard), tensorboard)
    run(dataset, model, splits, setting, wanted, None if data_dir is None else str(data_dir))


@app.command(cls=GroupedCommand)
def sweep(
    dataset: Dataset = None,
    graph: OwnGraph = None,
    directed: Directed = False,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    model: Annotated[str, typer.Option(help=MODELS, rich_help_panel=NETWORKS)] = "dna",
    grid: Annotated[
        str | None,
        typer.Option(
            help="paper, small, or a JSON file with lists of options.  [default: paper]", rich_help_panel=NETWORKS
        ),
    ] = None,
    search: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of trials of an adaptive search, instead of a grid.", rich_help_panel=NETWORKS
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --search.", rich_help_panel=NETWORKS)] = 0,
    reading: Annotated[
        str | None,
        typer.Option(
            help="How a grid is trained: see reproduce --help.  [default: historic]", rich_help_panel=NETWORKS
        ),
    ] = None,
    finalists: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of configurations of a grid, per row, that run on all splits.", rich_help_panel=RUNS
        ),
    ] = None,
    splits: Annotated[
        int, typer.Option(min=1, help="Number of random splits per configuration.", rich_help_panel=RUNS)
    ] = 10,
    jobs: Jobs = 0,
    engine: EngineName = "local",
    address: Address = None,
    shard: Shard = None,
    store: StoreFolder = DEFAULT_STORE,
) -> None:
    """Try a grid of networks, or search, and choose on validation.

    Ends with the chosen configuration of each row in the paper's notation (layers/hidden/groups/heads; GCN has no
    heads), beside the paper's configuration, its test accuracy, and the command that trains it. Does not run jobs again
    that are in the store.

    The grid paper has all 40 (DNA), 60 (GCN) or 120 (GAT) configurations that the paper tries for a row. The grid small
    has those with 1, 2 or 4 layers, hidden 32 or 128, 8 heads and, for GCN and GAT, 8 or 16 groups: 6 or 12. A file
    maps options of the network or the training to lists: {"layers": [1, 2], "learning_rate": [0.005, 0.01]}

    Models: all; the kinds gcn, gat, dna; the rows gcn-none, gcn-concat, gcn-pool, gcn-lstm, gat-none, gat-concat,
    gat-pool, gat-lstm, dna-g1, dna-g8, dna-g16.

    With --finalists 5, all configurations of a grid run on one split, the best fifteen of each row on half of the
    splits, and the best five of these on all.

    A search takes a kind, or all. It begins with the recommended network and eight changes of it, and then varies
    sizes, jumping knowledge, norms, residuals, dropout and the rates of training; two networks in three change a few
    options of the best one so far. Rounds of nine networks are compared on one split; the best three go on to half of
    the splits, and the best of these to all. The same command goes on where it was stopped.

    Example: justjump sweep --dataset cora --model dna-g8 --grid small --splits 3
    """
    from justjump.experiments.local import worker_count
    from justjump.experiments.readings import DEFAULT, find_reading
    from justjump.experiments.reproduce import Setting, parse_shard
    from justjump.options import recommended
    from justjump.train import Protocol

    spec = graph_spec(dataset, graph, directed, data_dir, label)
    setting = Setting(store, worker_count(jobs), engine, address, parse_shard(shard))
    if search is not None:
        if grid is not None:
            raise typer.BadParameter("--search goes without a grid: leave out --search or --grid")
        for name, value in (("--finalists", finalists), ("--reading", reading)):
            if value is not None:
                raise typer.BadParameter(f"{name} is for a grid: leave it out, or leave out --search")
        from justjump.experiments.search import search as run_search

        run_search(spec, model, search, splits, setting, recommended(Protocol), seed)
        return
    from justjump.experiments.sweep import sweep as run_sweep

    run_sweep(spec, model, grid or "paper", splits, setting, find_reading(reading or DEFAULT), finalists)


@app.command()
def results(
    store: Annotated[Path, typer.Argument(help="The store: its folder, or its file.")] = DEFAULT_STORE,
    merge: Annotated[list[Path] | None, typer.Option(help="First take over the results of this store.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all results to this CSV file.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write all results to this Parquet file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show, export or merge what stores hold.

    Example: justjump results justjump-results --merge shard-1 --merge shard-2 --parquet all.parquet
    """
    from justjump.experiments.results import results as show

    show(store, merge or [], csv, parquet, as_json)
