"""Tables of measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from dash import html

from justjump.analysis.explore.answers import Content
from justjump.data.labels import Task
from justjump.train.measures import WORDS, Values, is_share, measure, measures_of
from justjump.train.show import shown_value


def measures_by_part(task: Task, parts: dict[str, Values]) -> Content:
    """All measures of a task, with a column for each part."""
    rows = [[WORDS[name], *(shown(name, values[name]) for values in parts.values())] for name in measures_of(task)]
    return _table(["", *parts], rows)


def measures_by_column(
    task: Task, names: Sequence[str], labels: np.ndarray, predicted: np.ndarray, measures: tuple[str, ...], kind: str
) -> Content:
    """Some measures of each label or target ``[n, K]``, with a row for each of them."""
    rows = []
    for k, name in enumerate(names):
        values = measure(task, labels[:, [k]], predicted[:, [k]], only=measures)
        rows.append([name, f"{int((~np.isnan(labels[:, k])).sum()):,}", *(shown(one, values[one]) for one in measures)])
    words = ["F1" if one == "macro_f1" else WORDS[one] for one in measures]
    return _table([kind, "known", *words], rows)


def shown(name: str, value: float | None) -> str:
    """A measure as people read it.

    >>> shown("accuracy", 0.8584), shown("mae", 0.8584), shown("roc_auc", None)
    ('85.8%', '0.858', '-')
    """
    return f"{value:.1%}" if value is not None and is_share(name) else shown_value(name, value)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Content:
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in heads]))
    body = [
        html.Tr([html.Th(row[0], scope="row", className="name"), *(html.Td(cell) for cell in row[1:])]) for row in rows
    ]
    return html.Div(html.Table([head, html.Tbody(body)], className="measures"), className="scroll tall", tabIndex=0)
