"""Progress of many runs on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from justjump.experiments.runner import Done, Epoch, Event

# What a run is taken to need before the first one has ended.
USUAL_EPOCHS = 100


class RunsDisplay:
    """A bar on stderr with the accuracy so far and the time left; plain lines where stderr is not a terminal.

    An instance is the ``on_event`` of :func:`~justjump.experiments.runner.run_jobs`.
    """

    def __init__(self, titles: Sequence[str], workers: int) -> None:
        self.titles = titles
        self.workers = max(1, min(workers, len(titles)))
        self.console = Console(stderr=True)
        self.running: dict[int, Epoch] = {}
        self.accuracies: list[float] = []
        self.epochs: list[int] = []
        self.seconds: list[float] = []
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[accuracy]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self.progress = Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.task = self.progress.add_task("starting", total=len(titles), accuracy="", left="")

    def __enter__(self) -> RunsDisplay:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Epoch):
            self.running[event.job] = event
        else:
            self._end(event)
        self._refresh()

    def _end(self, event: Done) -> None:
        self.running.pop(event.job, None)
        if not event.result["finished"]:
            return
        self.accuracies.append(100 * (event.result["test_accuracy"] or 0.0))
        self.epochs.append(event.result["epochs"])
        self.seconds.append(event.result["seconds"])
        if not self.console.is_terminal:
            self.console.print(
                f"[{len(self.accuracies)}/{len(self.titles)}] {self.titles[event.job]}: "
                f"test accuracy {self.accuracies[-1]:.1f} after {self.epochs[-1]} epochs, {self.left()}",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )

    def _refresh(self) -> None:
        newest = max(self.running.values(), key=lambda epoch: epoch.epoch, default=None)
        doing = "finishing"
        if newest is not None:
            doing = f"{self.titles[newest.job]}, epoch {newest.epoch}, val {100 * newest.val_accuracy:.1f} %"
        mean = f"test {sum(self.accuracies) / len(self.accuracies):.1f} %" if self.accuracies else ""
        self.progress.update(
            self.task, description=doing, completed=len(self.accuracies), accuracy=mean, left=self.left()
        )

    def left(self) -> str:
        """The time that the remaining epochs will take at the pace so far."""
        done = sum(self.epochs) + sum(epoch.epoch for epoch in self.running.values())
        seconds = sum(self.seconds) + sum(epoch.seconds for epoch in self.running.values())
        usual = sum(self.epochs) / len(self.epochs) if self.epochs else USUAL_EPOCHS
        waiting = len(self.titles) - len(self.accuracies) - len(self.running)
        epochs = waiting * usual + sum(max(1, usual - epoch.epoch) for epoch in self.running.values())
        if not done:
            return ""
        left = epochs * seconds / done / self.workers
        return f"{int(left) // 60}:{int(left) % 60:02} left" if left < 3600 else f"{left / 3600:.1f} h left"
