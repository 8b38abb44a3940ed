"""What `justjump train` says about the runs of several splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from justjump.data import Graph
from justjump.experiments.summary import Summary
from justjump.experiments.words import for_train
from justjump.train.measures import SCORE, WORDS, calibration_error, is_share, measures_of

MOST_CLASSES = 12  # in the confusion table of a terminal
NAME_WIDTH = 14


def report(graph: Graph, results: Sequence[dict[str, Any]], console: Console | None = None) -> None:
    """Print the measures over the test nodes of all splits, and which classes were taken for which."""
    console = console or Console(soft_wrap=True, highlight=False)
    score = SCORE[graph.task]
    summary = Summary.of_measure(results, score)
    digits = 1 if is_share(score) else 3
    if summary is None:
        console.print(f"{WORDS[score]}: there are no test {'nodes' if graph.batch is None else 'graphs'}")
        return
    splits = str(summary).rpartition(" (")[2]
    console.print(f"{WORDS[score]}: {summary.short(digits)} ({splits}", markup=False)
    others = []
    for measure in measures_of(graph.task):
        other = Summary.of_measure(results, measure)
        if measure != score and other is not None:
            others.append(f"{WORDS[measure]} {other.short(1 if is_share(measure) else 3)}")
    if curve := [point for result in results for point in result["calibration"] or ()]:
        others.append(f"calibration error {100 * calibration_error(curve):.1f}")
    console.print(", ".join(others), markup=False)
    if graph.task == "multiclass" and graph.num_classes <= MOST_CLASSES and all(one["confusion"] for one in results):
        counts = np.sum([one["confusion"] for one in results], axis=0)
        console.print(confusion_table(graph.class_names, counts, "nodes" if graph.batch is None else "graphs"))
    for note in dict.fromkeys(note for result in results for note in result["notes"]):
        Console(stderr=True, soft_wrap=True, highlight=False).print(for_train(note), markup=False)


def confusion_table(names: Sequence[str], counts: np.ndarray, unit: str = "nodes") -> Table:
    """Rows are the true classes, columns the predicted ones: percent of the row."""
    table = Table(title=f"test {unit} by true class (rows) and predicted class (columns), %", title_justify="left")
    table.add_column("")
    for name in names:
        table.add_column(_short(name), justify="right")
    table.add_column(unit, justify="right")
    for number, (name, row) in enumerate(zip(names, counts, strict=True)):
        total = row.sum()
        cells = [f"{100 * one / total:.0f}" if one else "·" for one in row] if total else ["-"] * len(names)
        cells[number] = f"[bold]{cells[number]}[/bold]"
        table.add_row(_short(name), *cells, f"{total:,}")
    return table


def _short(name: str) -> str:
    return (name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…").replace("[", r"\[")
