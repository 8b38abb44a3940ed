"""Table 1 of the paper beside our own results, for the terminal and as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.table import Table

from justjump.experiments import paper
from justjump.experiments.summary import Summary
from justjump.experiments.words import count, percent

COLUMNS = (
    "dataset",
    "model",
    "accuracy_mean",
    "accuracy_std",
    "paper_mean",
    "paper_std",
    "splits",
    "config",
    "seconds",
)


def title(model: str) -> str:
    """A row of Table 1 as the paper names it.

    >>> title("gcn-lstm"), title("dna-g8")
    ('GCN JK-LSTM', 'DNA g=8')
    """
    kind, variant = model.split("-")
    if kind == "dna":
        return f"DNA g={variant[1:]}"
    return f"{kind.upper()} JK-{variant.upper() if variant == 'lstm' else variant.capitalize()}"


@dataclass(frozen=True)
class Cell:
    """One cell: the paper's figure, ours, and the time spent on it.

    ``why_not`` says why we have no figure, ``asked`` is the number of splits that ours should have, and ``stuck`` the
    seeds of those that never left the plateau on which training starts.
    """

    dataset: str
    model: str
    ours: Summary | None
    seconds: float = 0.0
    why_not: str = "not run"
    asked: int = paper.SPLITS
    stuck: tuple[int, ...] = ()

    @property
    def paper(self) -> paper.Accuracy:
        return paper.TABLE1[self.model][self.dataset]

    @property
    def notation(self) -> str:
        return paper.published(self.model, self.dataset).notation

    @property
    def difference(self) -> float | None:
        return None if self.ours is None else self.ours.mean - self.paper.mean

    @property
    def within_spread(self) -> bool:
        """Within one standard deviation of the paper, or within the standard error of the difference."""
        if self.ours is None or self.difference is None:
            return False
        error = math.hypot(
            (self.ours.std or 0.0) / math.sqrt(self.ours.splits), self.paper.std / math.sqrt(paper.SPLITS)
        )
        return abs(self.difference) <= max(self.paper.std, error)

    @property
    def close(self) -> bool:
        """Within one point, or two standard deviations of the paper."""
        return self.difference is not None and abs(self.difference) <= max(1.0, 2 * self.paper.std)

    @property
    def verdict(self) -> str:
        if self.ours is None:
            return "-"
        return "yes" if self.within_spread else "close" if self.close else "no"


VERDICTS = (
    "within: yes = within one standard deviation of the paper or the standard error of the difference, "
    "close = within one point or two deviations"
)


def summary_line(cells: Sequence[Cell]) -> str:
    """How many cells agree with the paper."""
    done = [cell for cell in cells if cell.ours is not None]
    within, close = sum(cell.within_spread for cell in done), sum(cell.close for cell in done)
    left = f"; {len(cells) - len(done)} not run" if len(done) < len(cells) else ""
    of = count(len(done), "cell")
    return f"within the spread: {within} of {of}; within one point or two deviations of the paper: {close}{left}"


def stuck_line(cells: Sequence[Cell]) -> str:
    """The runs that never left the plateau on which training starts; empty if there are none."""
    found = [
        f"{paper.DATASETS[cell.dataset].title} {title(cell.model)} seed {', '.join(map(str, cell.stuck))}"
        for cell in cells
        if cell.stuck
    ]
    return f"never left the plateau on which training starts: {'; '.join(found)}" if found else ""


def _texts(cell: Cell) -> tuple[str, ...]:
    name = title(cell.model), cell.notation, percent(*cell.paper)
    if cell.ours is None or cell.difference is None:
        return *name, cell.why_not, "-", "0", "-"
    mean, std, splits = cell.ours
    of = "" if splits == cell.asked else f"/{cell.asked}"
    return *name, percent(mean, std), f"{cell.difference:+.2f}", f"{splits}{of}", cell.verdict


HEAD = ("model", "config", "paper", "ours", "diff", "splits", "within")


def tables(cells: Sequence[Cell]) -> list[Table]:
    """One table per dataset, for the terminal."""
    result = []
    for dataset, group in groupby(cells, key=lambda cell: cell.dataset):
        table = Table(
            title=paper.DATASETS[dataset].title,
            box=SIMPLE_HEAD,
            pad_edge=False,
            show_edge=False,
            padding=(0, 1, 0, 0),
            title_justify="left",
        )
        for column in HEAD:
            table.add_column(column, justify="left" if column == "model" else "right", no_wrap=True)
        for cell in group:
            table.add_row(*_texts(replace(cell, why_not="not run")))  # the reason would be too wide
        result.append(table)
    return result


def as_csv(cells: Sequence[Cell]) -> str:
    """One line per cell; missing figures are empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cell in cells:
        mean, std, splits = cell.ours or (None, None, 0)
        figures = ["" if value is None else f"{value:.2f}" for value in (mean, std, *cell.paper)]
        seconds = f"{cell.seconds:.0f}" if cell.ours else ""
        writer.writerow([cell.dataset, cell.model, *figures, splits, cell.notation, seconds])
    return file.getvalue()


def as_markdown(cells: Sequence[Cell]) -> str:
    """The table in the paper's layout, with our figure above the paper's, and one detailed table per dataset."""
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    by_place = {(cell.model, cell.dataset): cell for cell in cells}
    lines = [
        f"| | {' | '.join(paper.DATASETS[dataset].title for dataset in datasets)} |",
        "|---" * (len(datasets) + 1) + "|",
    ]
    for model in dict.fromkeys(cell.model for cell in cells):
        row = [by_place.get((model, dataset)) for dataset in datasets]
        lines.append(
            f"| {title(model)} | {' | '.join('' if cell is None else _ours_over_paper(cell) for cell in row)} |"
        )
    lines += ["", f"Ours, and the paper's below it; **bold**: within the spread. {summary_line(cells)}.", ""]
    if stuck := stuck_line(cells):
        lines += [f"Runs that {stuck}.", ""]
    for dataset, group in groupby(cells, key=lambda cell: cell.dataset):
        lines += [
            f"## {paper.DATASETS[dataset].title}",
            "",
            f"| {' | '.join(HEAD)} |",
            "|---|" + "---:|" * (len(HEAD) - 1),
        ]
        lines += [f"| {' | '.join(_texts(cell))} |" for cell in group]
        lines.append("")
    return "\n".join([*lines, f"{VERDICTS}."]).replace("+-", "±") + "\n"


def _ours_over_paper(cell: Cell) -> str:
    stated = percent(*cell.paper)
    if cell.ours is None:
        return f"{cell.why_not}<br>{stated}"
    ours = percent(cell.ours.mean, cell.ours.std)
    return f"{f'**{ours}**' if cell.within_spread else ours}<br>{stated}"


def as_latex(cells: Sequence[Cell]) -> str:
    """A ``tabular`` with our figures, and the paper's below them; a comment says that it needs booktabs."""
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    by_place = {(cell.model, cell.dataset): cell for cell in cells}
    lines = [
        r"% needs \usepackage{booktabs}; each row is followed by the paper's figures",
        rf"\begin{{tabular}}{{l{'c' * len(datasets)}}}",
        r"  \toprule",
        "  Model & " + " & ".join(paper.DATASETS[dataset].title for dataset in datasets) + r" \\",
        r"  \midrule",
    ]
    for model in dict.fromkeys(cell.model for cell in cells):
        ours, stated = [], []
        for dataset in datasets:
            cell = by_place.get((model, dataset))
            ours.append("--" if cell is None or cell.ours is None else _latex(cell.ours.mean, cell.ours.std))
            stated.append("" if cell is None else rf"({_latex(cell.paper.mean, cell.paper.std)})")
        lines += [f"  {title(model)} & {' & '.join(ours)} \\\\", f"  \\quad paper & {' & '.join(stated)} \\\\"]
    return "\n".join([*lines, r"  \bottomrule", r"\end{tabular}"]) + "\n"


def _latex(mean: float, std: float | None) -> str:
    return f"${mean:.2f}$" if std is None else rf"${mean:.2f} \pm {std:.2f}$"
