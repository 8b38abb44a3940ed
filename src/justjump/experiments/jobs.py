"""A job is one run. Its key depends on everything that its result depends on, and on nothing else."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from justjump.data import Preprocessing
from justjump.experiments.graph_spec import CACHED_GRAPHS, GraphSpec
from justjump.nn import ModelConfig
from justjump.ops.history import attended_steps
from justjump.options import described
from justjump.train import Progress, Protocol, fit
from justjump.train.choices import share_is_open
from justjump.train.errors import TrainingWarning
from justjump.train.inputs import Inputs, prepare
from justjump.train.memory import batch_bytes, run_bytes
from justjump.train.protocol import Scale
from justjump.train.tensorboard import RunLog, run_folder


@lru_cache(maxsize=2 * CACHED_GRAPHS)
def _inputs(spec: GraphSpec, scale: Scale) -> Inputs:
    return prepare(spec.load(), preprocessing(spec, scale))


@lru_cache(maxsize=2 * CACHED_GRAPHS)
def preprocessing(spec: GraphSpec, scale: Scale) -> Preprocessing:
    """What is done with the features of a graph."""
    graph = spec.load()
    return Preprocessing.fit(graph.features, scale, graph.feature_names)


@dataclass(frozen=True)
class Job:
    """One run: a graph, a network, a protocol and the seed of its split and initialisation.

    ``output`` (the folder of the trained network), ``tensorboard`` (the folder of the curves of many jobs) and
    ``device`` are not what is computed, so the key does not depend on them.
    """

    spec: GraphSpec
    config: ModelConfig
    protocol: Protocol
    seed: int
    output: str | None = None
    tensorboard: str | None = None
    device: str | None = None

    @property
    def key(self) -> str:
        """A hash of everything that the result depends on.

        >>> job = Job(GraphSpec("cora"), ModelConfig(), Protocol(), seed=0)
        >>> job.key == Job(GraphSpec("cora", data_dir="elsewhere"), ModelConfig(), Protocol(), seed=0).key
        True
        >>> job.key == Job(GraphSpec("cora"), ModelConfig(), Protocol(), seed=1).key
        False
        """
        text = json.dumps(self.describe(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def describe(self) -> dict[str, Any]:
        """What the key is the hash of, ready for JSON."""
        protocol = described(self.protocol)
        if self.protocol.scale == "auto" and self.spec.path and preprocessing(self.spec, "auto").changes:
            protocol["scale"] = "auto"  # results from before there was such a scale are others
        about = {
            "dataset": self.spec.name,
            "config": described(self.config),
            "protocol": protocol,
            "seed": self.seed,
        }
        # So are results from before a graph chose its share of h(0).
        return about | ({"share": "by neighbours"} if share_is_open(self.config) else {})

    @property
    def work(self) -> float:
        """A rough measure of an epoch's cost, without a unit: it orders jobs and estimates the time left."""
        (nodes, edges), config = self.spec.size, self.config.suited()
        layers = range(1, config.layers + 1)
        is_dna = config.model == "dna"
        steps = sum(len(attended_steps(t, config.window, config.keep_first)) if is_dna else 1 for t in layers)
        lstm = 30 * config.layers if config.jump == "lstm" else 0
        per_step = (2 * edges + nodes) * (1 if config.model == "gcn" else 3)
        return config.hidden * (steps * per_step + (8 * config.layers + 100 + lstm) * nodes)

    @property
    def memory(self) -> int:
        """An upper estimate of the bytes that the process of this job needs at its peak."""
        nodes, edges = self.spec.size
        if self.protocol.batch_size is None:
            return run_bytes(nodes, edges, self.config)
        return batch_bytes(nodes, edges, self.config, self.protocol, int(self.protocol.fractions[0] * nodes))

    def run(self, on_epoch: Callable[[Progress], None] | None = None) -> dict[str, Any]:
        """Train in this process; returns everything about the run except its weights."""
        inputs = _inputs(self.spec, self.protocol.scale)
        with warnings.catch_warnings(), RunLog(self._log_folder()) as log:
            warnings.simplefilter("ignore", TrainingWarning)  # the result has them as notes
            run = fit(
                self.spec.load(),
                self.config,
                self.protocol,
                seed=self.seed,
                output=self.output,
                on_epoch=log.then(on_epoch),
                inputs=inputs,
                progress=False,
                device=self.device,
            )
            log.finish(run)
        return run.to_dict()

    def _log_folder(self) -> str | None:
        if self.tensorboard is None:
            return None
        return run_folder(self.tensorboard, self.spec.name, self.config, self.protocol, self.seed)


@dataclass(frozen=True)
class Epoch:
    """A job has completed one more epoch."""

    job: int
    epoch: int
    seconds: float
    val_score: float | None
    measure: str = "accuracy"


@dataclass(frozen=True)
class Done:
    """A job has ended with :meth:`Run.to_dict <justjump.train.Run.to_dict>`; after Ctrl-C, that is not finished."""

    job: int
    result: dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """A job failed: it raised an error, or its process died."""

    job: int
    message: str
    traceback: str = ""


@dataclass(frozen=True)
class Stopping:
    """Ctrl-C was pressed: no further job starts, and the running ones end after their current epoch."""


Event = Epoch | Done | Failed | Stopping
OnEvent = Callable[[Event], None]
# Asked just before a job starts: False if another process runs it.
Claim = Callable[[int], bool]


def biggest_first(jobs: Sequence[Job]) -> list[Job]:
    """Jobs by decreasing work: a long job at the end would leave the other workers idle."""
    return sorted(jobs, key=lambda job: -job.work)
