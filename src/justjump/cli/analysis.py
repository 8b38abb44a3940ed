"""See what a trained network does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from justjump.cli.app import (
    AsJson,
    DataDir,
    Directed,
    LabelColumn,
    RunFolder,
    Scratch,
    Workers,
    app,
    check_parts_options,
)

GraphName = Annotated[
    str | None,
    typer.Option(
        "--graph",
        help="A dataset's name, an .npz file, a folder with CSV or Parquet files, or a graph in parts; by default the "
        "run's dataset.",
    ),
]


@app.command()
def influence(
    run: RunFolder,
    against: Annotated[Path | None, typer.Option(help="A second run to show beside the first.")] = None,
    node: Annotated[str | None, typer.Option(help="The node to look at: its name, or its number from 0.")] = None,
    pick: Annotated[
        bool, typer.Option("--pick", help="Look at a node that RUN gets right and --against gets wrong.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Look at all nodes: write a table, and draw the influence by distance.")
    ] = False,
    hops: Annotated[int, typer.Option(min=1, help="Largest distance of the nodes to draw, in hops.")] = 2,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Name of the picture (.png, .pdf or .svg; all three without an ending); with --all a .parquet file.",
            show_default="influence, with --all influence.parquet",
        ),
    ] = None,
    graph: GraphName = None,
    directed: Directed = False,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show which nodes influence a node (Figure 2 of the paper).

    The influence is the exact Jacobian of the node's final representation.

    Example: justjump influence runs/dna --against runs/gcn-pool --pick --output figure2

    Example: justjump influence runs/dna --against runs/gcn-pool --all --output influence.parquet
    """
    if (node is not None) + pick + every != 1:
        raise typer.BadParameter("name one node with --node, or use --pick or --all")
    if pick and against is None:
        raise typer.BadParameter("--pick compares two runs: name the second run with --against")
    if as_json and not every:
        raise typer.BadParameter("--json is for --all: one node makes a picture")
    from justjump.analysis import commands

    folders = [run] if against is None else [run, against]
    if every:
        commands.influence_of_all(
            folders, output or Path("influence.parquet"), graph, directed, data_dir, as_json, label
        )
    else:
        commands.influence_of_one(folders, node, hops, output or Path("influence"), graph, directed, data_dir, label)


@app.command()
def attention(
    run: RunFolder,
    by: Annotated[
        Literal["all", "layer", "head", "class"],
        typer.Option(help="One plot for all weights, or one per layer, head or class."),
    ] = "all",
    layer: Annotated[
        int | None, typer.Option(min=1, help="The layer to look at, counted from 1; the last by default.")
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            help="Name of the picture (.png, .pdf or .svg; all three without an ending); a .parquet gets its numbers."
        ),
    ] = Path("attention"),
    weights: Annotated[Path | None, typer.Option(help="Also write every single weight to this .parquet file.")] = None,
    graph: GraphName = None,
    directed: Directed = False,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    workers: Workers = 1,
    scratch: Scratch = None,
) -> None:
    """Show what a DNA network attends to (Figure 3 of the paper).

    In layer t, every edge spreads its attention over the representations h(0) .. h(t-1) of its source, and refuses the
    rest. h(0) are the projected features, h(t) is the output of layer t.

    --graph may be a graph in parts (see: justjump partition), which --workers processes share.

    Example: justjump attention runs/dna --by head --output figure3
    """
    if layer is not None and by == "layer":
        raise typer.BadParameter("--by layer shows all layers: leave out --layer")
    check_parts_options(graph, workers, scratch, directed=directed, label=label)
    from justjump.analysis import commands

    commands.attention(run, by, layer, output, weights, graph, directed, data_dir, label, workers, scratch)


@app.command()
def explore(
    run: RunFolder,
    against: Annotated[Path | None, typer.Argument(help="Folder of a second run to show beside the first.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 = any free port.")] = 8050,
    graph: GraphName = None,
    directed: Directed = False,
    label: LabelColumn = None,
    data_dir: DataDir = None,
) -> None:
    """Look at one or two runs on a local web page.

    The page shows neighbourhoods, influence, attention and mistakes.

    Example: justjump explore runs/dna runs/gcn
    """
    try:
        from justjump.analysis.explore import open_session, serve
    except ModuleNotFoundError as error:
        raise RuntimeError(f"the page needs {error.name}: pip install 'justjump[explore]'") from error

    serve(open_session([run] if against is None else [run, against], graph, directed, data_dir, label), port)


@app.command()
def report(
    run: RunFolder,
    output: Annotated[Path, typer.Option(help="Folder for report.md, confusion.png and calibration.png.")] = Path(
        "report"
    ),
) -> None:
    """Write how good a run is, as a text and pictures.

    The text has the measures on training, validation and test nodes, the notes, the options and what is done with the
    features. For classes and labels there is a picture of the calibration, for classes also one of the confusions.

    Example: justjump report runs/dna --output report
    """
    from justjump.analysis.report import report as write_report

    write_report(run, output)
