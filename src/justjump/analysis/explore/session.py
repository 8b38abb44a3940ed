"""What the page shows: one graph, one or two runs on it, and what they compute for a node or an edge."""

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

# More nodes than this are a ball of wool, and slow to draw.
MOST_NODES = 120
# Neighbourhoods and influences that are kept, so that going back to a node costs nothing.
KEPT = 256


class Session:
    """One graph and the runs on it. Methods may be called from several threads.

    Attributes:
        graph: what the runs are applied to
        runs: one or two of them
        splits: the nodes each was trained and tested on; None if the graph is not the one it was trained on
        confidence: of each, the probability of the predicted class ``[N]``
        names: of the nodes, or their numbers
        handle: what a node is called by, its "name" or its "number"
        degrees: number of incoming edges ``[N]``
    """

    def __init__(self, graph: Graph, runs: Sequence[Subject]) -> None:
        self.graph = graph
        self.runs = runs
        self.class_names = runs[0].run.class_names
        if runs[-1].run.class_names != self.class_names:
            raise RunError(f"{runs[0].title} and {runs[-1].title} tell different classes apart: compare two like runs")
        self.splits = [_split(graph, subject) for subject in runs]
        self.confidence = [subject.probability.max(axis=1) for subject in runs]
        self.names = [str(name) for name in graph.node_names or range(graph.num_nodes)]
        self.handle = "name" if graph.node_names else "number"
        self.degrees = np.bincount(graph.edge_index[1], minlength=graph.num_nodes)
        self._lock = Lock()
        self._influence = lru_cache(KEPT)(self._compute_influence)
        self._neighbourhood = lru_cache(KEPT)(self._find_neighbourhood)

    def find(self, text: str) -> int | None:
        """The node of this name or number."""
        return node_number(self.graph, text.strip())

    def similar(self, text: str) -> list[str]:
        """Names that one may have meant by the text."""
        return self.suggestions(text, 3) or similar_names(self.graph, text.strip())

    def suggestions(self, text: str, limit: int = 8) -> list[str]:
        """Names that contain the text in any case, those that begin with it first."""
        text = text.strip().lower()
        if not text:
            return []
        found = [name for name in self.names if text in name.lower()]
        return sorted(found, key=lambda name: (not name.lower().startswith(text), len(name), name))[:limit]

    def neighbourhood(self, node: int, hops: int) -> Neighbourhood:
        """The nodes within some hops of a node, at most ``MOST_NODES`` of them."""
        with self._lock:
            return self._neighbourhood(node, hops)

    def size(self, node: int, hops: int) -> int:
        """How many nodes are within some hops of a node, drawn or not."""
        around = self.neighbourhood(node, hops)
        return len((neighbourhood(self.graph, node, hops) if around.truncated else around).nodes)

    def influence(self, number: int, node: int) -> Influence:
        """How much every node around counts for a node in one of the runs."""
        with self._computing():
            return self._influence(number, node)

    def attention(self, number: int, target: int, source: int) -> list[LayerAttention] | None:
        """What an edge attends to in each layer of one of the runs; None where the model has no such attention."""
        subject = self.runs[number]
        if subject.run.config.model != "dna":
            return None
        with self._computing():
            return edge_attention(subject.run.model, subject.inputs, target, source)

    def disagreements(self) -> np.ndarray:
        """Nodes that the two runs put in different classes, those that both are sure of first."""
        first, second = self.runs
        nodes = np.flatnonzero(first.predicted != second.predicted)
        return nodes[np.argsort(-np.minimum(*self.confidence)[nodes], kind="stable")]

    def mistakes(self) -> np.ndarray:
        """Labelled nodes that the first run puts in the wrong class, but for its training nodes, the surest first."""
        subject = self.runs[0]
        nodes = np.flatnonzero((self.graph.labels >= 0) & (subject.predicted != self.graph.labels) & ~subject.trained)
        return nodes[np.argsort(-self.confidence[0][nodes], kind="stable")]

    def confusion(self, number: int) -> np.ndarray:
        """Test nodes (all labelled ones where the split is not known) by true and predicted class ``[C, C]``."""
        split = self.splits[number]
        nodes = np.flatnonzero(self.graph.labels >= 0) if split is None else split.test
        counts = np.zeros((len(self.class_names), len(self.class_names)), dtype=np.int64)
        np.add.at(counts, (self.graph.labels[nodes], self.runs[number].predicted[nodes]), 1)
        return counts

    def warm_up(self) -> None:
        """What a process does once, on its first influence and attention, is done before the first click."""
        node = int(self.degrees.argmin())
        for number in range(len(self.runs)):
            self.influence(number, node)
            self.attention(number, node, node)

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """One request at a time, on one thread: its tensors are small, and threads would wait for each other."""
        with self._lock:
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


def open_session(folders: Sequence[Path], graph: str | None, directed: bool, data_dir: Path | None) -> Session:
    """The session of one or two run folders, on a named graph or on the dataset that the first was trained on.

    Only a graph that is named may be another one than a run was trained on.
    """
    session = Session(*open_subjects(folders, graph, directed, data_dir))
    for folder, split in zip(folders, session.splits, strict=True):
        if split is None and graph is None:
            raise RunError(
                f"{folder} was trained on other data than {session.graph.name}, or on a split of its own: "
                f"write --graph {session.graph.name} to see it on that all the same"
            )
    return session


def _split(graph: Graph, subject: Subject) -> Split | None:
    return default_split(graph, subject.run.protocol, subject.run.seed) if subject.trained.any() else None
