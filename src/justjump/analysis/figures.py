"""The paper's Figures 2 and 3, and how far influence reaches."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from justjump.analysis.attention_statistics import Box
from justjump.analysis.hops import Neighbourhood
from justjump.analysis.receptive_field import HELD, ReceptiveFields

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
INK, FAINT = "#222222", "#8a8a8a"
SHADES = "YlGnBu"
# Largest number of lines of a title; the rest is cut.
MOST_LINES = 3
# Distance of two numbers beside the colour bar, as a share of its length.
TICK_SPACE = 0.12


def influence_figure(
    around: Neighbourhood, shares: Sequence[np.ndarray], titles: Sequence[str], notes: Sequence[str], caption: str
) -> Figure:
    """One panel per run: the nodes around a start node (a square), coloured by their influence on it.

    Args:
        around: the nodes to draw
        shares: per run, the influence of each of these nodes ``[n]``
        titles, notes: text above and below each panel
        caption: text above all panels
    """
    from matplotlib.colors import PowerNorm

    places = layout(around)
    top = max(float(share.max()) for share in shares) or 1.0
    colours = PowerNorm(0.5, vmin=0, vmax=top)  # the many small shares would look alike on a linear scale
    panel_width = 4.6
    figure = new_figure(0.6 + panel_width * len(shares), 5.6, caption)
    panels = figure.subplots(1, len(shares), squeeze=False)[0]
    for panel, share, title, note in zip(panels, shares, titles, notes, strict=True):
        drawn = _draw_graph(panel, around, places, share, colours)
        panel.set_title(wrapped(title, panel_width, 13), fontsize=13, color=INK, pad=8, parse_math=False)
        panel.set_xlabel(wrapped(note, panel_width, 10.5), fontsize=10.5, color=INK, labelpad=8, parse_math=False)
    bar = figure.colorbar(drawn, ax=list(panels), location="bottom", fraction=0.045, pad=0.02, aspect=45, shrink=0.8)
    bar.set_label("influence on the square node", fontsize=11, color=INK)
    bar.set_ticks(share_ticks(top))
    in_percent(bar.ax.xaxis)
    bar.ax.tick_params(labelsize=10, color=FAINT)
    bar.outline.set_edgecolor(FAINT)
    return figure


def share_ticks(top: float) -> list[float]:
    """Round numbers from 0 to ``top`` that have room beside each other on a scale of square roots.

    >>> share_ticks(0.3)
    [0.0, 0.005, 0.02, 0.05, 0.1, 0.2]
    """
    ticks: list[float] = []
    place = 1 + TICK_SPACE  # of the last one, as a share of the whole scale
    for share in (digit / 10**power for power in range(8) for digit in (5, 2, 1)):
        next_place = math.sqrt(share / top)
        if TICK_SPACE <= next_place <= min(1, place - TICK_SPACE):
            ticks.append(share)
            place = next_place
    return [0.0, *reversed(ticks)]


def layout(around: Neighbourhood) -> np.ndarray:
    """Positions ``[n, 2]`` in the unit square; the same graph always gets the same positions."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(len(around.nodes)))
    graph.add_edges_from((int(a), int(b)) for a, b in around.edge_index.T if a != b)
    # Rings by distance are where the search for short springs begins.
    angle = np.linspace(0, 2 * np.pi, len(around.nodes), endpoint=False)
    rings = around.hops[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    found = nx.kamada_kawai_layout(graph, pos=dict(enumerate(rings)))
    places = np.array([found[number] for number in range(len(around.nodes))])
    size = np.ptp(places, axis=0)
    return (places - places.min(axis=0)) / np.where(size > 0, size, 1)


def _draw_graph(panel: Axes, around: Neighbourhood, places: np.ndarray, share: np.ndarray, colours: Any) -> Any:
    from matplotlib.collections import LineCollection

    ends = np.unique(np.sort(around.edge_index[:, around.edge_index[0] != around.edge_index[1]], axis=0), axis=1)
    panel.add_collection(LineCollection(list(places[ends.T]), colors="#b5b5b5", linewidths=0.9, zorder=1))
    area = float(np.clip(9000 / len(places), 45, 260))
    style: dict[str, Any] = {"cmap": SHADES, "norm": colours, "edgecolors": INK}
    order = 1 + np.argsort(share[1:], kind="stable")  # the strongest on top
    x, y = places.T
    drawn = panel.scatter(x[order], y[order], s=area, c=share[order], linewidths=0.7, zorder=2, **style)
    panel.scatter(x[:1], y[:1], s=1.5 * area, c=share[:1], marker="s", linewidths=1.8, zorder=3, **style)
    panel.set_xlim(-0.06, 1.06)
    panel.set_ylim(-0.06, 1.06)
    panel.set_aspect("equal")
    panel.set_xticks([])
    panel.set_yticks([])
    for side in panel.spines.values():
        side.set_visible(False)
    return drawn


def reach_figure(fields: Sequence[ReceptiveFields], titles: Sequence[str], caption: str) -> Figure:
    """Influence by distance, and the effective receptive fields of all nodes, with one colour per run."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    figure = new_figure(10, 4.2, caption)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    width = 0.8 / len(fields)
    for number, (field, title) in enumerate(zip(fields, titles, strict=True)):
        mean = field.by_hop.mean(axis=0)
        where = np.arange(len(mean)) + (number - (len(fields) - 1) / 2) * width
        bars = left.bar(where, mean, 0.92 * width, color=COLOURS[number], label=wrapped(title, 2.5, 10.5))
        left.bar_label(
            bars, [f"{100 * share:.{int(share < 0.01)}f}" for share in mean], fontsize=9, color=INK, padding=2
        )
    left.set_xlabel("hops from the node", fontsize=11)
    left.set_ylabel("mean share of the influence", fontsize=11)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    in_percent(left.yaxis)
    left.margins(y=0.12)
    left.legend(frameon=False, fontsize=10.5)
    boxes = right.boxplot(
        [np.maximum(field.field, 1) for field in fields],
        whis=(1, 99),
        widths=0.5,
        showfliers=False,
        patch_artist=True,
        medianprops={"color": INK, "linewidth": 1.6},
    )
    for box, colour in zip(boxes["boxes"], COLOURS, strict=False):
        box.set(facecolor=colour, edgecolor=INK, alpha=0.85)
    for number, field in enumerate(fields, 1):
        middle = float(np.median(field.field))
        right.annotate(f"{middle:.0f}", (number + 0.28, max(middle, 1)), va="center", fontsize=10, color=INK)
    names = [wrapped(title, 3.2 / len(fields), 10.5) for title in titles]
    right.set_xticks(range(1, len(fields) + 1), names, fontsize=10.5)
    right.set_yscale("log")
    # From 1 to 10 at least: the numbers of a shorter scale would not be whole.
    right.set_ylim(0.9, max(10.0, right.get_ylim()[1]))
    right.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    right.yaxis.set_minor_locator(NullLocator())
    right.yaxis.set_major_formatter(lambda nodes, _place: f"{nodes:,.0f}")
    right.set_ylabel(f"nodes that hold {HELD:.0%} of the influence", fontsize=11)
    for panel in (left, right):
        plain(panel)
    return figure


def attention_figure(panels: Sequence[tuple[str, Sequence[Box]]], caption: str) -> Figure:
    """Box plots of attention weights, one panel per title; the last box of a panel is the refused share."""
    rows = math.ceil(len(panels) / 4)
    columns = math.ceil(len(panels) / rows)
    single = len(panels) == 1
    most = max(len(boxes) for _, boxes in panels)
    panel_width = max(6.4 if single else 3.0, 0.48 * most)
    figure = new_figure(max(7.0, panel_width * columns + 0.6), 4.6 if single else 2.7 * rows + 1.0, caption)
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    top = min(1.0, 1.08 * max(max(box.high, box.mean) for _, boxes in panels for box in boxes))
    size = 9.5 if single else 7.5
    for panel, (title, boxes) in zip(grid.flat, panels, strict=False):
        panel.set_ylim(0, top)
        _draw_boxes(panel, boxes, size)
        # The largest weights stand in two lines below it.
        panel.set_title(wrapped(title, panel_width - 0.4, 11), fontsize=11, color=INK, pad=3.5 * size, parse_math=False)
        in_percent(panel.yaxis)
        plain(panel)
    for panel in grid.flat[len(panels) :]:
        panel.set_visible(False)
    figure.supylabel("attention weight", fontsize=11, color=INK)
    figure.supxlabel(
        "box: quartiles and median   whiskers: 1 % to 99 %   diamond: mean   max: largest weight",
        fontsize=9.5,
        color=FAINT,
    )
    return figure


def _draw_boxes(panel: Axes, boxes: Sequence[Box], size: float) -> None:
    statistics = [
        {"med": b.median, "q1": b.q1, "q3": b.q3, "whislo": b.low, "whishi": b.high, "mean": b.mean, "fliers": []}
        for b in boxes
    ]
    drawn = panel.bxp(
        statistics,
        widths=0.6,
        showmeans=True,
        patch_artist=True,
        medianprops={"color": INK, "linewidth": 1.6},
        meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": INK, "markersize": size / 2},
    )
    for box, numbers in zip(drawn["boxes"], boxes, strict=True):
        box.set(facecolor=COLOURS[1] if numbers.given_to is None else COLOURS[0], edgecolor=INK, alpha=0.85)
    for place, numbers in enumerate(boxes, 1):
        panel.annotate(
            f"max\n{numbers.largest:.0%}",
            (place, 1),
            (0, 3),
            xycoords=panel.get_xaxis_transform(),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=size,
            color=FAINT,
        )
    names = ["refused" if b.given_to is None else f"$h^{{({b.given_to})}}$" for b in boxes]
    panel.set_xticks(range(1, len(boxes) + 1), names, fontsize=size + 1)


def wrapped(text: str, width: float, size: float) -> str:
    """Break a text into lines of at most ``width`` inches at a font size; after ``MOST_LINES`` lines it is cut.

    >>> print(wrapped("a title of many words", width=1.2, size=12))
    a title of
    many words
    """
    letters = len(text)
    lines = [text]
    while (measured := max(_width(line, size) for line in lines)) > width and letters > 1:
        letters = min(letters - 1, math.ceil(letters * width / measured))
        lines = textwrap.wrap(text, letters, max_lines=MOST_LINES, placeholder="…")
    return "\n".join(lines)


def _width(line: str, size: float) -> float:
    """In inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    points, _, _ = text_to_path.get_text_width_height_descent(line, FontProperties(size=size), ismath=False)
    return points / 72


def in_percent(axis: Axis) -> None:
    axis.set_major_formatter(lambda share, _place: f"{100 * share:g}%")


def plain(panel: Axes) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(FAINT)
    panel.tick_params(color=FAINT, labelcolor=INK)
    panel.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    panel.set_axisbelow(True)


def new_figure(width: float, height: float, caption: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white")
    figure.set_layout_engine("constrained", h_pad=0.1)
    figure.suptitle(wrapped(caption, width - 0.3, 14), fontsize=14, color=INK, parse_math=False)
    return figure
