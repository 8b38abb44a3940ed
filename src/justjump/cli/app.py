"""The program itself, and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from justjump import __version__

ORDER = ("train", "predict", "explore", "influence", "attention", "reproduce", "sweep", "results")


class Commands(TyperGroup):
    """Commands in the order in which they are met first; a value of the wrong type is named in the error."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: self.commands[name] for name in (*ORDER, *self.commands) if name in self.commands}

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            cause: Any = error.__cause__
            if hasattr(cause, "errors"):  # of pydantic, which some versions of typer check types with
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


DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder with raw dataset files (also: JUSTJUMP_DATA).")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=0, help="Runs at a time; 0 = one per core.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
