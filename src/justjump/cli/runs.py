"""Train a network, and use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from justjump.cli.app import (
    OUTPUT,
    RUNS,
    AsJson,
    DataDir,
    Dataset,
    Directed,
    Jobs,
    LabelColumn,
    OwnGraph,
    RunFolder,
    Scratch,
    Tensorboard,
    Workers,
    app,
    check_parts_options,
    graph_spec,
)
from justjump.cli.experiments import Address, EngineName
from justjump.cli.options import GroupedCommand, with_options
from justjump.nn.config import ModelConfig
from justjump.train.protocol import Protocol


@app.command(cls=GroupedCommand)
@with_options
def train(
    *,
    dataset: Dataset = None,
    graph: OwnGraph = None,
    directed: Directed = False,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    config: Annotated[ModelConfig, "Network"],
    protocol: Annotated[Protocol, "Training"],
    splits: Annotated[
        int, typer.Option(min=1, help="Number of random splits and initialisations.", rich_help_panel=RUNS)
    ] = 1,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the first split; the next are seed + 1, ...", rich_help_panel=RUNS)
    ] = 0,
    jobs: Jobs = 0,
    workers: Workers = 1,
    scratch: Scratch = None,
    worker_timeout: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Time (90s, 10m, 2h) without an answer after which a worker of a graph in parts is replaced.",
            rich_help_panel=RUNS,
        ),
    ] = "30m",
    verify: Annotated[
        bool,
        typer.Option(
            "--verify/--no-verify",
            help="Compare the files of a graph in parts with their checksums before training.",
            rich_help_panel=RUNS,
        ),
    ] = True,
    engine: EngineName = "local",
    address: Address = None,
    device: Annotated[
        str | None,
        typer.Option(help="Where to compute: cpu (default), cuda, cuda:1, mps, ...", rich_help_panel=RUNS),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder to save the trained networks in.", rich_help_panel=OUTPUT)
    ] = None,
    tensorboard: Tensorboard = None,
    as_json: AsJson = False,
    tune: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Search for this time (90s, 10m, 2h) for the best network on validation, and train that.",
            rich_help_panel=RUNS,
        ),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Show how each layer will be computed on this graph, and why; train nothing.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> None:
    """Train on one or more random splits and print the test accuracy.

    With --output, Ctrl-C saves the best network so far. The same command then goes on from there, and does not train a
    finished split again. Without --output, nothing is written.

    With --tune, the kind of layer, the sizes and the rates are searched for, and options of the network are not looked
    at. All that was tried is in the folder tuning in --output.

    Where --graph is a graph in parts (see: justjump partition), --workers processes share it. The result is the same
    for any number of them.

    Example: justjump train --dataset cora --model dna --layers 4 --hidden 128 --heads 8 --groups 16 --splits 10
    """
    if engine == "local" and address is not None:
        raise typer.BadParameter(f"--address {address} is for --engine ray: name the engine, too")
    if check_parts_options(graph, workers, scratch, dataset=dataset, directed=directed, label=label):
        assert graph is not None
        if tune is not None:
            raise typer.BadParameter(
                "--tune searches on a graph in memory: search on a smaller graph of the same kind, and train on the "
                "parts with the options that it finds"
            )
        if jobs:
            raise typer.BadParameter(f"--jobs {jobs}: splits of a graph in parts are trained in turn, use --workers")
        if device not in (None, "cpu"):
            raise typer.BadParameter(f"--device {device}: a graph in parts is trained on the CPU, leave it out")
        if plan:
            from justjump.experiments.parts_plan import show_parts_plan

            show_parts_plan(Path(graph), config, protocol, workers, as_json)
            return
        from justjump.experiments.train_parts import train_parts

        train_parts(
            Path(graph),
            config,
            protocol,
            workers=workers,
            engine=engine,
            address=address,
            scratch=scratch,
            worker_timeout=worker_timeout,
            verify=verify,
            splits=splits,
            seed=seed,
            output=output,
            as_json=as_json,
            tensorboard=tensorboard,
        )
        return
    if engine != "local":
        raise typer.BadParameter(f"--engine {engine} is for a graph in parts: make one with justjump partition")
    spec = graph_spec(dataset, graph, directed, data_dir, label)
    if plan:
        from justjump.experiments.plans import show_plan

        show_plan(spec.load(), config, protocol, as_json)
        return
    from justjump.experiments.train import train as run_training

    if tune is not None:
        from justjump.experiments.tune import tuned

        config, protocol = tuned(spec, tune, protocol, jobs, output, seed)
    run_training(
        spec,
        config,
        protocol,
        splits=splits,
        seed=seed,
        jobs=jobs,
        output=output,
        tensorboard=tensorboard,
        as_json=as_json,
        device=device,
    )


@app.command()
def predict(
    run: RunFolder,
    graph: Annotated[
        str,
        typer.Option(help="A dataset's name, an .npz file, a folder with CSV or Parquet files, or a graph in parts."),
    ],
    output: Annotated[
        Path, typer.Option(help="CSV or .parquet file to write: node, class, probability, one column per class, ...")
    ],
    directed: Directed = False,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    workers: Workers = 1,
    scratch: Scratch = None,
) -> None:
    """Predict the classes, labels or numbers of all nodes, or of whole graphs, with a trained network.

    Where labels are known, the measures are printed. A graph in parts (see: justjump partition) may be larger than
    memory: --workers processes share it, and its predictions are written part by part.

    Example: justjump predict runs/cora --graph cora --output predictions.csv

    Example: justjump predict runs/large --graph parts --output predictions.parquet --workers 4
    """
    in_parts = check_parts_options(graph, workers, scratch, directed=directed, label=label)
    from justjump.train.predict import predict as write_predictions
    from justjump.train.predict import predict_parts
    from justjump.train.run import find_run

    found = find_run(run)
    if in_parts:
        from justjump.data.parts import open_parts

        predict_parts(found, open_parts(graph), output, workers, scratch)
        return
    from justjump.experiments.graph_spec import graph_for

    write_predictions(found, graph_for(found, graph, data_dir, directed, label), output)
