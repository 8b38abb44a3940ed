"""Table 1 as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from justjump.experiments import paper
from justjump.experiments.table1 import Cell, title
from justjump.train import RunError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Two colours that colour-blind readers can tell apart (Okabe and Ito).
OURS, PAPER = "#0072B2", "#E69F00"


def draw(cells: Sequence[Cell]) -> Figure:
    """One panel per dataset, with the paper's and our accuracies and their error bars."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D
    except ImportError as error:
        raise RunError("the picture needs matplotlib: pip install 'justjump[analysis]'") from error
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    models = [model for model in paper.MODELS if any(cell.model == model for cell in cells)]
    columns = min(4, len(datasets))
    rows = math.ceil(len(datasets) / columns)
    figure = Figure(figsize=(1.2 + 3.1 * columns, 1.1 + (0.9 + 0.26 * len(models)) * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).flat
    for dataset, panel in zip(datasets, panels, strict=False):
        for shift, colour, marker, label in ((-0.14, PAPER, "s", "paper"), (0.14, OURS, "o", "justjump")):
            for cell in (cell for cell in cells if cell.dataset == dataset):
                figure_of = cell.paper if label == "paper" else cell.ours
                if figure_of is None:
                    continue
                place = models.index(cell.model) + shift
                panel.errorbar(
                    figure_of.mean,
                    place,
                    xerr=figure_of.std or 0.0,
                    fmt=marker,
                    color=colour,
                    markersize=4.5,
                    capsize=2,
                )
        panel.set_title(paper.DATASETS[dataset].title, fontsize=11)
        panel.set_yticks(range(len(models)), [title(model) for model in models])
        panel.set_ylim(len(models) - 0.5, -0.5)
        panel.grid(axis="x", alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
        if not any(cell.ours for cell in cells if cell.dataset == dataset):
            panel.text(0.5, 0.04, "not run", transform=panel.transAxes, ha="center", color="0.4")
    for panel in panels:  # left over in the last row
        panel.set_axis_off()
    marks = [Line2D([], [], color=PAPER, marker="s"), Line2D([], [], color=OURS, marker="o")]
    figure.legend(marks, ["paper", "justjump"], loc="outside upper center", ncols=2, frameon=False)
    space = "\n" if columns == 1 else " "  # one panel is narrower than the line
    figure.supxlabel(f"test accuracy in percent,{space}mean and standard deviation over splits", fontsize=10)
    return figure
