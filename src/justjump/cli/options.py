"""Options of commands that come from the fields of dataclasses, and help in groups."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from justjump.options import command_options


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a parameter ``name: Annotated[SomeDataclass, "Group"]`` by one option per field of the dataclass.

    The command itself gets an instance of the dataclass.
    """
    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    dataclasses: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        kind, group = (*get_args(parameter.annotation), None, None)[:2]
        if is_dataclass(kind):
            dataclasses[parameter.name] = kind
            parameters += _options(kind, group)
        else:
            parameters.append(parameter)

    @functools.wraps(command)
    def run(**values: Any) -> None:
        for name, kind in dataclasses.items():
            values[name] = kind(**{one.name: values.pop(one.name) for one in command_options(kind)})
        command(**values)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _options(kind: Any, group: str) -> list[inspect.Parameter]:
    types = get_type_hints(kind)
    parameters = []
    for one in command_options(kind):
        default = one.metadata["recommended"]
        # A flag that is off by default gets no --no- form, which would do nothing.
        names = [f"--{one.name.replace('_', '-')}"] if default is False else []
        shown: dict[str, Any] = {"help": one.metadata["help"], "rich_help_panel": group}
        annotation = types[one.name]
        if annotation == tuple[int, ...] | None:
            annotation, shown = str | None, shown | {"parser": _whole_numbers, "metavar": "INTEGERS"}
        settings = typer.Option(default, *names, **shown)
        keyword_only = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(one.name, keyword_only, default=settings, annotation=annotation))
    return parameters


def _whole_numbers(text: str) -> tuple[int, ...]:
    """Numbers with commas between them: ``15,10``."""
    try:
        return tuple(int(number) for number in str(text).split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no list of whole numbers such as 15,10") from None


class GroupedCommand(TyperCommand):
    """A command whose help lists its options in the groups that their ``rich_help_panel`` names."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or "Other", []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)
