"""A folder that says how good a run is: a text and two pictures."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from justjump.analysis.files import check_extra, save_figure
from justjump.analysis.quality_figures import calibration_figure, confusion_figure
from justjump.analysis.subject import model_title
from justjump.data.splits import ROLES
from justjump.experiments.words import count, for_train, unusual
from justjump.files import new_folder, replace_text
from justjump.train import Run
from justjump.train.measures import SCORE, WORDS, calibration_error, is_share, measures_of
from justjump.train.run import find_run
from justjump.train.show import shown_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEXT_FILE = "report.md"
# More classes than this make a picture that nobody can read.
MOST_CLASSES = 30
PARTS = dict(zip(ROLES, ("training", "validation", "test"), strict=True))
LEARNED = {"multiclass": "class", "multilabel": "label", "regression": "target"}


def report(folder: Path, output: Path) -> None:
    """Write ``report.md`` about the run in a folder, and ``confusion.png`` and ``calibration.png`` for classes."""
    check_extra()
    run = find_run(folder)
    with new_folder(output, "--output"):
        drawn = dict(figures(run))
        for name, figure in drawn.items():
            save_figure(figure, [output / f"{name}.png"])
        replace_text(output / TEXT_FILE, report_text(run, list(drawn)))
    files = [output / TEXT_FILE, *(output / f"{name}.png" for name in drawn)]
    print(f"written: {', '.join(map(str, files))}", file=sys.stderr)


def figures(run: Run) -> Iterable[tuple[str, Figure]]:
    """The pictures that a run has numbers for, with their names."""
    title = f"{model_title(run)} on {run.graph_name}"
    if run.confusion and len(run.class_names) <= MOST_CLASSES:
        yield "confusion", confusion_figure(run.confusion, run.class_names, f"{title}, {_judged(run)}")
    if run.calibration:
        curve = [(float(one[0]), float(one[1]), int(one[2])) for one in run.calibration]
        yield "calibration", calibration_figure(curve, f"{title}, {_judged(run)}")


def report_text(run: Run, pictures: Sequence[str] = ()) -> str:
    """What is known about a run, as Markdown."""
    score = run.score("test")
    name = SCORE[run.task]
    lines = [f"# {_escaped(model_title(run))} on {_escaped(run.graph_name)}", ""]
    if score is not None:
        lines += [f"Test {WORDS[name]}: **{shown_value(name, score)}{' %' * is_share(name)}**", ""]
    lines += [f"> **Note:** {_escaped(for_train(note))}\n" for note in run.notes]
    if not run.finished:
        lines += ["> **Note:** training was stopped before its end\n"]
    lines += ["## Measures", "", *_measures(run), ""]
    words = {"confusion": "True and predicted classes", "calibration": "Confidence and share of right predictions"}
    lines += [f"![{words[picture]}]({picture}.png)\n" for picture in pictures]
    if run.calibration:
        error = calibration_error([(one[0], one[1], int(one[2])) for one in run.calibration])
        lines += [f"Calibration error, {_judged(run)}: {100 * error:.1f} %\n"]
    lines += ["## How it was made", "", *_settings(run), ""]
    return "\n".join(lines)


def _measures(run: Run) -> list[str]:
    if not run.measures:  # of an older version
        found = {role: run.score(role) for role in ROLES}
        values = {"accuracy": [found[role] for role in ROLES]}
    else:
        values = {name: [run.measures[role][name] for role in ROLES] for name in measures_of(run.task)}
    sizes = [f"{PARTS[role]} ({size:,})" for role, size in zip(ROLES, run.split_sizes, strict=True)]
    rows = [
        [f"{WORDS[name]}{' in %' * is_share(name)}", *(shown_value(name, value) for value in cells)]
        for name, cells in values.items()
    ]
    return _table(["", *sizes], rows)


def _settings(run: Run) -> list[str]:
    config = asdict(run.config)
    names = ", ".join(run.class_names[:10]) + (", ..." if len(run.class_names) > 10 else "")
    learned = count(len(run.class_names), LEARNED[run.task]).replace("classs", "classes")
    sizes = ("model", "layers", "hidden", *(["heads"] if run.config.model != "gcn" else []), "groups")
    options = unusual(run.config, run.protocol)
    rows = [
        ["task", f"{run.task}, {learned}: {names}"],
        ["network", ", ".join(f"{name} {config[name]}" for name in sizes)],
        ["other options", ", ".join(f"{name} {value}" for name, value in options.items()) or "as by default"],
        ["features", run.preprocessing.describe() or "as they are"],
        ["training", f"{run.epochs} epochs, the best is {run.best_epoch}; seed {run.seed}; {run.seconds:.0f} seconds"],
    ]
    return _table(["", ""], rows)


def _judged(run: Run) -> str:
    return "test part" if run.split_sizes[2] else "validation part"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    dashes = ["---", *["---:" if heads[1] else "---"] * (len(heads) - 1)]
    return [f"| {' | '.join(map(_escaped, row))} |" for row in (heads, dashes, *rows)]


def _escaped(text: str) -> str:
    """Names come from files: they must not become links, pictures or columns.

    >>> print(_escaped("a|b <img>"))
    a\\|b &lt;img>
    """
    text = " ".join(text.split()).replace("\\", "\\\\").replace("<", "&lt;")
    for letter in "|[]`":
        text = text.replace(letter, f"\\{letter}")
    return text
