"""What runs say about nodes, or about graphs, and how the page shows it: one class for each task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from justjump.analysis.subject import Subject
from justjump.data import Graph

Content = Any  # a Dash component, a drawing or text
COLOURS = 16  # as many as explore.css has colours for; further classes use them again


class Answers(ABC):
    """The labels of a graph and what one or two runs predict.

    Rows are those of the labels: nodes, or graphs if these have the labels.

    Attributes:
        colourings: what nodes can be coloured by, beside the influence: an id and words for it
        kind: what is learned, one of them and several
        true_words: what a true label is called
        differing, failing: titles of the lists of :meth:`disagreements` and :meth:`mistakes`
        order: which of them come first
    """

    kind: ClassVar[tuple[str, str]]
    differing: ClassVar[str]
    failing: ClassVar[str]
    order: ClassVar[str]

    def __init__(self, graph: Graph, runs: Sequence[Subject]) -> None:
        self.graph = graph
        self.runs = runs
        self.names = runs[0].run.class_names
        self.labels = graph.labels
        self.true_words = "true class"
        self.colourings: dict[str, str] = {}

    def rows(self, number: int) -> tuple[str, np.ndarray]:
        """What a run is judged by: its test rows, or its validation rows, or all with a label; and what they are."""
        split = self.runs[number].split
        if split is None:
            return "labelled", np.flatnonzero(self.graph.labelled)
        return ("test", split.test) if len(split.test) else ("validation", split.val)

    @abstractmethod
    def truth(self, row: int) -> Content:
        """What is true of a row."""

    @abstractmethod
    def opinion(self, number: int, row: int) -> Content:
        """What a run says about a row, in a list."""

    def listed(self, number: int, row: int) -> Content:
        """What a run says about a row, in the list of mistakes."""
        return self.opinion(number, row)

    @abstractmethod
    def says(self, number: int, row: int) -> list[Content]:
        """What a run says about a row, with all that is known of it."""

    @abstractmethod
    def hover(self, number: int, row: int) -> str:
        """What a run says about a row, in a few words."""

    @abstractmethod
    def marks(self, number: int, row: int) -> list[str]:
        """Classes of the node in the drawing."""

    @abstractmethod
    def levels(self, number: int, row: int) -> dict[str, float]:
        """Numbers from 0 to 1 that the node is coloured by, for some of the colourings."""

    @abstractmethod
    def legend(self, colouring: str) -> list[Content]:
        """What the colours mean."""

    @abstractmethod
    def details(self, number: int) -> list[Content]:
        """How good a run is, beside the measures of the whole."""

    @abstractmethod
    def disagreements(self) -> np.ndarray:
        """Rows for which the two runs predict different things."""

    @abstractmethod
    def mistakes(self) -> np.ndarray:
        """Rows with a label, except those of training, that the first run gets wrong."""


def spread(values: np.ndarray) -> tuple[float, float]:
    """The range that a scale of colours covers: without the hundredth at either end, and never empty.

    >>> spread(np.array([3.0, np.nan]))
    (3.0, 4.0)
    """
    known = values[np.isfinite(values)]
    low, high = (float(end) for end in np.quantile(known, [0.01, 0.99])) if len(known) else (0.0, 1.0)
    return low, high if high > low else low + 1


def level(value: float, low: float, high: float) -> float:
    """Where a value is on a scale: 0 at its low end, 1 at its high end."""
    return round(float(np.clip((value - low) / (high - low), 0, 1)), 3)
