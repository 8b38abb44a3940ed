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
from justjump.analysis.subject import Subject, node_number, open_subjects, similar_names
from justjump.data import Graph, Split
from justjump.train import RunError
from justjump.train.loop import default_split

# Largest number of nodes to draw: more are a tangle, and slow.
MOST_NODES = 120
# Largest distance to draw.
MOST_HOPS = 3
# Seconds that a request waits for its turn to compute.
LONGEST_WAIT = 20.0
# Number of cached neighbourhoods and influences: going back to a node costs nothing.
CACHED = 256


class Session:
    """One graph and the runs on it. Methods may be called from several threads.

    Attributes:
        graph: the graph that the runs are applied to
        runs: one or two runs
        splits: per run, its training, validation and test nodes; None if it was trained on another graph or split
        confidence: per run, the probability of the predicted class ``[N]``
        names: names of the nodes, or their numbers
        handle: what identifies a node, its "name" or its "number"
        degrees: number of incoming edges ``[N]``
    """

    def __init__(self, graph: Graph, runs: Sequence[Subject]) -> None:
        self.graph = graph
        self.runs = runs
        self.class_names = runs[0].run.class_names
        if runs[-1].run.class_names != self.class_names:
            raise RunError(f"{runs[0].title} and {runs[-1].title} predict different classes: they cannot be compared")
        self.splits = [_split(graph, subject) for subject in runs]
        self.confidence = [subject.probability.max(axis=1) for subject in runs]
        self.names = [str(name) for name in graph.node_names or range(graph.num_nodes)]
        self.handle = "name" if graph.node_names else "number"
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
        found = [name for name in self.names if text in name.lower()]
        return sorted(found, key=lambda name: (not name.lower().startswith(text), len(name), name))[:limit]

    def neighbourhood(self, node: int, hops: int) -> Neighbourhood:
        """The nodes within ``hops`` hops of a node, at most ``MOST_NODES`` of them."""
        if not 1 <= hops <= MOST_HOPS:
            raise ValueError(f"{hops} hops cannot be shown: choose 1 to {MOST_HOPS}")
        with self._turn():
            return self._neighbourhood(node, hops)

    def size(self, node: int, hops: int) -> int:
        """The number of nodes within ``hops`` hops of a node, drawn or not."""
        around = self.neighbourhood(node, hops)
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

    def disagreements(self) -> np.ndarray:
        """Nodes for which the two runs predict different classes; those that both are sure of come first."""
        first, second = self.runs
        nodes = np.flatnonzero(first.predicted != second.predicted)
        return nodes[np.argsort(-np.minimum(*self.confidence)[nodes], kind="stable")]

    def mistakes(self) -> np.ndarray:
        """Labelled nodes, except training nodes, that the first run gets wrong; the surest come first."""
        subject = self.runs[0]
        nodes = np.flatnonzero((self.graph.labels >= 0) & (subject.predicted != self.graph.labels) & ~subject.trained)
        return nodes[np.argsort(-self.confidence[0][nodes], kind="stable")]

    def confusion(self, number: int) -> np.ndarray:
        """Counts of test nodes (all labelled ones if the split is unknown) by true and predicted class ``[C, C]``."""
        split = self.splits[number]
        nodes = np.flatnonzero(self.graph.labels >= 0) if split is None else split.test
        counts = np.zeros((len(self.class_names), len(self.class_names)), dtype=np.int64)
        np.add.at(counts, (self.graph.labels[nodes], self.runs[number].predicted[nodes]), 1)
        return counts

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
        return neighbourhood(self.graph, node, hops, limit=MOST_NODES)


def open_session(
    folders: Sequence[Path], graph: str | None, directed: bool, data_dir: Path | None, label: str | None = None
) -> Session:
    """The session of one or two run folders, on a named graph or on the dataset that the first run was trained on.

    A run may be shown on a graph that it was not trained on only if that graph is named.
    """
    session = Session(*open_subjects(folders, graph, directed, data_dir, label))
    for folder, split in zip(folders, session.splits, strict=True):
        if split is None and graph is None:
            raise RunError(
                f"{folder} was trained on other data than {session.graph.name}, or on a split of its own: "
                f"write --graph {session.graph.name} to see it on that all the same"
            )
    return session


def _split(graph: Graph, subject: Subject) -> Split | None:
    return default_split(graph, subject.run.protocol, subject.run.seed) if subject.trained.any() else None
