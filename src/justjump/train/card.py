"""The text of a model card, filled in from a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from justjump.data.datasets import NAMES
from justjump.data.labels import Task
from justjump.data.splits import ROLES
from justjump.nn import ModelConfig
from justjump.train.measures import WORDS, is_share, measures_of
from justjump.train.protocol import Protocol
from justjump.train.run import Run

TASK_WORDS: dict[Task, str] = {
    "multiclass": "classification",
    "multilabel": "multi-label classification",
    "regression": "regression",
}
LEARNED = {"multiclass": "classes", "multilabel": "labels", "regression": "targets"}
MODEL_WORDS = {"dna": "dynamic neighborhood aggregation (DNA)", "gcn": "GCN", "gat": "GAT"}
MOST_NAMES = 20


def card_text(run: Run, name: str) -> str:
    """The card without its metadata, in Markdown.

    Args:
        name: of the folder or the repository, for the snippet that loads the run
    """
    names = [_plain(one) for one in run.class_names[:MOST_NAMES]]
    more = f", ... ({len(run.class_names)} in all)" if len(run.class_names) > MOST_NAMES else ""
    sizes = " / ".join(f"{size:,}" for size in run.split_sizes)
    lines = [
        f"# {_plain(name.rpartition('/')[2])}",
        "",
        f"A {MODEL_WORDS[run.config.model]} network for {TASK_WORDS[run.task]} on graphs, trained on "
        f"{_plain(run.graph_name)} with justjump.",
        "",
        f'- Task: {TASK_WORDS[run.task]} (`task="{run.task}"`)',
        f"- {LEARNED[run.task].capitalize()}: {', '.join(names)}{more}",
        f"- Sizes of training / validation / test: {sizes}",
        f"- Features: {run.preprocessing.width:,} per node; {_plain(_features(run))}",
        "",
        "## How good it is",
        "",
        *_measures(run),
        *_notes(run),
        "",
        "## How to use it",
        "",
        *_snippet(run, name),
        "",
        "## How it was made",
        "",
        f"- Network: {run.config.model}, {run.config.notation} (layers / hidden / groups"
        f"{' / heads' if run.config.model != 'gcn' else ''})",
        f"- Options of the network: {_options(run.config, ModelConfig())}",
        f"- Options of training: {_options(run.protocol, Protocol())}",
        f"- Seed {run.seed}; {run.epochs} epochs, the best is epoch {run.best_epoch}"
        f"{'' if run.finished else '; training was stopped early'}",
        "",
        "## License",
        "",
        "Not stated yet: add `license: ...` to the first lines of this file.",
        "",
    ]
    return "\n".join(lines)


def _features(run: Run) -> str:
    return run.preprocessing.describe() or "used as they are"


def _measures(run: Run) -> Iterator[str]:
    if not run.measures:
        yield "This run was saved by an older version, without its measures."
        return
    yield "| measure | training | validation | test |"
    yield "|---|---|---|---|"
    for measure in measures_of(run.task):
        values = [run.measures[role][measure] for role in ROLES]
        yield f"| {WORDS[measure]} | {' | '.join(_number(measure, value) for value in values)} |"


def _number(measure: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if is_share(measure) else f"{value:.4g}"


def _notes(run: Run) -> Iterator[str]:
    if run.notes:
        yield from ("", "What to know about it:", "")
        yield from (f"- {_plain(note)}" for note in run.notes)


def _snippet(run: Run, name: str) -> list[str]:
    graph = f"justjump.load({json.dumps(run.graph_name)})"
    if run.graph_name not in NAMES:
        graph = 'justjump.read_graph("my-graph")  # with the same features'
    found = {
        "multiclass": "classes, probabilities = run.predict(graph)  # [N] and [N, C]",
        "multilabel": "labels, probabilities = run.predict(graph)  # [N, L] of 0 and 1, and their probabilities",
        "regression": "numbers = run.predict(graph).classes  # [N, K]",
    }
    return [
        "```python",
        "import justjump",
        "",
        f"run = justjump.Run.from_pretrained({json.dumps(name)})  # this folder, or its name on the Hub",
        f"graph = {graph}",
        found[run.task],
        "```",
        "",
        "The name of a folder needs no network. `pip install 'justjump[hub]'` has what names on the Hub need.",
    ]


def _options(options: Any, default: Any) -> str:
    """Those that are not the defaults."""
    own = {one.name: getattr(options, one.name) for one in fields(options)}
    changed = [f"`{name}={value!r}`" for name, value in own.items() if value != getattr(default, name)]
    return ", ".join(changed) or "the defaults"


def _plain(text: str) -> str:
    """A text of the data in one line, without Markdown and HTML of its own."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#&" else letter for letter in " ".join(text.split()))
