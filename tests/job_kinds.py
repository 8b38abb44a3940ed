"""Jobs that misbehave. Worker processes import them from here."""

import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.nn import ModelConfig
from justjump.train import Progress, Protocol

SMALL = ModelConfig("gcn", layers=1, hidden=16, groups=1)
SHORT = Protocol(max_epochs=2)


def small_job(seed: int, **options: Any) -> Job:
    return Job(GraphSpec("cora"), ModelConfig("gcn", layers=1, hidden=16, groups=1, **options), SHORT, seed)


def without_time(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what differs from run to run."""
    return {name: value for name, value in result.items() if name not in ("seconds", "written")}


@dataclass(frozen=True)
class RaisingJob(Job):
    def run(self, on_epoch: Callable[[Progress], None] | None = None) -> dict[str, Any]:
        raise ValueError("this job\ncannot be done")


@dataclass(frozen=True)
class KilledJob(Job):
    """As the kernel ends a process when memory runs out."""

    def run(self, on_epoch: Callable[[Progress], None] | None = None) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("not reached")


@dataclass(frozen=True)
class HungryJob(Job):
    """As a limit of the process ends it: an allocation fails."""

    def run(self, on_epoch: Callable[[Progress], None] | None = None) -> dict[str, Any]:
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (2**30, before[1]))
        try:
            return {"size": len(bytearray(2**34))}
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)


@dataclass(frozen=True)
class LoggedJob(Job):
    """Adds a line to a file when it starts, and takes its time. ``output`` names the file."""

    def run(self, on_epoch: Callable[[Progress], None] | None = None) -> dict[str, Any]:
        with Path(self.output or "").open("a") as file:
            file.write(f"{self.seed} {os.getpid()}\n")
        time.sleep(0.3)
        return Job(self.spec, self.config, self.protocol, self.seed).run(on_epoch)


@dataclass(frozen=True)
class DiesOnceJob(Job):
    """Its process is killed when it is run for the first time. ``output`` names a file that remembers."""

    def run(self, on_epoch: Callable[[Progress], None] | None = None) -> dict[str, Any]:
        marker = Path(f"{self.output}-{self.seed}")
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Job(self.spec, self.config, self.protocol, self.seed).run(on_epoch)
