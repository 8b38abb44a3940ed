"""The error that this package raises."""

from pathlib import Path

from justjump.files import is_pipe


class DataError(ValueError):
    """The data cannot be used. The message is one line that says what was found, what was expected and what to do."""


class NoColumnError(DataError):
    """A table has no column of a name that was given."""


def refuse_pipe(path: Path) -> None:
    """Raise a `DataError` if a path leads to a pipe or a device: nobody knows how long to wait for it."""
    if is_pipe(path):
        raise DataError(f"{path} is a pipe or a device, expected a file: save what comes from it, and name that file")


class DataWarning(UserWarning):
    """The data can be used, but not all of it is, or a guess was made. The message says which and what to do."""


def short(text: object, length: int = 60) -> str:
    """Text from a file, for a message: on one line, printable and not longer than `length`.

    >>> short("a\\tname\\nof two lines"), short("word " * 100, length=12)
    ('a name of two lines', 'word word...')
    """
    text = str(text)
    line = "".join(letter if letter.isprintable() else " " for letter in text[: length + 1])
    return line if len(line) <= length else line[: length - 3].rstrip() + "..."
