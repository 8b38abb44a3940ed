"""Draw docs/images/speed.png: how many times as fast as PyTorch Geometric each case of the bench was, run by run.

python scripts/draw_speed.py [FILE]

The runs stand in results/speed.csv, to which `justjump bench --csv results/speed.csv` adds one.
"""

import csv
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from justjump.bench.cases import CASES, Case
from justjump.experiments.paper import DATASETS

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "results" / "speed.csv"
FILE = ROOT / "docs" / "images" / "speed.png"

INK, QUIET, LINE, FIELD = "#1f2933", "#66727f", "#c3ccd5", "#f3f5f7"
# By how the kind of a case begins: the colour, and the ratios that the row of pictures shows.
KINDS = {"DNA layer": ("#2a9d8f", 20, 300), "DNA step": ("#d1495b", 20, 300), "G": ("#4a6fa5", 1.3, 35)}
KEPT, SYNTHETIC = "keep-memory", "synthetic"  # words of a note
TICKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300)
APART = 0.15  # of the height of a picture: two labels that are closer would lie on each other


@dataclass
class Run:
    """The ratios of one run by case, and where the run stands: days side by side, the runs of a day in their order."""

    day: str
    note: str
    ratios: dict[str, float] = field(default_factory=dict)
    x: float = 0.0


def read_runs(path: Path) -> list[Run]:
    """Runs on the real datasets with two threads; one ends where date, commit or note change, or a case comes again."""
    runs: list[Run] = []
    key = None
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
        if SYNTHETIC in row["note"] or row["threads"] not in ("", "2"):
            continue
        if key != (row["date"], row["commit"], row["note"]) or row["case"] in runs[-1].ratios:
            key = (row["date"], row["commit"], row["note"])
            runs.append(Run(row["date"], row["note"]))
        runs[-1].ratios[row["case"]] = float(row["ratio"])
    days = sorted({run.day for run in runs})
    total, seen = Counter(run.day for run in runs), Counter[str]()
    for run in runs:
        run.x = days.index(run.day) + (seen[run.day] + 0.5) / total[run.day]
        seen[run.day] += 1
    return runs


def draw(runs: list[Run]) -> Figure:
    rows = [[case for case in CASES if CASES[case].kind.startswith(kind)] for kind in KINDS]
    columns = max(map(len, rows))
    figure = Figure(figsize=(16, 9), facecolor="white")
    grid = figure.add_gridspec(
        len(rows), columns, left=0.05, right=0.985, top=0.82, bottom=0.05, hspace=0.56, wspace=0.14
    )
    for line, (names, (color, low, high)) in enumerate(zip(rows, KINDS.values(), strict=True)):
        for column, name in enumerate(names):
            ax = figure.add_subplot(grid[line, column])
            ax.set_yscale("log")
            ratios = [run.ratios[name] for run in runs if name in run.ratios]
            ax.set_ylim(min([low, *ratios]) / 1.1, max([high, *ratios]) * 1.1)
            draw_case(ax, name, runs, color)
            ax.tick_params(labelleft=column == 0)
    figure.text(0.05, 0.945, "How many times as fast as PyTorch Geometric", color=INK, size=25, weight="bold")
    subtitle = (
        "One layer forward and backward, or a whole training step; both sides in turn on the same two cores, log scale"
    )
    figure.text(0.05, 0.905, subtitle, color=QUIET, size=14)
    draw_legend(figure.add_subplot(grid[2, 3:]))
    return figure


def draw_case(ax: Axes, name: str, runs: list[Run], color: str) -> None:
    days = sorted({run.day for run in runs})
    measured = [run for run in runs if name in run.ratios]
    plain = [run for run in measured if not run.note]
    kept = [run for run in measured if KEPT in run.note]
    other = [run for run in measured if run.note and KEPT not in run.note]
    ends = ((plain, color, 15), (kept, QUIET, 11))
    bar = CASES[name].bar
    if bar:
        ax.plot([0, len(days)], [bar, bar], color=INK, lw=1, ls=(0, (4, 3)), zorder=1)
    for series, shade, width in ((kept, QUIET, 1.3), (plain, color, 2.6)):
        ax.plot([r.x for r in series], [r.ratios[name] for r in series], "-o", color=shade, lw=width, ms=2.2 * width)
    ax.plot([r.x for r in other], [r.ratios[name] for r in other], "o", mfc="white", mec=color, mew=1.2, ms=5, zorder=3)
    write_last(ax, len(days), [(line[-1].ratios[name], shade, size) for line, shade, size in ends if line])
    ax.set_xlim(0, len(days) * 1.3)  # room for the last values
    for day in range(len(days)):
        ax.axvspan(day, day + 1, color=FIELD if day % 2 == 0 else "white", lw=0, zorder=0)
    ax.yaxis.set_major_locator(FixedLocator(TICKS))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:.0f}x"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xticks([day + 0.5 for day in range(len(days))], [f"{date.fromisoformat(day):%-d\n%b}" for day in days])
    ax.tick_params(length=0, labelcolor=QUIET, labelsize=10)
    ax.grid(axis="y", color=LINE, lw=0.5)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    ax.set_title(title(CASES[name]), loc="left", color=INK, size=12, weight="bold", pad=22)
    ax.text(0, 1.04, sizes(CASES[name]), transform=ax.transAxes, color=QUIET, size=11)


def write_last(ax: Axes, x: float, ratios: list[tuple[float, str, float]]) -> None:
    """Write (ratio, colour, size) at the end of its line, below the one before where they would lie on each other."""
    low, high = ax.get_ylim()
    apart = (high / low) ** APART
    above = None
    for ratio, color, size in ratios:
        y = ratio if above is None or max(above / ratio, ratio / above) >= apart else above / apart
        text = f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.1f}x"
        ax.text(1.03 * x, y, text, color=color, size=size, weight="bold", va="center")
        above = y


def title(case: Case) -> str:
    dataset = DATASETS[case.dataset].title.replace("Amazon ", "").replace("Coauthor ", "")
    kind = case.kind.replace("DNA layer (edge_index)", "Drop-in").replace("(adj_t)", "adj_t")
    return f"{kind}, {dataset}"


def sizes(case: Case) -> str:
    return case.name.split(", ")[-1]


def draw_legend(ax: Axes) -> None:
    ax.set_xlim(0, 10)
    ax.set_ylim(0, 4)
    ax.axis("off")
    color, *_ = KINDS["DNA layer"]
    ax.plot([0.4, 1.0, 1.6], [3.5] * 3, "-o", color=color, lw=2.6, ms=5.7)
    ax.plot([1.0], [2.5], "o", mfc="white", mec=color, mew=1.2, ms=6)
    ax.plot([0.4, 1.0, 1.6], [1.5] * 3, "-o", color=QUIET, lw=1.3, ms=2.9)
    ax.plot([0.4, 1.6], [0.5] * 2, color=INK, lw=1, ls=(0, (4, 3)))
    texts = (
        "full run, each side as its users get it",
        "other runs: Cora alone, a busy machine,\nsteps that compute all nodes",
        "both sides with an allocator that keeps its pages",
        "the ratio we set out for",
    )
    for y, text in zip((3.5, 2.5, 1.5, 0.5), texts, strict=True):
        ax.text(2.0, y, text, color=INK, size=13, va="center")


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    with mpl.rc_context({"font.family": "DejaVu Sans"}):
        draw(read_runs(RUNS)).savefig(file, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
