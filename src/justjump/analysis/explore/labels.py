"""Several labels for each node or graph, each of them there or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from dash import html

from justjump.analysis.explore.answers import Answers, Content, level
from justjump.analysis.explore.classes import ring
from justjump.analysis.explore.drawings import calibration_figure
from justjump.analysis.explore.tables import measures_by_column
from justjump.analysis.subject import Subject
from justjump.analysis.summaries import label_words
from justjump.data import Graph
from justjump.experiments.words import count
from justjump.train.measures import calibration

OF_A_LABEL = ("roc_auc", "average_precision", "macro_f1")
LISTED = 12  # labels that are listed with their probabilities


class Labels(Answers):
    kind: ClassVar[tuple[str, str]] = "label", "labels"
    differing: ClassVar[str] = "disagree on"
    failing: ClassVar[str] = "gets wrong"
    order: ClassVar[str] = "most wrong labels first"

    def __init__(self, graph: Graph, runs: Sequence[Subject]) -> None:
        super().__init__(graph, runs)
        single = {f"label_{k}": f"probability of {name}" for k, name in enumerate(self.names)}
        self.colourings = {"wrong_labels": "wrong labels", **single}
        self.true_words = "true labels"
        known = ~np.isnan(self.labels)
        # Per run, how many known labels it gets wrong, int [N].
        self.wrong = [((run.predicted != self.labels) & known).sum(axis=1) for run in runs]
        self.most_wrong = max(1, *(int(wrong.max(initial=0)) for wrong in self.wrong))

    def truth(self, row: int) -> Content:
        return html.Span(label_words(self.graph, self.labels[row]))

    def opinion(self, number: int, row: int) -> Content:
        run = self.runs[number]
        return html.Span(label_words(run.run, run.predicted[row].astype(float)))

    def listed(self, number: int, row: int) -> Content:
        wrong = f" {self.wrong[number][row]} wrong" if self.wrong[number][row] else ""
        return [self.opinion(number, row), html.Span(wrong, className="quiet")]

    def says(self, number: int, row: int) -> list[Content]:
        """Every label with its probability, those with the highest first; wrong ones are marked."""
        run, labels = self.runs[number], self.labels[row]
        order = np.argsort(-run.probability[row], kind="stable")
        marks = []
        for k in order[:LISTED].tolist():
            verdict = "" if np.isnan(labels[k]) else "right" if labels[k] == run.predicted[row, k] else "wrong"
            text = f"{self.names[k]} {run.probability[row, k]:.0%}"
            parts: list[Content] = [f"{text} ", html.B(verdict)] if verdict else [text]
            marks.append(html.Span(parts, className=f"label {verdict}"))
        more = len(order) - LISTED
        return [*marks, *([html.Span(f"{more} more, less likely")] if more > 0 else [])]

    def hover(self, number: int, row: int) -> str:
        run, wrong = self.runs[number], int(self.wrong[number][row])
        said = label_words(run.run, run.predicted[row].astype(float))
        return f"{said}, {count(wrong, 'label')} wrong" if wrong else said

    def marks(self, number: int, row: int) -> list[str]:
        return ["wrong"] if self.wrong[number][row] else []

    def levels(self, number: int, row: int) -> dict[str, float]:
        found = {f"label_{k}": round(float(p), 3) for k, p in enumerate(self.runs[number].probability[row])}
        if self.graph.labelled[row]:
            found["wrong_labels"] = level(float(self.wrong[number][row]), 0, self.most_wrong)
        return found

    def legend(self, colouring: str) -> list[Content]:
        some = ring("some label is wrong")
        if colouring == "influence":
            return [some]
        if colouring == "wrong_labels":
            ramp: list[Content] = ["0", html.I(className="ramp error"), f"{self.most_wrong} wrong labels"]
        else:
            ramp = ["0 %", html.I(className="ramp value"), f"100 %, {self.colourings[colouring]}"]
        return [html.Span(ramp, className="class"), some]

    def details(self, number: int) -> list[Content]:
        what, rows = self.rows(number)
        if not len(rows):
            return []
        unit = "nodes" if self.graph.batch is None else "graphs"
        labels, probability = self.labels[rows], self.runs[number].probability[rows]
        right = float((self.wrong[number][rows] == 0).mean())
        return [
            html.P(f"All known labels are right for {right:.1%} of the {len(rows):,} {what} {unit}."),
            measures_by_column("multilabel", self.names, labels, probability, OF_A_LABEL, "label"),
            *calibration_figure(calibration(labels, probability), f"the labels of the {what} {unit}"),
        ]

    def disagreements(self) -> np.ndarray:
        first, second = self.runs
        differing = (first.predicted != second.predicted).sum(axis=1)
        rows = np.flatnonzero(differing)
        return np.asarray(rows[np.argsort(-differing[rows], kind="stable")])

    def mistakes(self) -> np.ndarray:
        wrong = self.wrong[0] * ~self.runs[0].trained
        rows = np.flatnonzero(wrong)
        return np.asarray(rows[np.argsort(-wrong[rows], kind="stable")])
