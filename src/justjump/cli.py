"""The command line: argument parsing only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from justjump import __version__

app = typer.Typer(
    name="justjump",
    help="Graph neural networks with dynamic neighborhood aggregation (Just Jump, Fey 2019).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def common(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Graph neural networks with dynamic neighborhood aggregation (Just Jump, Fey 2019).

    Example: justjump train --dataset cora --model dna --layers 4 --hidden 128 --heads 8 --groups 16
    """
    if version:
        print(__version__)
        raise typer.Exit


DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder with raw dataset files (also: JUSTJUMP_DATA).")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=0, help="Runs at a time; 0 = one per core.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


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
    stratified: Annotated[bool, typer.Option("--stratified", help="Splits keep the share of each class.")] = False,
    splits: Annotated[int, typer.Option(min=1, help="Number of random splits and initialisations.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first split; the next are seed + 1, ...")] = 0,
    jobs: Jobs = 0,
    data_dir: DataDir = None,
    output: Annotated[Path | None, typer.Option(help="Folder to keep the trained networks in.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train on one or more random splits and print the test accuracy.

    With --output, Ctrl-C keeps the best network so far, and the same command goes on from there. Without it, nothing
    is written.

    Example: justjump train --dataset cora --model dna --layers 4 --hidden 128 --heads 8 --groups 16 --splits 10
    """
    from justjump.experiments import commands
    from justjump.experiments.runner import Source
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
    source = Source(dataset, graph, None if data_dir is None else str(data_dir), directed)
    commands.train(source, config, protocol, splits=splits, seed=seed, jobs=jobs, output=output, as_json=as_json)


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
    """Predict the class of every node of a graph with a trained network.

    Example: justjump predict runs/cora --graph cora --output predictions.csv
    """
    from justjump.experiments import commands

    commands.predict(run, graph, output, directed, data_dir)


@app.command()
def datasets(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the eight datasets: counts beside the paper's, where each is and comes from. Downloads nothing.

    Example: justjump datasets --data-dir ~/graphs
    """
    from justjump.experiments import commands

    commands.datasets(data_dir, as_json)


@app.command()
def demo(
    splits: Annotated[int, typer.Option(min=1, help="Number of random splits.")] = 10,
    jobs: Jobs = 0,
) -> None:
    """Train DNA (g=16) and GCN on the embedded Cora and print accuracies beside the paper's.

    Example: justjump demo --splits 3
    """
    from justjump.experiments import commands

    commands.demo(splits, jobs)


@app.command()
def info(as_json: AsJson = False) -> None:
    """Show which kernels run, on how many threads, and the versions of what they run on.

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
) -> None:
    """Measure layers and training steps side by side with PyTorch Geometric: time, memory, share of the machine.

    Cases: layer-cora, layer-photo, layer-computers, layer-computers-folds, layer-computers-deep, step-cora, step-photo,
    step-computers, step-physics, gat-computers, gcn-computers, gcn-computers-adj.

    With --growth, measure instead how our training step grows with the graph, from 0.5 to 16 million edges.

    Example: justjump bench layer-cora step-cora
    """
    from justjump.bench import report

    if growth:
        report.growth(threads, as_json, markdown)
        return
    report.bench(case or [], threads, repetitions, synthetic, keep_memory, data_dir, as_json, markdown)


def main() -> None:
    """Run the command; an error is one line and exit code 2, a traceback comes with --debug."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if len(arguments) < len(sys.argv) - 1:
        sys.exit(app(arguments, standalone_mode=False))
    try:
        sys.exit(app(arguments, standalone_mode=False))
    except KeyboardInterrupt:
        sys.exit("stopped")
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        if message.startswith("Usage:"):  # no command was given: the message is the help
            print(message)
            sys.exit(2)
        line = " ".join(message.split()) or type(error).__name__
        print(f"error: {line}", file=sys.stderr)
        sys.exit(2)
