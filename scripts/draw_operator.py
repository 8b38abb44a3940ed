"""Draw docs/images/operator.svg: what the edges of one node attend to in a DNA layer.

python scripts/draw_operator.py [FILE]
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path as Curve

from justjump.ops import restricted_softmax

FILE = Path(__file__).parents[1] / "docs" / "images" / "operator.svg"

INK, QUIET, LINE = "#1f2933", "#66727f", "#c3ccd5"
STEPS = ("#2a9d8f", "#e0a030", "#d1495b")  # one colour for each former representation
REFUSED = "#8a95a1"

# Scores of the query with each key, and what comes of them in words.
EDGES = [
    (r"$w_1$", [2.9, 0.4, -0.9], "jumps back: details of the neighbour itself"),
    (r"$w_2$", [-1.1, 0.3, 2.8], "takes the latest: what lies two hops behind it"),
    (r"$w_3$", [-2.6, -2.2, -2.9], "refuses: next to nothing arrives"),
    (r"$v$", [1.1, 1.6, 0.6], "its own past, by the self-loop"),
]
COLUMNS = (2.05, 3.45, 4.85)
NONE = 6.45
MESSAGE = 7.35
BOX = (1.05, 0.74)
BAND = 0.32  # width of a message that nothing is refused of
TARGET = (13.1, 3.28)


def row_height(row: int) -> float:
    return 4.93 - 1.1 * row


def draw() -> Figure:
    figure = Figure(figsize=(13.6, 7.0), facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, 14.2)
    ax.set_ylim(0, 7.3)
    ax.set_aspect("equal")
    ax.axis("off")
    draw_headings(ax)
    shares = [restricted_softmax(torch.tensor(scores)).tolist() for _, scores, _ in EDGES]
    arrival = TARGET[1] + BAND * sum(map(sum, shares)) / 2
    for row, ((name, _, words), share) in enumerate(zip(EDGES, shares, strict=True)):
        draw_edge(ax, row, name, words, share)
        draw_message(ax, row_height(row), arrival, share)
        arrival -= BAND * sum(share)
    draw_target(ax)
    draw_equations(ax)
    return figure


def draw_headings(ax: Axes) -> None:
    left, right = COLUMNS[0] - BOX[0] / 2, COLUMNS[-1] + BOX[0] / 2
    ax.add_patch(rounded(left, 6.52, right - left, 0.5, INK, INK))
    ax.text((left + right) / 2, 6.76, r"query of $v$:  $q = h_v^{(2)}\,\Theta_Q$", color="white", size=14, **CENTRE)
    headings = (r"$h_w^{(0)}$", r"$h_w^{(1)}$", r"$h_w^{(2)}$")
    for x, heading, words, color in zip(COLUMNS, headings, ("itself", "1 hop", "2 hops"), STEPS, strict=True):
        ax.add_patch(arrow((x, 6.52), (x, 6.22), QUIET, 1.2))
        ax.text(x, 5.98, heading, color=color, size=16, **CENTRE)
        ax.text(x, 5.63, words, color=QUIET, size=11, **CENTRE)
    ax.text(NONE, 5.98, "none", color=QUIET, size=14, style="italic", **CENTRE)
    ax.text(NONE, 5.63, "a fixed score of 0", color=QUIET, size=11, **CENTRE)


def draw_edge(ax: Axes, row: int, name: str, words: str, share: list[float]) -> None:
    y = row_height(row)
    circle(ax, (0.75, y), 0.33, name)
    ax.plot([1.14, COLUMNS[0] - BOX[0] / 2 - 0.06], [y, y], color=LINE, lw=1.5, zorder=1)
    for x, part, color in zip(COLUMNS, share, STEPS, strict=True):
        gauge(ax, x, y, part, color)
    gauge(ax, NONE, y, 1 - sum(share), REFUSED, dashed=True)
    ax.text(MESSAGE, y + 0.37, words, color=INK, size=11.5, ha="left", va="center", zorder=6)


def draw_message(ax: Axes, y: float, arrival: float, share: list[float]) -> None:
    """Bands from an edge to the sum, each as wide as the share of its representation."""
    start = y + BAND * sum(share) / 2
    bend, end = MESSAGE + 3.1, TARGET[0]
    middle = (bend + end) / 2
    for part, color in zip(share, STEPS, strict=True):
        width = BAND * part
        top = [(MESSAGE, start), (bend, start), (middle, start), (middle, arrival), (end, arrival)]
        bottom = [(x, y - width) for x, y in reversed(top)]
        codes = [Curve.LINETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
        back = [Curve.LINETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4, Curve.LINETO]
        outline = Curve([*top, *bottom], [Curve.MOVETO, *codes, *back])
        ax.add_patch(PathPatch(outline, facecolor=color, alpha=0.85, lw=0, zorder=2))
        start, arrival = start - width, arrival - width


def draw_target(ax: Axes) -> None:
    x, y = TARGET
    circle(ax, TARGET, 0.72, r"$h_v^{(3)}$", size=21)
    ax.text(x, y - 1.0, "normalised sum", color=QUIET, size=11, **CENTRE)
    ax.text(x, y - 1.25, "over the edges", color=QUIET, size=11, **CENTRE)


def draw_equations(ax: Axes) -> None:
    share, none = r"$\dfrac{\exp(x_i)}{1 + \Sigma_j \exp(x_j)}$", r"$\dfrac{1}{1 + \Sigma_j \exp(x_j)}$"
    ax.text(COLUMNS[1], 0.62, r"share of $h_w^{(i)}$  =  " + share, color=INK, size=14, **CENTRE)
    ax.text(NONE, 0.62, none, color=QUIET, size=14, **CENTRE)
    score = r"score  $x_i = q \cdot h_w^{(i)}\,\Theta_K \,/\, \sqrt{d}$"
    message = r"message  $h_{v \leftarrow w}^{(3)} = \Sigma_i$ share $\times\; h_w^{(i)}\,\Theta_V$"
    for y, text in ((6.76, score), (5.98, message)):
        ax.text(MESSAGE, y, text, color=INK, size=14, ha="left", va="center")


CENTRE: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 6}


def gauge(ax: Axes, x: float, y: float, share: float, color: str, dashed: bool = False) -> None:
    """A box that is filled as high as the share."""
    width, height = BOX
    left, bottom = x - width / 2, y - height / 2
    frame = rounded(left, bottom, width, height, "white", color)
    frame.set_linestyle((0, (3, 2)) if dashed else "-")
    ax.add_patch(frame)
    level = Rectangle(
        (left, bottom), width, height * share, color=color, alpha=0.45 if dashed else 0.75, lw=0, zorder=4
    )
    ax.add_patch(level)
    level.set_clip_path(frame)
    ax.text(x, y, f"{100 * share:.0f} %", color=INK, size=13, weight="bold" if share > 0.5 else "normal", **CENTRE)


def circle(ax: Axes, centre: tuple[float, float], radius: float, text: str, size: float = 16) -> None:
    ax.add_patch(Circle(centre, radius, facecolor="white", edgecolor=INK, lw=1.8, zorder=5))
    ax.text(*centre, text, color=INK, size=size, **CENTRE)


def rounded(left: float, bottom: float, width: float, height: float, face: str, edge: str) -> FancyBboxPatch:
    style = "round,pad=0,rounding_size=0.12"
    return FancyBboxPatch((left, bottom), width, height, style, facecolor=face, edgecolor=edge, lw=1.6, zorder=3)


def arrow(start: tuple[float, float], end: tuple[float, float], color: str, width: float) -> FancyArrowPatch:
    return FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=10, color=color, lw=width, zorder=2)


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    # Text as outlines: the same in every browser. A fixed salt: the same file from every run.
    style: dict[Any, Any] = {"svg.fonttype": "path", "svg.hashsalt": "justjump"}
    style |= {"mathtext.fontset": "cm", "font.family": "DejaVu Sans"}
    with mpl.rc_context(style):
        draw().savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None, dpi=110)


if __name__ == "__main__":
    main()
