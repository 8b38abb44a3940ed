"""One class for each node or graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from dash import html

from justjump.analysis.explore.answers import COLOURS, Answers, Content
from justjump.analysis.explore.drawings import calibration_figure
from justjump.analysis.subject import Subject
from justjump.data import Graph
from justjump.train.evaluation import MOST_CLASSES_IN_CONFUSION
from justjump.train.measures import calibration, confusion

RING = "predicted wrongly"


def ring(words: str = RING) -> Content:
    """The mark of wrong predictions, in the legend."""
    return html.Span([html.I(className="swatch ring"), words], className="class")


class Classes(Answers):
    kind: ClassVar[tuple[str, str]] = "class", "classes"
    differing: ClassVar[str] = "disagree on"
    failing: ClassVar[str] = "gets wrong"
    order: ClassVar[str] = "the surest first"

    def __init__(self, graph: Graph, runs: Sequence[Subject]) -> None:
        super().__init__(graph, runs)
        self.colourings = {"predicted": "predicted class", "true": "true class"}

    def mark(self, number: int) -> Content:
        """A class: its colour and its name."""
        swatch, name = ("unknown", "unknown") if number < 0 else (f"class-{number % COLOURS}", self.names[number])
        return html.Span(
            [html.I(className=f"swatch {swatch}"), html.Span(name, className="class-name", title=name)],
            className="class",
        )

    def truth(self, row: int) -> Content:
        return self.mark(int(self.labels[row]))

    def opinion(self, number: int, row: int) -> Content:
        return self.mark(int(self.runs[number].predicted[row]))

    def listed(self, number: int, row: int) -> Content:
        sure = f" {self.runs[number].probability[row].max():.0%}"
        return [self.opinion(number, row), html.Span(sure, className="quiet")]

    def says(self, number: int, row: int) -> list[Content]:
        predicted, label = int(self.runs[number].predicted[row]), int(self.labels[row])
        verdict = "" if label < 0 else "right" if predicted == label else "wrong"
        return [
            self.mark(predicted),
            html.Span(f"{self.runs[number].probability[row].max():.0%} sure"),
            *([html.Span(verdict, className=f"verdict {verdict}")] if verdict else []),
        ]

    def hover(self, number: int, row: int) -> str:
        truth = f", truly {self.names[self.labels[row]]}" if self._is_wrong(number, row) else ""
        return f"{self.names[self.runs[number].predicted[row]]}{truth}"

    def marks(self, number: int, row: int) -> list[str]:
        predicted, label = int(self.runs[number].predicted[row]), int(self.labels[row])
        marks = [f"predicted-{predicted % COLOURS}", f"true-{label % COLOURS}" if label >= 0 else "true-unknown"]
        return marks + ["wrong"] * self._is_wrong(number, row)

    def levels(self, number: int, row: int) -> dict[str, float]:
        return {}

    def legend(self, colouring: str) -> list[Content]:
        marks = [self.mark(number) for number in range(len(self.names))]
        return [*([] if colouring == "influence" else marks), ring()]

    def details(self, number: int) -> list[Content]:
        what, rows = self.rows(number)
        if not len(rows):
            return []
        unit = "nodes" if self.graph.batch is None else "graphs"
        curve = calibration(self.labels[rows], self.runs[number].probability[rows])
        return [*self._matrix(self.confusion(number)), *calibration_figure(curve, f"the {what} {unit}")]

    def confusion(self, number: int) -> np.ndarray:
        """Counts of the rows that a run is judged by, by true and predicted class ``[C, C]``."""
        _, rows = self.rows(number)
        return confusion(self.labels[rows], self.runs[number].predicted[rows], len(self.names))

    def disagreements(self) -> np.ndarray:
        first, second = self.runs
        rows = np.flatnonzero(first.predicted != second.predicted)
        return np.asarray(rows[np.argsort(-np.minimum(first.confidence, second.confidence)[rows], kind="stable")])

    def mistakes(self) -> np.ndarray:
        run = self.runs[0]
        rows = np.flatnonzero(self.graph.labelled & ~run.is_right(self.labels) & ~run.trained)
        return np.asarray(rows[np.argsort(-run.confidence[rows], kind="stable")])

    def _is_wrong(self, number: int, row: int) -> bool:
        return int(self.labels[row]) not in (-1, int(self.runs[number].predicted[row]))

    def _matrix(self, counts: np.ndarray) -> list[Content]:
        """True classes as rows, predicted classes as columns; a cell is as dark as its share of its row."""
        classes = range(len(self.names))
        if len(classes) > MOST_CLASSES_IN_CONFUSION:
            return [html.P(f"A table of {len(classes)} classes by {len(classes)} would be too large to read.")]
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        head = [html.Th("true class, predicted as", scope="col"), *(self._number(c) for c in classes)]
        rows = [
            html.Tr(
                [
                    html.Th(html.Span([f"{c + 1}", self.mark(c)], className="class"), scope="row"),
                    *(
                        html.Td(
                            str(counts[c, p]),
                            className="diagonal" if c == p else None,
                            style={"--share": f"{shares[c, p]:.3f}"},
                        )
                        for p in classes
                    ),
                ]
            )
            for c in classes
        ]
        table = html.Table([html.Thead(html.Tr(head)), html.Tbody(rows)], className="confusion heat")
        return [html.Div(table, className="scroll")]

    def _number(self, c: int) -> Content:
        return html.Th(str(c + 1), scope="col", title=self.names[c])
