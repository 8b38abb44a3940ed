"""What the page shows: one graph, one or two runs on it, and their influence and attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock

import numpy as np
import torch

from justjump.analysis import Influence, LayerAttention, Neighbourhood, edge_attention, influence, neighbourhood
from justjump.analysis.explore.answers import Answers
from justjump.analysis.explore.classes import Classes
from justjump.analysis.explore.labels import Labels
from justjump.analysis.explore.numbers import Numbers
from justjump.analysis.hops import whole_graph
from justjump.analysis.subject import (
    Subject,
    middle_of,
    node_number,
    open_subjects,
    row_of,
    similar_names,
    with_names,
)
from justjump.data import Graph
from justjump.data.labels import Task
from justjump.train import RunError

# Largest number of nodes to draw: more are a tangle, and slow.
MOST_NODES = 120
# Largest distance to draw.
MOST_HOPS = 3
# Seconds that a request waits for its turn to compute.
LONGEST_WAIT = 20.0
# Number of cached neighbourhoods and influences: going back to a node costs nothing.
CACHED = 256
# The distance that stands for all nodes of one of several graphs.
WHOLE = 0
ANSWERS: dict[Task, type[Answers]] = {"multiclass": Classes, "multilabel": Labels, "regression": Numbers}


class Session:
    """One graph and the runs on it. Methods may be called from several threads.

    Attributes:
        graph: the graph that the runs are applied to
        runs: one or two runs
        answers: what the runs predict, and how it is shown
        names: names of the nodes, or their numbers
        unit: what has labels, a "node" or a "graph"
        handle: what identifies it, its "name" or its "number"
        degrees: number of incoming edges ``[N]``
    """

    def __init__(self, graph: Graph, runs: Sequence[Subject]) -> None:
        graph = self.graph = with_names(graph)
        self.runs = runs
        first, last = runs[0].run, runs[-1].run
        if first.class_names != last.class_names or first.task != last.task:
            what = {"multiclass": "classes", "multilabel": "labels"}.get(first.task, "numbers")
            raise RunError(f"{runs[0].title} and {runs[-1].title} predict different {what}: they cannot be compared")
        self.answers = ANSWERS[first.task](graph, runs)
        self.names = [str(name) for name in graph.node_names or range(graph.num_nodes)]
        self.unit = "node" if graph.batch is None else "graph"
        self.handle = "name" if graph.node_names and graph.batch is None else "number"
        self.degrees = np.bincount(graph.edge_index[1], minlength=graph.num_nodes)
        self._lock = Lock()
        self._influence = lru_cache(CACHED)(self._compute_influence)
        self._neighbourhood = lru_cache(CACHED)(self._find_neighbourhood)

    def find(self, text: str) -> int | None:
        """The node with this name or number."""
        return node_number(self.graph, text.strip())

    def similar(self, text: str) -> list[str]:
        """Names that the text may stand for."""
        return self.suggestions(text, 3) or similar_names(self.graph, text.strip())

    def suggestions(self, text: str, limit: int = 8) -> list[str]:
        """Names that contain the text, in upper or lower case; those that begin with it come first."""
        text = text.strip().lower()
        if not text:
            return []
        graphs = [] if self.graph.batch is None or ":" in text else map(str, range(self.graph.num_graphs))
        found = [name for name in (graphs or self.names) if text in name.lower()]
        return sorted(found, key=lambda name: (not name.lower().startswith(text), len(name), name))[:limit]

    def neighbourhood(self, node: int, hops: int) -> Neighbourhood:
        """The nodes within ``hops`` hops of a node, or all of its graph (``WHOLE``), at most ``MOST_NODES`` of them."""
        is_whole = hops == WHOLE and self.graph.batch is not None
        if not is_whole and not 1 <= hops <= MOST_HOPS:
            raise ValueError(f"{hops} hops cannot be shown: choose 1 to {MOST_HOPS}")
        with self._turn():
            return self._neighbourhood(node, hops)

    def size(self, node: int, hops: int) -> int:
        """The number of nodes within ``hops`` hops of a node, drawn or not."""
        around = self.neighbourhood(node, hops)
        if hops == WHOLE and self.graph.batch is not None:
            return int((self.graph.batch == self.graph.batch[node]).sum())
        return len((neighbourhood(self.graph, node, hops) if around.truncated else around).nodes)

    def influence(self, number: int, node: int) -> Influence:
        """How much each node influences a node in one of the runs."""
        with self._computing():
            return self._influence(number, node)

    def attention(self, number: int, target: int, source: int) -> list[LayerAttention] | None:
        """What an edge attends to in each layer of one of the runs; None if the model is not DNA."""
        subject = self.runs[number]
        if subject.run.config.model != "dna":
            return None
        with self._computing():
            return edge_attention(subject.run.model, subject.inputs, target, source)

    def row(self, node: int) -> int:
        """The row of the labels that says something of a node."""
        return row_of(self.graph, node)

    def node_of(self, row: int) -> int:
        """The node that stands for a row: itself, or the one of a graph with the most neighbours."""
        return row if self.graph.batch is None else middle_of(self.graph, row)

    def row_name(self, row: int) -> str:
        return self.names[row] if self.graph.batch is None else str(row)

    def disagreements(self) -> np.ndarray:
        """Nodes (or graphs) for which the two runs predict different things."""
        return self.answers.disagreements()

    def mistakes(self) -> np.ndarray:
        """Nodes (or graphs) with labels, except those of training, that the first run gets wrong."""
        return self.answers.mistakes()

    def warm_up(self) -> None:
        """Do what happens only once per process before the first click, not after it."""
        node = int(self.degrees.argmin())
        for number in range(len(self.runs)):
            self.influence(number, node)
            self.attention(number, node, node)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Compute one request at a time."""
        if not self._lock.acquire(timeout=LONGEST_WAIT):
            raise TimeoutError(f"other requests have kept the page busy for {LONGEST_WAIT:g} seconds: try again")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Compute one request at a time, on one thread: the tensors are too small for several threads."""
        with self._turn():
            threads = torch.get_num_threads()
            torch.set_num_threads(1)
            try:
                yield
            finally:
                torch.set_num_threads(threads)

    def _compute_influence(self, number: int, node: int) -> Influence:
        subject = self.runs[number]
        return influence(subject.run.model, self.graph, node, inputs=subject.inputs)

    def _find_neighbourhood(self, node: int, hops: int) -> Neighbourhood:
        if hops == WHOLE:
            return whole_graph(self.graph, node, limit=MOST_NODES)
        return neighbourhood(self.graph, node, hops, limit=MOST_NODES)


def open_session(
    folders: Sequence[Path], graph: str | None, directed: bool, data_dir: Path | None, label: str | None = None
) -> Session:
    """The session of one or two run folders, on a named graph or on the dataset that the first run was trained on.

    A run may be shown on a graph that it was not trained on only if that graph is named.
    """
    session = Session(*open_subjects(folders, graph, directed, data_dir, label))
    for folder, subject in zip(folders, session.runs, strict=True):
        if subject.split is None and graph is None:
            raise RunError(
                f"{folder} was trained on other data than {session.graph.name}, or on a split of its own: "
                f"write --graph {session.graph.name} to see it on that all the same"
            )
    return session
