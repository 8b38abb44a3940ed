"""Progress of one run, where someone is looking: a terminal or a notebook."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from justjump.train.checkpoint import Progress
from justjump.train.measures import SCORE, WORDS, is_share
from justjump.train.protocol import Protocol
from justjump.train.stopping import earliest_end

# Where there is no terminal, a line is printed if nothing else was for so long.
SECONDS_BETWEEN_LINES = 10.0


class EpochBar:
    """A line with the epoch, the validation score and the patience that is left; nothing if nobody is looking.

    What is set as :attr:`note` follows.

    On a terminal, and in a notebook that has ipywidgets, it is a bar. Elsewhere it is a plain line now and then.

    Args:
        shown: True or False; by default where stderr is a terminal, and in notebooks
    """

    def __init__(self, protocol: Protocol, task: str, shown: bool | None = None) -> None:
        self.protocol = protocol
        self.measure = SCORE[task]  # type: ignore[index]
        self.console = Console(stderr=True)
        self.shown = self.console.is_terminal or self.console.is_jupyter if shown is None else shown
        is_bar = find_spec("ipywidgets") is not None if self.console.is_jupyter else self.console.is_terminal
        self.said = time.monotonic()
        self.note = ""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[score]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self.bars = Bars(*columns, console=self.console, transient=True, disable=not (self.shown and is_bar))
        self.task = self.bars.add_task("epoch 0", total=protocol.max_epochs, score="", left="")

    def __enter__(self) -> EpochBar:
        self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def __call__(self, progress: Progress) -> None:
        if not self.shown:
            return
        pace = progress.seconds / progress.epoch
        seconds = max(earliest_end(progress, self.protocol) - progress.epoch, 0) * pace
        epoch, left = f"epoch {progress.epoch}", f"{seconds:.0f} s or more left" + (f", {self.note}" * bool(self.note))
        score = f"val {WORDS[self.measure]} {shown_value(self.measure, progress.val_score[-1])}"
        if not self.bars.disable:
            self.bars.update(self.task, description=epoch, completed=progress.epoch, score=score, left=left)
        elif time.monotonic() - self.said >= SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            print(f"{epoch}, {score}, {left}", file=sys.stderr)


def shown_value(measure: str, value: float | None) -> str:
    """A measure as people read it.

    >>> shown_value("accuracy", 0.8584), shown_value("mae", 0.8584), shown_value("roc_auc", None)
    ('85.8', '0.858', '-')
    """
    if value is None:
        return "-"
    return f"{100 * value:.1f}" if is_share(measure) else f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"


def shown_bytes(count: float) -> str:
    """A number of bytes as people read it.

    >>> shown_bytes(512), shown_bytes(3_400_000), shown_bytes(1.26e12)
    ('512 bytes', '3.4 MB', '1.3 TB')
    """
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"
