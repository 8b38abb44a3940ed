"""Progress of a conversion, with the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

T = TypeVar("T")
# Where there is no terminal, a line is printed if nothing else was for so long.
_SECONDS_BETWEEN_LINES = 10.0


class Steps:
    """A bar on stderr for each step of a conversion; plain lines now and then if stderr is not a terminal."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        is_bar = shown and self.console.is_terminal
        self.bars = Progress(*columns, console=self.console, transient=True, disable=not is_bar)
        self.said = self.started = time.monotonic()

    def __enter__(self) -> Steps:
        self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def count(self, name: str, total: float) -> Callable[[float], None]:
        """A step of this many units. Calling what is returned with a number of units counts them as done."""
        task = self.bars.add_task(name, total=total)
        self.started, done = time.monotonic(), 0.0

        def advance(units: float) -> None:
            nonlocal done
            done += units
            self.bars.update(task, completed=done)
            self._say(name, done, total)

        return advance

    def _say(self, name: str, done: float, total: float) -> None:
        now = time.monotonic()
        if self.shown and not self.console.is_terminal and now - self.said >= _SECONDS_BETWEEN_LINES:
            self.said = now
            left = (now - self.started) / max(done, 1e-9) * max(total - done, 0)
            self.console.print(f"{name}: {100 * done / max(total, 1):.0f} %, {left:.0f} s left", highlight=False)

    def each(self, name: str, items: Iterable[T], total: float) -> Iterator[T]:
        """The items, each of which is one unit."""
        advance = self.count(name, total)
        for item in items:
            yield item
            advance(1)
