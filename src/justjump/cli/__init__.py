"""The command line: argument parsing only."""

import sys
import warnings
from typing import Any

import typer.main

from justjump.cli import analysis, experiments, parts, runs, tools  # noqa: F401  (each adds its commands)
from justjump.cli.app import app
from justjump.interrupt import STOPPED
from justjump.options import for_command


def main() -> None:
    """Run the command. An error is printed as one line and ends with exit code 2; --debug shows its traceback."""
    warnings.showwarning = _show_warning
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if len(arguments) < len(sys.argv) - 1:
        sys.exit(app(arguments, standalone_mode=False))
    try:
        sys.exit(app(arguments, standalone_mode=False))
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(STOPPED)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        if message.startswith("Usage:"):  # no command was given: the message is the help
            print(message)
            sys.exit(2)
        print(f"error: {_line(message) or type(error).__name__}", file=sys.stderr)
        sys.exit(2)


_show_other = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Print a warning of justjump as one line; users of the command do not ask where in the code it stands."""
    if category.__module__.startswith("justjump"):
        print(f"note: {_line(str(message))}", file=sys.stderr)
    else:
        _show_other(message, category, *place, **more)


def _line(message: str) -> str:
    """A message on one line, with options as they are typed in the command that runs."""
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})
    running = next((commands[word] for word in sys.argv[1:] if word in commands), None)
    names = [] if running is None else [parameter.name for parameter in running.params]
    return for_command(" ".join(message.split()), names)
