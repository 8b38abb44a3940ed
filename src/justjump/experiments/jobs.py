"""A job: one run that is named by what it depends on, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from justjump.experiments.graph_spec import CACHED_GRAPHS, GraphSpec
from justjump.nn import ModelConfig
from justjump.train import Progress, Protocol, fit
from justjump.train.inputs import Inputs, prepare
from justjump.train.tensorboard import RunLog, run_folder


@lru_cache(maxsize=2 * CACHED_GRAPHS)
def _inputs(spec: GraphSpec, normalize_features: bool) -> Inputs:
    return prepare(spec.load(), normalize_features)


@dataclass(frozen=True)
class Job:
    """One run: a graph, a network, a protocol and the seed of its split and initialisation.

    ``output`` (a folder for the trained network) and ``tensorboard`` (one for the curves of many) do not change the
    result and are no part of its key.
    """

    spec: GraphSpec
    config: ModelConfig
    protocol: Protocol
    seed: int
    output: str | None = None
    tensorboard: str | None = None

    @property
    def key(self) -> str:
        """A hash of all that the result depends on.

        >>> job = Job(GraphSpec("cora"), ModelConfig(), Protocol(), seed=0)
        >>> job.key == Job(GraphSpec("cora", data_dir="elsewhere"), ModelConfig(), Protocol(), seed=0).key
        True
        >>> job.key == Job(GraphSpec("cora"), ModelConfig(), Protocol(), seed=1).key
        False
        """
        text = json.dumps(self.describe(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def describe(self) -> dict[str, Any]:
        """What the key is made of, as JSON takes it."""
        return {
            "dataset": self.spec.name,
            "config": asdict(self.config),
            "protocol": asdict(self.protocol),
            "seed": self.seed,
        }

    @property
    def work(self) -> float:
        """About how long an epoch takes, in no unit: numbers that the layers touch, for order and time left."""
        nodes, edges = self.spec.size
        attended = (self.config.layers + 1) / 2 if self.config.model == "dna" else 1
        lstm = 30 * self.config.layers if self.config.jump == "lstm" else 0
        per_layer = (2 * edges + nodes) * attended * (1 if self.config.model == "gcn" else 3) + 8 * nodes
        return self.config.hidden * (self.config.layers * per_layer + (100 + lstm) * nodes)

    @property
    def memory(self) -> int:
        """Bytes that the process of this job is taken to need at its peak, from above."""
        nodes, edges = self.spec.size
        representations = 24 * nodes * self.config.hidden * (self.config.layers + 2)
        lstm = 24 * nodes * self.config.hidden * (self.config.layers + 1) ** 2 if self.config.jump == "lstm" else 0
        attention = 8 * (2 * edges + nodes) * self.config.heads if self.config.model == "gat" else 0
        return PROCESS_BYTES + 120 * edges + 4 * (representations + lstm + self.config.layers * attention)

    def run(self, on_epoch: Callable[[Progress], None] | None = None) -> dict[str, Any]:
        """Train here; everything about the run but its weights."""
        inputs = _inputs(self.spec, self.protocol.normalize_features)
        with RunLog(self._log_folder()) as log:
            run = fit(
                self.spec.load(),
                self.config,
                self.protocol,
                seed=self.seed,
                output=self.output,
                on_epoch=log.then(on_epoch),
                inputs=inputs,
            )
            log.finish(run)
        return run.to_dict()

    def _log_folder(self) -> str | None:
        if self.tensorboard is None:
            return None
        return run_folder(self.tensorboard, self.spec.name, self.config, self.protocol, self.seed)


# A worker that has imported torch and holds a dataset.
PROCESS_BYTES = 600 * 2**20


@dataclass(frozen=True)
class Epoch:
    """A job has done one more epoch."""

    job: int
    epoch: int
    seconds: float
    val_accuracy: float


@dataclass(frozen=True)
class Done:
    """A job has ended; ``result`` is :meth:`Run.to_dict <justjump.train.Run.to_dict>`, not finished after Ctrl-C."""

    job: int
    result: dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """A job could not be run: an error of its own, or its process died."""

    job: int
    message: str
    traceback: str = ""


@dataclass(frozen=True)
class Stopping:
    """Ctrl-C was pressed: no other job starts, and the running ones end after their current epoch."""


Event = Epoch | Done | Failed | Stopping
OnEvent = Callable[[Event], None]
# Asked just before a job starts: False where it is not ours to run any more.
Claim = Callable[[int], bool]


def biggest_first(jobs: Sequence[Job]) -> list[Job]:
    """Long jobs at the end would leave the other workers idle."""
    return sorted(jobs, key=lambda job: -job.work)
