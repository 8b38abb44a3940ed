"""Progress of many runs on the terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from justjump.experiments.jobs import Done, Epoch, Event, Failed, Job, Stopping
from justjump.experiments.summary import score_of
from justjump.experiments.words import count
from justjump.train.measures import WORDS, is_share
from justjump.train.show import SECONDS_BETWEEN_LINES, shown_value

# Assumed length of a job until the first one has ended.
USUAL_EPOCHS = 100
BAR_WIDTH = 12
# Characters of a line that the counts, times and accuracy beside the bar take.
OTHER_COLUMNS = 42


class RunsDisplay:
    """A bar on stderr with the accuracy so far and the time left; plain lines if stderr is not a terminal.

    There is a line when a job ends, and one about the running jobs if there was none for some seconds.

    An instance is the ``on_event`` of an engine.
    """

    def __init__(self, jobs: Sequence[Job], titles: Sequence[str], workers: int) -> None:
        self.titles = titles
        self.work = [job.work for job in jobs]
        self.is_saved = [job.output is not None for job in jobs]
        self.workers = max(1, min(workers, len(titles)))
        self.console = Console(stderr=True)
        self.said = time.monotonic()
        self.running: dict[int, Epoch] = {}
        self.scores: list[float] = []
        self.measure = "accuracy"
        self.seconds: dict[int, float] = {}
        self.failed: set[int] = set()
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=BAR_WIDTH),
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
            if event.job not in self.running and event.epoch > 1:
                self._print(f"{self.titles[event.job]} goes on after epoch {event.epoch - 1}")
            self.running[event.job] = event
            if time.monotonic() - self.said >= SECONDS_BETWEEN_LINES:
                self._say(event.job, f"epoch {event.epoch}, val {self._value(event)}")
        elif isinstance(event, Stopping):
            self._print(
                "stopping: running jobs end after their epoch and start again next time; Ctrl-C again stops at once"
            )
        else:
            self._end(event)
        self._refresh()

    def _end(self, event: Done | Failed) -> None:
        was_trained = self.running.pop(event.job, None) is not None
        if isinstance(event, Failed):
            self.failed.add(event.job)
            self._say(event.job, f"failed: {' '.join(event.message.split())}")
        elif event.result["finished"]:
            self.measure, score = score_of(event.result)
            self.scores.append(score or 0.0)
            self.seconds[event.job] = event.result["seconds"]
            value = shown_value(self.measure, score)
            outcome = f"test {WORDS[self.measure]} {value} after {count(event.result['epochs'], 'epoch')}"
            if self.is_saved[event.job] and not was_trained:
                self._print(f"{self.titles[event.job]} is already there: {outcome}")
            else:
                self._say(event.job, f"{outcome}, {self.left()}")

    def _say(self, job: int, text: str) -> None:
        if not self.console.is_terminal:
            self._print(f"[{len(self.seconds) + len(self.failed)}/{len(self.titles)}] {self.titles[job]}: {text}")

    def _print(self, line: str) -> None:
        self.said = time.monotonic()
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _refresh(self) -> None:
        newest = max(self.running.values(), key=lambda epoch: epoch.epoch, default=None)
        doing = "finishing"
        if newest is not None:
            doing = f"epoch {newest.epoch}, val {self._value(newest)}, {self.titles[newest.job]}"
        room = max(20, self.console.width - BAR_WIDTH - OTHER_COLUMNS)
        doing = doing if len(doing) <= room else f"{doing[: room - 1]}…"
        mean = ""
        if self.scores:
            value = shown_value(self.measure, sum(self.scores) / len(self.scores))
            mean = f"test {value}{' %' * is_share(self.measure)}"
        mean += f", {len(self.failed)} failed" if self.failed else ""
        completed = len(self.seconds) + len(self.failed)
        self.progress.update(self.task, description=doing, completed=completed, accuracy=mean, left=self.left())

    def _value(self, epoch: Epoch) -> str:
        return shown_value(epoch.measure, epoch.val_score) + " %" * is_share(epoch.measure)

    def left(self) -> str:
        """The time that the remaining jobs will take, estimated from their work and the pace so far."""
        if self.seconds:
            pace = sum(self.seconds.values()) / sum(self.work[job] for job in self.seconds)
        elif self.running:
            epochs = self.running.values()
            needed = sum(USUAL_EPOCHS * epoch.seconds / epoch.epoch for epoch in epochs)
            pace = needed / sum(self.work[job] for job in self.running)
        else:
            return ""
        unfinished = set(range(len(self.titles))) - set(self.seconds) - self.failed
        spent = {job: epoch.seconds for job, epoch in self.running.items()}
        left = sum(max(0.0, self.work[job] * pace - spent.get(job, 0.0)) for job in unfinished) / self.workers
        return f"{int(left) // 60}:{int(left) % 60:02} left" if left < 3600 else f"{left / 3600:.1f} h left"
