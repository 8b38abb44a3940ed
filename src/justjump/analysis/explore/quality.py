"""How good the runs are, what their users should know, and where they differ."""

from __future__ import annotations

import numpy as np
from dash import html

from justjump.analysis.explore.answers import Content
from justjump.analysis.explore.panels import row_button
from justjump.analysis.explore.session import Session
from justjump.analysis.explore.tables import measures_by_part
from justjump.experiments.words import for_train
from justjump.train.measures import measure

ROLES = {"train": "training", "val": "validation", "test": "test"}
LISTED = 50  # number of nodes in the list of disagreements
LISTED_GRAPHS = 500


def notes(session: Session) -> list[Content]:
    """What the users of the runs should know, such as that one predicts the majority class alone."""
    several = len(session.runs) > 1
    return [
        html.P([html.B(f"{subject.title}: " if several else "Note: "), for_train(note)])
        for subject in session.runs
        for note in subject.run.notes
    ]


def quality_panel(session: Session, number: int) -> list[Content]:
    """The measures of one run, and what else says how good it is."""
    subject, labels, unit = session.runs[number], session.graph.labels, session.unit
    if not session.graph.labelled.any():
        return [html.P("The graph has no labels to compare with.")]
    split = subject.split
    if split is None:
        count = int(session.graph.labelled.sum())
        line = f"Of {count:,} labelled {unit}s. Which of them it was trained on is not known: this is another graph."
        parts = {f"labelled {unit}s": measure(session.graph.task, labels, subject.probability)}
    else:
        parts, sizes = {}, []
        for role, name in ROLES.items():
            rows = getattr(split, role)
            if len(rows):
                sizes.append(f"{len(rows):,} {name} {unit}s")
                known = subject.run.measures.get(role)  # runs of older versions have none
                parts[name] = known or measure(session.graph.task, labels[rows], subject.probability[rows])
        line = ", ".join(sizes)
    table = measures_by_part(session.graph.task, parts)
    return [html.P(line), table, *session.answers.details(number)]


def row_list(session: Session) -> list[Content]:
    """The nodes that two runs disagree on, or that the only run gets wrong. Graphs are all listed, these first."""
    answers, unit = session.answers, session.unit
    if len(session.runs) == 2:
        rows, which = session.disagreements(), f"the runs {answers.differing}"
    else:
        rows, which = session.mistakes(), f"the run {answers.failing}"
    count = f"{len(rows):,} of {len(session.graph.labels):,} {unit}s"
    if unit == "graph":
        others = np.setdiff1d(np.arange(session.graph.num_graphs), rows)
        title, line = html.H3("Graphs"), f"Those {which} come first: {count}."
        rows = np.concatenate([rows, others])[:LISTED_GRAPHS]
    else:
        title = html.H3(f"Nodes {which}")
        if not len(rows):
            return [title, html.P("There are none.", className="quiet")]
        more = f"; {LISTED} of them, {answers.order}:" if len(rows) > LISTED else f", {answers.order}:"
        rows, line = rows[:LISTED], count + more
    heads = [unit, answers.true_words, *(subject.title for subject in session.runs)]
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in heads]))
    table = html.Table([head, html.Tbody([_row(session, row) for row in rows.tolist()])], className="list")
    return [title, html.P(line), html.Div(table, className="scroll tall", tabIndex=0)]


def _row(session: Session, row: int) -> Content:
    opinions = [html.Td(session.answers.listed(number, row)) for number in range(len(session.runs))]
    return html.Tr([html.Td(row_button(session, row)), html.Td(session.answers.truth(row)), *opinions])
