"""Graphs in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from justjump.cli.app import AsJson, DataDir, Directed, LabelColumn, app


@app.command()
def partition(
    output: Annotated[Path, typer.Option(help="New folder for the parts.")],
    parts: Annotated[int, typer.Option(min=1, max=4096, help="Number of parts.")],
    graph: Annotated[
        str | None,
        typer.Argument(help="A dataset's name, an .npz file, or a folder with CSV or Parquet files."),
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(
            help="Table of nodes that may be larger than memory: a .csv or .parquet file, or a folder of the latter."
        ),
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="Table of edges that belongs to --nodes.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="metis, hash, or a .npy or .csv file with the part of each node.",
            show_default="metis; hash for --nodes",
        ),
    ] = None,
    scale: Annotated[
        Literal["auto", "none", "standard", "rows"],
        typer.Option(help="How columns of numbers are scaled, as in training."),
    ] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Seed of METIS.")] = 0,
    directed: Directed = False,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Cut a graph into parts on disk.

    Several processes or machines can share a graph in parts, and none of them needs all of it in memory.

    GRAPH is read into memory. Tables that are named with --nodes and --edges are streamed: they may be larger than
    memory.

    Example: justjump partition cora --parts 4 --output parts

    Example: justjump partition --nodes nodes.parquet --edges edges.parquet --parts 64 --output parts
    """
    import json

    from justjump.data.parts import summary

    if (graph is None) == (nodes is None and edges is None) or (nodes is None) != (edges is None):
        raise typer.BadParameter("name either GRAPH, or both --nodes and --edges")
    if graph is not None:
        from justjump.experiments.graph_spec import GraphSpec

        whole = GraphSpec.named(graph, data_dir, directed, label).load()
        found = whole.partition(parts, output, method or "metis", seed=seed, scale=scale, progress=True)
    else:
        from justjump.data import partition_tables
        from justjump.experiments.graph_spec import labels_in

        assert nodes is not None
        assert edges is not None
        columns = None if label is None else labels_in(label)
        found = partition_tables(
            nodes, edges, parts, output, method or "hash", directed=directed, label=columns, scale=scale, progress=True
        )
    if as_json:
        print(json.dumps(summary.summary(found)))
    else:
        summary.show(found)
