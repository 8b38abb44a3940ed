"""A job: one run that is named by what it depends on, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from justjump.data import NAMES, Graph, load, read_graph
from justjump.experiments import paper
from justjump.nn import ModelConfig
from justjump.train import Progress, Protocol, fit
from justjump.train.inputs import Inputs, graph_hash, prepare
from justjump.train.tensorboard import RunLog, run_folder

# The jobs of one graph share it, and a process may meet all eight datasets.
KEPT_GRAPHS = 8


@dataclass(frozen=True)
class Source:
    """Where a graph comes from: one of the paper's datasets, or a user's file or folder."""

    dataset: str | None = None
    path: str | None = None
    data_dir: str | None = None
    directed: bool = False

    @classmethod
    def named(cls, text: str, data_dir: str | None = None, directed: bool = False) -> Source:
        """A path where there is one, else a dataset's name; one of the two is ambiguous only with ``./`` to help."""
        if Path(text).exists() and text in NAMES:
            raise ValueError(f"{text} is a dataset and a path here: write ./{text} for the path")
        looks_like_path = Path(text).exists() or (text not in NAMES and ("/" in text or text.endswith(".npz")))
        if looks_like_path:
            return cls(path=text, directed=directed)
        if directed:
            raise ValueError(f"--directed is for a graph of your own, and {text} is a dataset")
        return cls(dataset=text, data_dir=data_dir)

    def load(self) -> Graph:
        return _load(self)

    @property
    def name(self) -> str:
        """A dataset's name; a user's graph is named by its content, so that a changed file is another graph."""
        return self.dataset or f"graph-{_own_hash(self)[:16]}"

    @property
    def label(self) -> str:
        """A dataset's name, or that of a user's file or folder: what people call it."""
        return self.dataset or Path(self.path or "").resolve().name.removesuffix(".npz")

    @property
    def size(self) -> tuple[int, int]:
        """Nodes and undirected edges."""
        if self.dataset in paper.DATASETS:
            return paper.DATASETS[self.dataset].nodes, paper.DATASETS[self.dataset].edges
        graph = self.load()
        return graph.num_nodes, graph.num_edges


_sent: dict[Source, Graph] = {}


def keep_graph(source: Source, graph: Graph) -> None:
    """Use this graph for a source from now on: on another machine its files may not be there."""
    _sent.setdefault(source, graph)


@lru_cache(maxsize=KEPT_GRAPHS)
def _load(source: Source) -> Graph:
    if source in _sent:
        return _sent[source]
    if source.path is not None:
        return read_graph(source.path, source.directed)
    return load(source.dataset or "", source.data_dir)


@lru_cache(maxsize=KEPT_GRAPHS)
def _own_hash(source: Source) -> str:
    return graph_hash(source.load())


@lru_cache(maxsize=2 * KEPT_GRAPHS)
def _inputs(source: Source, normalize_features: bool) -> Inputs:
    return prepare(source.load(), normalize_features)


@dataclass(frozen=True)
class Job:
    """One run: a graph, a network, a protocol and the seed of its split and initialisation.

    ``output`` (a folder for the trained network) and ``tensorboard`` (one for the curves of many) do not change the
    result and are no part of its key.
    """

    source: Source
    config: ModelConfig
    protocol: Protocol
    seed: int
    output: str | None = None
    tensorboard: str | None = None

    @property
    def key(self) -> str:
        """A hash of all that the result depends on.

        >>> job = Job(Source("cora"), ModelConfig(), Protocol(), seed=0)
        >>> job.key == Job(Source("cora", data_dir="elsewhere"), ModelConfig(), Protocol(), seed=0).key
        True
        >>> job.key == Job(Source("cora"), ModelConfig(), Protocol(), seed=1).key
        False
        """
        text = json.dumps(self.describe(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def describe(self) -> dict[str, Any]:
        """What the key is made of, as JSON takes it."""
        return {
            "dataset": self.source.name,
            "config": asdict(self.config),
            "protocol": asdict(self.protocol),
            "seed": self.seed,
        }

    @property
    def work(self) -> float:
        """About how long an epoch takes, in no unit: numbers that the layers touch, for order and time left."""
        nodes, edges = self.source.size
        attended = (self.config.layers + 1) / 2 if self.config.model == "dna" else 1
        lstm = 30 * self.config.layers if self.config.jump == "lstm" else 0
        per_layer = (2 * edges + nodes) * attended * (1 if self.config.model == "gcn" else 3) + 8 * nodes
        return self.config.hidden * (self.config.layers * per_layer + (100 + lstm) * nodes)

    @property
    def memory(self) -> int:
        """Bytes that the process of this job is taken to need at its peak, from above."""
        nodes, edges = self.source.size
        representations = 24 * nodes * self.config.hidden * (self.config.layers + 2)
        lstm = 24 * nodes * self.config.hidden * (self.config.layers + 1) ** 2 if self.config.jump == "lstm" else 0
        attention = 8 * (2 * edges + nodes) * self.config.heads if self.config.model == "gat" else 0
        return PROCESS_BYTES + 120 * edges + 4 * (representations + lstm + self.config.layers * attention)

    def run(self, on_epoch: Callable[[Progress], None] | None = None) -> dict[str, Any]:
        """Train here; everything about the run but its weights."""
        inputs = _inputs(self.source, self.protocol.normalize_features)
        with RunLog(self._log_folder()) as log:
            run = fit(
                self.source.load(),
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
        return run_folder(self.tensorboard, self.source.name, self.config, self.protocol, self.seed)


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
