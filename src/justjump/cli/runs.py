"""Train a network, and use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from justjump.cli.app import AsJson, DataDir, Jobs, app


@app.command()
def train(
    dataset: Annotated[str | None, typer.Option(help="One of the paper's datasets (see: justjump datasets).")] = None,
    graph: Annotated[str | None, typer.Option(help="Your own graph: an .npz file, or a folder with CSV files.")] = None,
    directed: Annotated[bool, typer.Option("--directed", help="Take the edges of --graph in one direction.")] = False,
    model: Annotated[Literal["dna", "gcn", "gat"], typer.Option(help="Kind of layer.")] = "dna",
    layers: Annotated[int, typer.Option(help="Number of graph layers.")] = 4,
    hidden: Annotated[int, typer.Option(help="Size of every representation.")] = 128,
    heads: Annotated[int, typer.Option(help="Attention heads (dna, gat).")] = 8,
    groups: Annotated[int, typer.Option(help="Groups of the projections.")] = 16,
    jump: Annotated[Literal["none", "concat", "pool", "lstm"], typer.Option(help="Jumping knowledge.")] = "none",
    jump_input: Annotated[bool, typer.Option(help="Jumping knowledge takes the projected features, too.")] = True,
    update: Annotated[
        Literal["none", "skip", "gru"], typer.Option(help="How a layer joins its input: not, skip connection, GRU.")
    ] = "none",
    window: Annotated[int | None, typer.Option(help="Attend to the last so many representations (dna).")] = None,
    keep_first: Annotated[bool, typer.Option("--keep-first", help="The first one is part of the window.")] = False,
    dropout: Annotated[float, typer.Option(help="Dropout before and after the graph layers.")] = 0.5,
    input_dropout: Annotated[float, typer.Option(help="Dropout on the input features.")] = 0.5,
    attention_dropout: Annotated[float, typer.Option(help="Dropout on attention weights (dna, gat).")] = 0.8,
    learning_rate: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 0.005,
    weight_decay: Annotated[float, typer.Option(help="L2 penalty on the parameters.")] = 0.0005,
    decay: Annotated[
        Literal["all", "weights"], typer.Option(help="Parameters with the penalty; weights = not biases.")
    ] = "all",
    patience: Annotated[int, typer.Option(help="Stop after so many epochs without a better validation value.")] = 10,
    watch: Annotated[
        Literal["loss", "accuracy"], typer.Option(help="Validation value that patience watches.")
    ] = "loss",
    patience_start: Annotated[int, typer.Option(help="Epoch from which patience counts.")] = 0,
    max_epochs: Annotated[int, typer.Option(help="Stop after so many epochs at the latest.")] = 1000,
    normalize_features: Annotated[
        bool, typer.Option("--normalize-features", help="Divide each node's features by their sum.")
    ] = False,
    stratified: Annotated[bool, typer.Option(help="Splits keep the share of each class.")] = True,
    splits: Annotated[int, typer.Option(min=1, help="Number of random splits and initialisations.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first split; the next are seed + 1, ...")] = 0,
    jobs: Jobs = 0,
    data_dir: DataDir = None,
    output: Annotated[Path | None, typer.Option(help="Folder to keep the trained networks in.")] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Folder for TensorBoard's curves.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train on one or more random splits and print the test accuracy.

    With --output, Ctrl-C keeps the best network so far, the same command goes on from there, and a split that is
    finished there is not trained again. Without it, nothing is written.

    Example: justjump train --dataset cora --model dna --layers 4 --hidden 128 --heads 8 --groups 16 --splits 10
    """
    from justjump.experiments.graph_spec import GraphSpec
    from justjump.experiments.train import train as run_training
    from justjump.nn import ModelConfig
    from justjump.train import Protocol

    if (dataset is None) == (graph is None):
        raise typer.BadParameter("name either --dataset or --graph, for example --dataset cora")
    if directed and graph is None:
        raise typer.BadParameter("--directed is for --graph: the datasets are undirected")
    config = ModelConfig(
        model=model,
        layers=layers,
        hidden=hidden,
        heads=heads,
        groups=groups,
        jump=jump,
        jump_input=jump_input,
        update=update,
        dropout=dropout,
        input_dropout=input_dropout,
        attention_dropout=attention_dropout,
        window=window,
        keep_first=keep_first,
    )
    protocol = Protocol(
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        decay=decay,
        patience=patience,
        watch=watch,
        patience_start=patience_start,
        max_epochs=max_epochs,
        normalize_features=normalize_features,
        stratified=stratified,
    )
    spec = GraphSpec(dataset, graph, None if data_dir is None else str(data_dir), directed)
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
    )


@app.command()
def predict(
    run: Annotated[
        Path, typer.Argument(help="Folder of a run, or of several splits (the best on validation is used).")
    ],
    graph: Annotated[str, typer.Option(help="A dataset's name, an .npz file, or a folder with CSV files.")],
    output: Annotated[Path, typer.Option(help="CSV file to write: node, class, probability.")],
    directed: Annotated[bool, typer.Option("--directed", help="Take the edges in one direction.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Predict the class of every node with a trained network.

    Example: justjump predict runs/cora --graph cora --output predictions.csv
    """
    from justjump.experiments.graph_spec import GraphSpec
    from justjump.train.predict import predict as write_predictions
    from justjump.train.run import find_run

    spec = GraphSpec.named(graph, None if data_dir is None else str(data_dir), directed)
    write_predictions(find_run(run), spec.load(), output)
