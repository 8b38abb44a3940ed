"""The paper's Figures 2 and 3, and how far influence reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from justjump.analysis.attention_statistics import Box
from justjump.analysis.hops import Neighbourhood
from justjump.analysis.receptive_field import HELD, ReceptiveFields

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which all kinds of colour vision tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
INK, FAINT = "#222222", "#8a8a8a"
SHADES = "YlGnBu"


def influence_figure(
    around: Neighbourhood, shares: Sequence[np.ndarray], titles: Sequence[str], notes: Sequence[str], caption: str
) -> Figure:
    """One panel a run: the nodes around a start node (a square), coloured by their influence on it.

    Args:
        around: what is drawn
        shares: for each run ``[n]`` the influence of each of its nodes
        titles, notes: above and below each panel
        caption: above all
    """
    from matplotlib.colors import PowerNorm
    from matplotlib.ticker import PercentFormatter

    places = layout(around)
    top = max(float(share.max()) for share in shares) or 1.0
    colours = PowerNorm(0.5, vmin=0, vmax=top)  # the many small shares would look alike on a linear scale
    figure = _figure(width=0.6 + 4.6 * len(shares), height=5.6)
    panels = figure.subplots(1, len(shares), squeeze=False)[0]
    for panel, share, title, note in zip(panels, shares, titles, notes, strict=True):
        drawn = _draw_graph(panel, around, places, share, colours)
        panel.set_title(title, fontsize=13, color=INK, pad=8)
        panel.set_xlabel(note, fontsize=10.5, color=INK, labelpad=8)
    bar = figure.colorbar(drawn, ax=list(panels), location="bottom", fraction=0.045, pad=0.02, aspect=45, shrink=0.8)
    bar.set_label("influence on the square node", fontsize=11, color=INK)
    bar.ax.xaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    bar.ax.tick_params(labelsize=10, color=FAINT)
    bar.outline.set_edgecolor(FAINT)
    figure.suptitle(caption, fontsize=14, color=INK)
    return figure


def layout(around: Neighbourhood) -> np.ndarray:
    """Positions ``[n, 2]`` in the unit square, the same for the same graph."""
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
    """Influence by distance, and the effective receptive field of all nodes, one colour a run."""
    from matplotlib.ticker import PercentFormatter, ScalarFormatter

    figure = _figure(width=10, height=4.2)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    width = 0.8 / len(fields)
    for number, (field, title) in enumerate(zip(fields, titles, strict=True)):
        mean = field.by_hop.mean(axis=0)
        where = np.arange(len(mean)) + (number - (len(fields) - 1) / 2) * width
        bars = left.bar(where, mean, 0.92 * width, color=COLOURS[number], label=title)
        left.bar_label(
            bars, [f"{100 * share:.{int(share < 0.01)}f}" for share in mean], fontsize=9, color=INK, padding=2
        )
    left.set_xlabel("hops from the node", fontsize=11)
    left.set_ylabel("mean share of the influence", fontsize=11)
    left.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
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
    right.set_xticks(range(1, len(fields) + 1), ["\n".join(title.rsplit(" ", 1)) for title in titles], fontsize=10.5)
    right.set_yscale("log")
    right.yaxis.set_major_formatter(ScalarFormatter())
    right.set_ylabel(f"nodes that hold {HELD:.0%} of the influence", fontsize=11)
    for panel in (left, right):
        _plain(panel)
    figure.suptitle(caption, fontsize=14, color=INK)
    return figure


def attention_figure(panels: Sequence[tuple[str, Sequence[Box]]], caption: str) -> Figure:
    """Box plots of attention weights, one panel for each title; the last box of a panel is the refused share."""
    from matplotlib.ticker import PercentFormatter

    rows = math.ceil(len(panels) / 4)
    columns = math.ceil(len(panels) / rows)
    single = len(panels) == 1
    figure = _figure(width=7.0 if single else max(7.0, 3.0 * columns + 0.6), height=4.6 if single else 2.7 * rows + 1.0)
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    top = min(1.0, 1.35 * max(box.high for _, boxes in panels for box in boxes))
    for panel, (title, boxes) in zip(grid.flat, panels, strict=False):
        panel.set_ylim(0, top)
        _draw_boxes(panel, boxes, top, small=not single)
        panel.set_title(title, fontsize=11, color=INK)
        panel.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
        _plain(panel)
    for panel in grid.flat[len(panels) :]:
        panel.set_visible(False)
    figure.supylabel("attention weight", fontsize=11, color=INK)
    figure.supxlabel(
        "box: quartiles and median   whiskers: 1 % to 99 %   diamond: mean   number: largest weight",
        fontsize=9.5,
        color=FAINT,
    )
    figure.suptitle(caption, fontsize=13, color=INK)
    return figure


def _draw_boxes(panel: Axes, boxes: Sequence[Box], top: float, small: bool) -> None:
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
        meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": INK, "markersize": 3 if small else 5},
    )
    for box, numbers in zip(drawn["boxes"], boxes, strict=True):
        box.set(facecolor=COLOURS[1] if numbers.given_to is None else COLOURS[0], edgecolor=INK, alpha=0.85)
    size = 7.5 if small else 9.5
    for place, numbers in enumerate(boxes, 1):
        panel.text(place, 0.985 * top, f"{numbers.largest:.0%}", ha="center", va="top", fontsize=size, color=FAINT)
    names = ["refused" if b.given_to is None else f"$h^{{({b.given_to})}}$" for b in boxes]
    panel.set_xticks(range(1, len(boxes) + 1), names, fontsize=8.5 if small else 11)


def _plain(panel: Axes) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(FAINT)
    panel.tick_params(color=FAINT, labelcolor=INK)
    panel.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    panel.set_axisbelow(True)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white")
    figure.set_layout_engine("constrained", h_pad=0.1)
    return figure
