"""TensorBoard logs of training runs."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from justjump.files import FileError, make_folder, reason
from justjump.nn import ModelConfig
from justjump.options import described
from justjump.train.checkpoint import Progress
from justjump.train.errors import RunError
from justjump.train.measures import SCORE
from justjump.train.protocol import Protocol
from justjump.train.run import Run

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

LOSS, VAL_LOSS = "loss/train", "loss/val"
EVENT_FILES = "events.out.tfevents.*"


class RunLog:
    """The log of one run: a point on each curve after every epoch, settings and accuracies at the end.

    Args:
        folder: the folder of this run (see :func:`run_folder`); None logs nothing

    When a stopped run goes on, its log is written again from the first epoch. So every epoch is in the log once, even
    those that are trained a second time because they came after the last checkpoint.

    ::

        with RunLog("logs/first") as log:
            run = fit(graph, on_epoch=log)
            log.finish(run)
    """

    def __init__(self, folder: str | Path | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._writer: SummaryWriter | None = None
        self._logged = 0

    def __enter__(self) -> RunLog:
        self._show_error = threading.excepthook
        threading.excepthook = self._show_error_of_thread
        return self

    def _show_error_of_thread(self, error: threading.ExceptHookArgs) -> None:
        """TensorBoard writes in a thread and raises the error of this thread here, too: it is not shown twice."""
        if not (issubclass(error.exc_type, OSError) and type(error.thread).__module__.startswith("tensorboard.")):
            self._show_error(error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # What went wrong before is what the user should know.
            with nullcontext() if error is None else suppress(FileError), self._writing():
                if self._writer is not None:
                    self._writer.close()
        finally:
            threading.excepthook = self._show_error

    def __call__(self, progress: Progress) -> None:
        """Log the epochs that are new; pass the log as ``on_epoch`` to :func:`~justjump.train.fit`."""
        if self.folder is None:
            return
        with self._writing():
            if self._writer is None:
                for path in self.folder.glob(EVENT_FILES):
                    path.unlink()
                # A TensorBoard that is watching drops what it has read of an earlier log from purge_step on.
                self._writer = _open(self.folder, purge_step=1)
            for epoch in range(self._logged, progress.epoch):
                self._writer.add_scalar(LOSS, progress.loss[epoch], epoch + 1)
                self._writer.add_scalar(VAL_LOSS, progress.val_loss[epoch], epoch + 1)
                if (score := progress.val_score[epoch]) is not None:
                    self._writer.add_scalar(f"{progress.measure}/val", score, epoch + 1)
        self._logged = progress.epoch

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"cannot write TensorBoard's log in {self.folder}: {reason(error)}") from error

    def then(self, on_epoch: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
        """An ``on_epoch`` that logs an epoch and then calls another ``on_epoch``, which may stop the run by raising."""

        def both(progress: Progress) -> None:
            self(progress)
            if on_epoch is not None:
                on_epoch(progress)

        return both

    def finish(self, run: Run) -> None:
        """Add the settings and the scores of the best epoch to the log of a finished run, once."""
        if self.folder is None or not run.finished or (self._writer is None and _is_finished(self.folder)):
            return
        from torch.utils.tensorboard.summary import hparams

        tag = SCORE[run.task]
        scores = {f"{tag}/{role}": run.score(role) for role in ("val", "test")}
        metrics = {tag: value for tag, value in scores.items() if value is not None}
        with self._writing():
            if self._writer is None:  # the run was finished before, the log was not
                self._writer = _open(self.folder)
            for summary in hparams(_settings(run), metrics):  # type: ignore[no-untyped-call]
                self._writer.file_writer.add_summary(summary)  # type: ignore[attr-defined]
            if (score := run.score("test")) is not None:
                self._writer.add_scalar(f"{tag}/test", score, run.best_epoch)
            self._writer.flush()


def run_folder(root: str | Path, graph_name: str, config: ModelConfig, protocol: Protocol, seed: int) -> str:
    """The folder of a run below ``root``. Runs with different settings have different folders.

    >>> run_folder("logs", "cora", ModelConfig(), Protocol(), seed=3)  # doctest: +ELLIPSIS
    'logs/cora-dna-4-128-16-8-.../seed-3'
    """
    text = json.dumps([described(config), described(protocol)], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    notation = config.notation.replace("/", "-")
    return str(Path(root) / f"{graph_name}-{config.model}-{notation}-{digest}" / f"seed-{seed}")


def check_log_folder(root: str | Path) -> None:
    """Raise before a run begins if its log cannot be written: TensorBoard is missing, or the folder is impossible."""
    _summary_writer()
    make_folder(Path(root), "--tensorboard")


def _summary_writer() -> type[SummaryWriter]:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise RunError("TensorBoard is not installed: pip install 'justjump[tensorboard]'") from error
    return SummaryWriter


def _open(folder: Path, purge_step: int | None = None) -> SummaryWriter:
    writer = _summary_writer()
    return writer(str(folder), purge_step=purge_step, flush_secs=5)


def _is_finished(folder: Path) -> bool:
    """Whether a log ends with the settings of its run."""
    if not list(folder.glob(EVENT_FILES)):
        return False
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.metadata import SESSION_END_INFO_TAG

    events = EventAccumulator(str(folder))
    events.Reload()
    return SESSION_END_INFO_TAG in events.summary_metadata


def _settings(run: Run) -> dict[str, Any]:
    """Settings by their names in ``config`` and ``protocol``; TensorBoard takes numbers and text."""
    settings = {"graph": run.graph_name, "seed": run.seed, **asdict(run.config), **asdict(run.protocol)}
    return {
        name: value if isinstance(value, bool | int | float | str) else str(value) for name, value in settings.items()
    }
