"""How good the runs are, and where they differ."""

from __future__ import annotations

import numpy as np
from dash import html

from justjump.analysis.explore.panels import Content, class_mark, go_button
from justjump.analysis.explore.session import Session

LISTED = 50  # number of nodes in the list of disagreements


def accuracy_panel(session: Session, number: int) -> list[Content]:
    """Accuracies and the confusion matrix of one run."""
    run, counts = session.runs[number].run, session.confusion(number)
    total = int(counts.sum())
    if session.splits[number] is None:
        if not total:
            return [html.P("The graph has no labels to compare with.")]
        share = f"{counts.trace() / total:.1%} of {total:,} labelled nodes"
        line = f"{share}. Which of them it was trained on is not known: this is another graph, or another split."
        return [html.P(line), _matrix(session, counts)]
    accuracies = {"test": run.test_accuracy, "validation": run.val_accuracy, "training": run.train_accuracy}
    line = ", ".join(f"{role} {accuracy:.1%}" for role, accuracy in accuracies.items() if accuracy is not None)
    if not total:
        return [html.P(f"{line}. There are no test nodes.")]
    return [html.P(line), _matrix(session, counts)]


def _matrix(session: Session, counts: np.ndarray) -> Content:
    """True classes as rows, predicted classes as columns; a cell is as dark as its share of its row."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    classes = range(len(session.class_names))
    head = [html.Th("true class, predicted as", scope="col"), *(_number(session, c) for c in classes)]
    rows = [
        html.Tr(
            [
                html.Th(html.Span([f"{c + 1}", class_mark(session, c)], className="class"), scope="row"),
                *(
                    html.Td(
                        str(counts[c, p]),
                        className="diagonal" if c == p else None,
                        style={"--share": f"{shares[c, p]:.3f}"},
                    )
                    for p in classes
                ),
            ]
        )
        for c in classes
    ]
    return html.Div(
        html.Table([html.Thead(html.Tr(head)), html.Tbody(rows)], className="confusion heat"), className="scroll"
    )


def _number(session: Session, c: int) -> Content:
    return html.Th(str(c + 1), scope="col", title=session.class_names[c])


def disagreement_list(session: Session) -> list[Content]:
    """The nodes that two runs disagree on, or that the only run gets wrong."""
    if len(session.runs) == 2:
        nodes, title = session.disagreements(), html.H3("Nodes the runs disagree on")
    else:
        nodes, title = session.mistakes(), html.H3("Nodes the run gets wrong")
    if not len(nodes):
        return [title, html.P("There are none.", className="quiet")]
    heads = ["node", "true class", *(subject.title for subject in session.runs)]
    rows = [_row(session, int(node)) for node in nodes[:LISTED]]
    count = f"{len(nodes):,} of {session.graph.num_nodes:,} nodes"
    more = f"; {LISTED} of them, the surest first:" if len(nodes) > LISTED else ", the surest first:"
    table = html.Table(
        [html.Thead(html.Tr([html.Th(head, scope="col") for head in heads])), html.Tbody(rows)], className="list"
    )
    return [title, html.P(count + more), html.Div(table, className="scroll tall", tabIndex=0)]


def _row(session: Session, node: int) -> Content:
    opinions = [
        html.Td(
            [
                class_mark(session, int(subject.predicted[node])),
                html.Span(f" {confidence[node]:.0%}", className="quiet"),
            ]
        )
        for subject, confidence in zip(session.runs, session.confidence, strict=True)
    ]
    label = int(session.graph.labels[node])
    return html.Tr([html.Td(go_button(session, node)), html.Td(class_mark(session, label)), *opinions])
