"""The program itself, and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
