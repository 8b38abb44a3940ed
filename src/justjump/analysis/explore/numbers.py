"""One or more numbers for each node or graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from dash import html

from justjump.analysis.explore.answers import Answers, Content, level, spread
from justjump.analysis.explore.drawings import scatter_figure
from justjump.analysis.explore.tables import measures_by_column
from justjump.analysis.subject import Subject, middle_of
from justjump.analysis.summaries import label_words, shown_number
from justjump.data import Graph
from justjump.train.measures import OF_NUMBERS

DRAWN = 4  # targets with a figure of their own


class Numbers(Answers):
    kind: ClassVar[tuple[str, str]] = "target", "targets"
    differing: ClassVar[str] = "differ on the most"
    failing: ClassVar[str] = "is furthest off for"
    order: ClassVar[str] = "the largest differences first"

    def __init__(self, graph: Graph, runs: Sequence[Subject]) -> None:
        super().__init__(graph, runs)
        self.true_words = f"true {self.names[0]}" if len(self.names) == 1 else "true"
        self.ranges, self.largest_error = [], []  # per target, of all numbers and of all errors
        for k, name in enumerate(self.names):
            of = f" {name}" if len(self.names) > 1 else ""
            self.colourings |= {
                f"predicted_{k}": f"predicted{of}",
                f"true_{k}": f"true{of}",
                f"error_{k}": f"error{of}",
            }
            predicted = [run.predicted[:, k] for run in runs]
            self.ranges.append(spread(np.concatenate([self.labels[:, k], *predicted])))
            self.largest_error.append(spread(np.abs(np.stack(predicted) - self.labels[:, k]))[1])

    def truth(self, row: int) -> Content:
        return html.Span(label_words(self.graph, self.labels[row]))

    def opinion(self, number: int, row: int) -> Content:
        return html.Span(label_words(self.runs[number].run, self.runs[number].predicted[row]))

    def listed(self, number: int, row: int) -> Content:
        return self.hover(number, row)

    def says(self, number: int, row: int) -> list[Content]:
        return [html.Span(self._says(number, row, k), className="label") for k in range(len(self.names))]

    def hover(self, number: int, row: int) -> str:
        return ", ".join(self._says(number, row, k) for k in range(len(self.names)))

    def _says(self, number: int, row: int, k: int) -> str:
        predicted, true = float(self.runs[number].predicted[row, k]), float(self.labels[row, k])
        name = f"{self.names[k]} " if len(self.names) > 1 else ""
        if np.isnan(true):
            return f"{name}{shown_number(predicted)}"
        off = predicted - true
        return f"{name}{shown_number(predicted)}, {shown_number(abs(off))} too {'high' if off > 0 else 'low'}"

    def marks(self, number: int, row: int) -> list[str]:
        return []

    def levels(self, number: int, row: int) -> dict[str, float]:
        found = {}
        for k in range(len(self.names)):
            predicted, true = float(self.runs[number].predicted[row, k]), float(self.labels[row, k])
            found[f"predicted_{k}"] = level(predicted, *self.ranges[k])
            if not np.isnan(true):
                found[f"true_{k}"] = level(true, *self.ranges[k])
                found[f"error_{k}"] = level(abs(predicted - true), 0, self.largest_error[k])
        return found

    def legend(self, colouring: str) -> list[Content]:
        if colouring == "influence":
            return []
        kind, k = colouring.split("_")[0], int(colouring.split("_")[1])
        low, high = (0.0, self.largest_error[k]) if kind == "error" else self.ranges[k]
        ramp = html.I(className=f"ramp {'error' if kind == 'error' else 'value'}")
        scale = html.Span([shown_number(low), ramp, f"{shown_number(high)} and more"], className="class")
        return [scale, html.Span(f"{kind}{' of' * (kind == 'error')} {self.names[k]}", className="quiet")]

    def details(self, number: int) -> list[Content]:
        _, rows = self.rows(number)
        if not len(rows):
            return []
        labels, predicted = self.labels[rows], self.runs[number].predicted[rows]
        nodes = rows.tolist() if self.graph.batch is None else [middle_of(self.graph, row) for row in rows.tolist()]
        figures = [
            figure
            for k in range(min(DRAWN, len(self.names)))
            for figure in scatter_figure(labels[:, k], predicted[:, k], nodes, self.names[k])
        ]
        if len(self.names) == 1:
            return figures
        return [measures_by_column("regression", self.names, labels, predicted, OF_NUMBERS, "target"), *figures]

    def disagreements(self) -> np.ndarray:
        first, second = self.runs
        return np.argsort(-self._off(first.predicted, second.predicted), kind="stable")

    def mistakes(self) -> np.ndarray:
        off = np.where(self.runs[0].trained | ~self.graph.labelled, -1, self._off(self.runs[0].predicted, self.labels))
        return np.argsort(-off, kind="stable")[: int((off > 0).sum())]

    def _off(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The mean distance of known numbers, each target in units of its range ``[N]``."""
        ranges = np.array([high - low for low, high in self.ranges])
        off = np.abs(first - second) / ranges
        return np.asarray(np.nansum(off, axis=1) / np.maximum((~np.isnan(off)).sum(axis=1), 1))
