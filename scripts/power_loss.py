"""What does a run's folder hold after a power failure, at each moment of a run?

    python scripts/power_loss.py

Trains a small network that saves its state after every epoch, stops it, and goes on to the end. Until a file is synced,
a power failure may take its content; until its folder is synced, it may take its name or a rename. So before and after
each step that touches the disk, this makes the two extreme folders that a failure could leave: with the names as they
are now, and with the names as they were last synced. Both have nothing but synced content. Each must hold the old run,
the new run or no run yet; training must go on from it to the same weights; and once a run was saved, it must be there.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from justjump.data import Graph
from justjump.nn import ModelConfig
from justjump.train import Progress, Protocol, Run, RunError, epochs, fit

CONFIG = ModelConfig("gcn", layers=1, hidden=4, groups=1)
PROTOCOL = Protocol(max_epochs=8, patience=100)
STOP_AT = 4

Image = dict[str, bytes]


@dataclass
class Disk:
    """Remembers what of a folder is on the disk for sure."""

    folder: Path
    content: dict[int, bytes] = field(default_factory=dict)  # by inode, as last synced
    names: dict[str, int] = field(default_factory=dict)  # as last synced
    images: list[tuple[int, Image]] = field(default_factory=list)
    phase: int = 0
    _open: list[int] = field(default_factory=list)  # an inode that is open is not given to another file

    def entries(self) -> dict[str, int]:
        if not self.folder.is_dir():
            return {}
        return {entry.name: entry.inode() for entry in os.scandir(self.folder)}

    def synced(self, descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path == self.folder:
            self.names = self.entries()
        elif path.parent == self.folder:
            self._open.append(os.dup(descriptor))
            self.content[os.fstat(descriptor).st_ino] = path.read_bytes()

    def take_images(self) -> None:
        for names in (self.names, self.entries()):
            image = {name: self.content.get(inode, b"") for name, inode in names.items()}
            if (self.phase, image) not in self.images:
                self.images.append((self.phase, image))

    @contextmanager
    def watched(self) -> Iterator[None]:
        def watch(real: Any) -> Any:
            def wrapper(*arguments: Any, **options: Any) -> Any:
                self.take_images()
                result = real(*arguments, **options)
                if real is fsync:
                    self.synced(arguments[0])
                self.take_images()
                return result

            return wrapper

        fsync = os.fsync
        changes = {name: watch(getattr(os, name)) for name in ("fsync", "replace", "unlink")}
        try:
            with mock.patch.multiple(os, **changes):
                yield
        finally:
            for descriptor in self._open:
                os.close(descriptor)


def small_graph() -> Graph:
    """Two cliques of ten nodes."""
    block = np.kron(np.eye(2), np.ones((10, 10))) - np.eye(20)
    labels = np.repeat([0, 1], 10)
    features = np.random.RandomState(0).rand(20, 6) + labels[:, None]
    return Graph(np.stack(block.nonzero()), features, labels, ("left", "right"), name="cliques")


def same_weights(a: Run, b: Run) -> bool:
    theirs = b.model.state_dict()
    return all(torch.equal(value, theirs[name]) for name, value in a.model.state_dict().items())


def stop(progress: Progress) -> None:
    if progress.epoch == STOP_AT:
        raise KeyboardInterrupt


def problem_of(image: Image, folder: Path, runs: list[Run], saved: int) -> str | None:
    """What is wrong with a folder after a power failure: ``saved`` of the runs had been saved before it."""
    folder.mkdir()
    for name, content in image.items():
        (folder / name).write_bytes(content)
    try:
        found = Run.load(folder)
        if not any(found.epochs == run.epochs and same_weights(found, run) for run in runs[max(0, saved - 1) :]):
            return "it holds another run"
    except RunError as error:
        if saved or "run.json" in image:
            return f"it holds no run: {error}"
    try:
        if not same_weights(fit(small_graph(), CONFIG, PROTOCOL, output=folder), runs[-1]):
            return "training goes on from it to other weights"
    except RunError as error:
        return f"training does not go on from it: {error}"
    return None


def failures() -> tuple[int, list[str]]:
    """How many different folders power failures could leave, and what is wrong with them."""
    graph = small_graph()
    with tempfile.TemporaryDirectory() as place, mock.patch.object(epochs, "SAVE_EVERY_SECONDS", -1.0):
        disk = Disk(Path(place).resolve() / "run")
        with disk.watched():
            stopped = fit(graph, CONFIG, PROTOCOL, output=disk.folder, on_epoch=stop)
            disk.phase = 1
            disk.take_images()
            whole = fit(graph, CONFIG, PROTOCOL, output=disk.folder)
            disk.phase = 2
            disk.take_images()
        assert same_weights(whole, fit(graph, CONFIG, PROTOCOL))
        found = [
            problem_of(image, Path(place, f"image-{number}"), [stopped, whole], saved)
            for number, (saved, image) in enumerate(disk.images)
        ]
    return len(found), [problem for problem in found if problem is not None]


def main() -> None:
    count, problems = failures()
    print(f"{count} different folders after a power failure, {len(problems)} of them with a lost or a damaged result")
    for problem in problems:
        print(f"  {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
