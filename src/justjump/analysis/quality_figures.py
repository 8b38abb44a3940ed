"""Pictures of how good a run is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from justjump.analysis.figures import COLOURS, FAINT, INK, in_percent, new_figure, plain, wrapped
from justjump.train.measures import calibration_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 22  # letters of a class below the picture


def confusion_figure(counts: Sequence[Sequence[int]], names: Sequence[str], caption: str) -> Figure:
    """True classes as rows, predicted ones as columns; a cell is as dark as its share of its row.

    Args:
        counts: ``[C, C]``
        names: of the C classes
        caption: text above the picture
    """
    numbers = np.asarray(counts)
    shares = numbers / np.maximum(numbers.sum(axis=1, keepdims=True), 1)
    size = max(3.2, 0.55 * len(names))
    figure = new_figure(size + 2.6, size + 1.8, caption)
    panel = figure.subplots()
    panel.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    letters = max(6.0, 11 - 0.2 * len(names))
    for row, column in np.ndindex(*numbers.shape):
        colour = "white" if shares[row, column] > 0.55 else INK if numbers[row, column] else FAINT
        panel.text(column, row, f"{numbers[row, column]:,}", ha="center", va="center", fontsize=letters, color=colour)
    plain_names = [name.replace("_", " ") for name in names]
    places = range(len(names))
    below = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in plain_names]
    panel.set_xticks(places, below, rotation=40, ha="right", rotation_mode="anchor", fontsize=10, parse_math=False)
    panel.set_yticks(places, [wrapped(name, 1.6, 10) for name in plain_names], fontsize=10, parse_math=False)
    panel.set_xlabel("predicted", fontsize=11, color=INK)
    panel.set_ylabel("true", fontsize=11, color=INK)
    panel.tick_params(length=0, labelcolor=INK)
    for side in panel.spines.values():
        side.set_visible(False)
    return figure


def calibration_figure(curve: Sequence[tuple[float, float, int]], caption: str) -> Figure:
    """The share of right predictions over the confidence, and below it how many predictions are how sure.

    Args:
        curve: what :func:`justjump.train.measures.calibration` returns
        caption: text above the picture
    """
    confidence, right, count = np.array(curve).T
    figure = new_figure(5.2, 5.6, caption)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    top.plot([0, 1], [0, 1], color=FAINT, linestyle=(0, (4, 4)), linewidth=1.2)
    top.plot(confidence, right, color=COLOURS[0], linewidth=1.8, marker="o", markersize=6)
    top.set_ylim(-0.02, 1.04)
    top.set_ylabel("share of right predictions", fontsize=11, color=INK)
    error = f"calibration error {100 * calibration_error(list(curve)):.1f} %"
    top.annotate(error, (0.97, 0.05), xycoords="axes fraction", ha="right", fontsize=11, color=INK)
    bottom.bar(np.floor(np.minimum(confidence, 0.999) * 10) / 10 + 0.05, count, 0.09, color=COLOURS[0], alpha=0.85)
    bottom.set_xlim(-0.02, 1.02)
    bottom.set_ylabel("predictions", fontsize=11, color=INK)
    bottom.set_xlabel("confidence", fontsize=11, color=INK)
    in_percent(top.yaxis)
    in_percent(bottom.xaxis)
    bottom.yaxis.set_major_formatter(lambda number, _place: f"{number:,.0f}")
    for panel in (top, bottom):
        plain(panel)
    return figure
