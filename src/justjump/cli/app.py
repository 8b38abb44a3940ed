"""The program itself, and the options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from justjump import __version__

if TYPE_CHECKING:
    from justjump.experiments.graph_spec import GraphSpec

ORDER = (
    "train",
    "predict",
    "explore",
    "report",
    "influence",
    "attention",
    "reproduce",
    "sweep",
    "results",
    "partition",
)


class Commands(TyperGroup):
    """Commands in the order in which people need them; errors name a value of the wrong type."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: self.commands[name] for name in (*ORDER, *self.commands) if name in self.commands}

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            cause: Any = error.__cause__
            if hasattr(cause, "errors"):  # pydantic's, which some versions of typer check types with
                value = cause.errors()[0]["input"]
                error.message = error.message.removeprefix("Value error, ").replace("Input", repr(value), 1)
            raise


app = typer.Typer(
    name="justjump",
    cls=Commands,
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


# Options that several commands share. Commands with many options show them in these groups.
GRAPH, RUNS, OUTPUT = "Graph", "Runs", "Output"

Dataset = Annotated[
    str | None, typer.Option(help="One of the paper's datasets (see: justjump datasets).", rich_help_panel=GRAPH)
]
OwnGraph = Annotated[
    str | None,
    typer.Option(
        "--graph",
        help="Your own graph: an .npz file, a folder with CSV or Parquet files, or a graph in parts.",
        rich_help_panel=GRAPH,
    ),
]
Directed = Annotated[
    bool, typer.Option("--directed", help="Take the edges of --graph in one direction.", rich_help_panel=GRAPH)
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        help="Column with the labels; several with commas.  [default: label]",
        rich_help_panel=GRAPH,
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Folder with raw dataset files (also: JUSTJUMP_DATA).", rich_help_panel=GRAPH),
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", min=0, help="Number of runs at a time; 0 = one per core.", rich_help_panel=RUNS),
]
RunFolder = Annotated[
    Path, typer.Argument(help="Folder of a run, or of several splits (the best on validation is used).")
]
Tensorboard = Annotated[Path | None, typer.Option(help="Folder for TensorBoard's curves.", rich_help_panel=OUTPUT)]
Workers = Annotated[
    int, typer.Option(min=1, help="Number of processes that share a graph in parts.", rich_help_panel=RUNS)
]
Scratch = Annotated[
    Path | None,
    typer.Option(
        help="Folder for the representations of a graph in parts, which are in memory by default.",
        rich_help_panel=RUNS,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.", rich_help_panel=OUTPUT)]


def check_parts_options(graph: str | None, workers: int, scratch: Path | None, **chosen_before: object) -> bool:
    """Whether --graph names a graph in parts; an error if the other options do not go with it."""
    from justjump.data.parts import is_parts

    if graph is not None and is_parts(graph):
        for name, value in chosen_before.items():
            if value:
                raise typer.BadParameter(f"--{name} was chosen when {graph} was partitioned: leave it out")
        return True
    if workers > 1 or scratch is not None:
        raise typer.BadParameter("--workers and --scratch are for a graph in parts: make one with justjump partition")
    return False


def graph_spec(
    dataset: str | None, graph: str | None, directed: bool, data_dir: Path | None, label: str | None = None
) -> GraphSpec:
    """The graph that --dataset or --graph names."""
    from justjump.experiments.graph_spec import GraphSpec

    if (dataset is None) == (graph is None):
        raise typer.BadParameter("name either --dataset or --graph, for example --dataset cora")
    if directed and graph is None:
        raise typer.BadParameter("--directed is for --graph: the datasets are undirected")
    if label is not None and graph is None:
        raise typer.BadParameter("--label is for --graph: the datasets have their labels")
    return GraphSpec(dataset, graph, None if data_dir is None else str(data_dir), directed, label)
