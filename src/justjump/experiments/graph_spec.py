"""Which graph a job is about, without the graph itself."""

from __future__ import annotations

import multiprocessing
import warnings
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from justjump.data import NAMES, DataError, Graph, load, read_graph
from justjump.data.errors import DataWarning, NoColumnError
from justjump.data.parts import is_parts
from justjump.experiments import paper
from justjump.train.inputs import graph_hash

if TYPE_CHECKING:
    from justjump.train import Run

# The jobs on one graph share it, and one process may work on all eight datasets.
CACHED_GRAPHS = 8


@dataclass(frozen=True)
class GraphSpec:
    """One of the paper's datasets, or a user's file or folder."""

    dataset: str | None = None
    path: str | None = None
    data_dir: str | None = None
    directed: bool = False
    label_column: str | None = None

    @classmethod
    def named(
        cls, text: str, data_dir: str | Path | None = None, directed: bool = False, label_column: str | None = None
    ) -> GraphSpec:
        """The graph that a text stands for: a path if that exists, else a dataset's name."""
        if Path(text).exists() and text in NAMES:
            raise ValueError(f"{text} is a dataset and a path here: write ./{text} for the path")
        looks_like_path = Path(text).exists() or (text not in NAMES and ("/" in text or text.endswith(".npz")))
        if looks_like_path:
            return cls(path=text, directed=directed, label_column=label_column)
        if text not in NAMES and not get_close_matches(text.lower().replace("-", "_"), NAMES):
            raise ValueError(f"{text} is no file or folder here, and no dataset: datasets are {', '.join(NAMES)}")
        if directed or label_column is not None:
            option = "--directed" if directed else "--label"
            raise ValueError(f"{option} is for a graph of your own, and {text} is a dataset")
        return cls(dataset=text, data_dir=None if data_dir is None else str(data_dir))

    def load(self) -> Graph:
        """The graph, read once per process."""
        return _load(self)

    @property
    def name(self) -> str:
        """A dataset's name; a user's graph is named by its content, so that a changed file is another graph."""
        return self.dataset or f"graph-{_content_hash(self)[:16]}"

    @property
    def label(self) -> str:
        """What people call the graph: a dataset's name, or the name of a user's file or folder."""
        return self.dataset or Path(self.path or "").resolve().name.removesuffix(".npz")

    @property
    def size(self) -> tuple[int, int]:
        """Number of nodes and of undirected edges."""
        if self.dataset in paper.DATASETS:
            return paper.DATASETS[self.dataset].nodes, paper.DATASETS[self.dataset].edges
        graph = self.load()
        return graph.num_nodes, graph.num_edges


def graph_for(
    run: Run, text: str, data_dir: str | Path | None = None, directed: bool = False, label: str | None = None
) -> Graph:
    """The graph that a text stands for, with the labels in the columns that those of the run were in, if it has them.

    ``label`` names other columns. A file is read as a directed graph if that of the run was.
    """
    directed = directed or (run.directed and Path(text).exists())
    if label is None and run.label_columns not in (None, ("label",)) and Path(text).is_dir():
        with suppress(NoColumnError):  # new data may have no labels
            return GraphSpec.named(text, data_dir, directed, ",".join(run.label_columns or ())).load()
    return GraphSpec.named(text, data_dir, directed, label).load()


_received: dict[GraphSpec, Graph] = {}


def provide_graph(spec: GraphSpec, graph: Graph) -> None:
    """From now on, ``spec.load()`` returns this graph: the machine of a cluster may not have its files."""
    _received.setdefault(spec, graph)


def labels_in(text: str) -> list[str]:
    """The columns that ``--label`` names.

    >>> labels_in("red, big one,")
    ['red', 'big one']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


@lru_cache(maxsize=CACHED_GRAPHS)
def _load(spec: GraphSpec) -> Graph:
    if spec in _received:
        return _received[spec]
    if spec.path is not None:
        if is_parts(spec.path):
            raise DataError(
                f"{spec.path} is a graph in parts, and this command needs the whole graph in memory: name the graph "
                "that it was made of; train, predict and attention take parts"
            )
        label = None if spec.label_column is None else labels_in(spec.label_column)
        with warnings.catch_warnings():
            if multiprocessing.parent_process() is not None:  # the command itself has shown them
                warnings.simplefilter("ignore", DataWarning)
            return read_graph(spec.path, spec.directed, label)
    return load(spec.dataset or "", spec.data_dir)


@lru_cache(maxsize=CACHED_GRAPHS)
def _content_hash(spec: GraphSpec) -> str:
    return graph_hash(spec.load())
