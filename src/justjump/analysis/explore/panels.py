"""The contents of the page's panels. explore.js draws them, because Dash is slow with a thousand components."""

from __future__ import annotations

from typing import Any

import numpy as np
from dash import html

from justjump.analysis import Influence
from justjump.analysis.explore.answers import Content
from justjump.analysis.explore.session import WHOLE, Session
from justjump.data import Split
from justjump.experiments.words import count

LISTED = 10  # most influential nodes


def go_button(session: Session, node: int) -> Content:
    """A button with a node's name that shows this node."""
    return html.Button(session.names[node], className="link", title="Show this node", **_data(node=node))


def row_button(session: Session, row: int) -> Content:
    """A button with the name of a node, or the number of a graph, that shows it."""
    title = f"Show this {session.unit}"
    return html.Button(session.row_name(row), className="link", title=title, **_data(node=session.node_of(row)))


def edge_button(text: str, title: str, target: int, source: int) -> Content:
    """A button that shows what an edge attends to."""
    return html.Button(text, className="small", title=title, **_data(target=target, source=source))


def _data(**values: int) -> dict[str, Any]:
    """Attributes that explore.js reads when the button is pressed."""
    return {f"data-{name}": str(value) for name, value in values.items()}


def node_facts(session: Session, node: int, hops: int) -> list[Content]:
    """The line above the graphs: which node it is, and how much of its neighbourhood is drawn."""
    degree, row = int(session.degrees[node]), session.row(node)
    whose = [] if session.unit == "node" else [f"in graph {row}, "]
    facts = [
        html.H2(["Node ", html.Span(session.names[node], className="name")]),
        *([html.Span(f"number {node}")] if session.handle == "name" else []),
        html.Span([*whose, f"{session.answers.true_words} ", session.answers.truth(row)]),
        html.Span(f"{degree:,} neighbour{'s' * (degree != 1)}"),
    ]
    shown, total = len(session.neighbourhood(node, hops).nodes), session.size(node, hops)
    if hops == WHOLE:
        text = (
            f"all {total:,} nodes of its graph" if total == shown else f"{shown:,} of the {total:,} nodes of its graph"
        )
        return [*facts, html.Span(text, className="notice" if total > shown else None)]
    if total > shown:
        text = f"{total:,} nodes are within {count(hops, 'hop')}, the nearest {shown:,} are drawn"
        return [*facts, html.Span(text, className="notice")]
    return [*facts, html.Span(f"{count(shown, 'node')} within {count(hops, 'hop')}")]


def run_says(session: Session, number: int, node: int) -> list[Content]:
    """What one run predicts for a node, or for its graph."""
    row = session.row(node)
    role = _role(session.runs[number].split, row)
    return [*session.answers.says(number, row), *([html.Span(f"a {role} {session.unit}")] if role else [])]


def _role(split: Split | None, node: int) -> str:
    """Whether a node was used for training, validation or test; empty if for none of them, or if that is not known."""
    if split is None:
        return ""
    roles = {"training": split.train, "validation": split.val, "test": split.test}
    return next((role for role, nodes in roles.items() if np.isin(node, nodes)), "")


def legend(session: Session, colouring: str, highest: float) -> list[Content]:
    """What the colours mean."""
    if colouring == "influence":
        return [
            html.Span(["0 %", html.I(className="ramp"), f"{highest:.1%}"], className="class"),
            html.Span("of all influence on the node in the middle", className="quiet"),
            *(session.answers.legend(colouring) if session.unit == "node" else []),
        ]
    return session.answers.legend(colouring)


def influence_list(session: Session, number: int, node: int, found: Influence) -> list[Content]:
    """The influence by distance, and the most influential nodes."""
    by_hop = np.bincount(found.hops, weights=found.share)
    bars = [
        html.Tr([html.Th(count(hop, "hop"), scope="row"), html.Td(_bar(share, by_hop.max()))])
        for hop, share in enumerate(by_hop)
    ]
    order = np.argsort(-found.share, kind="stable")[:LISTED]
    neighbours = set(session.graph.edge_index[0, session.graph.edge_index[1] == node].tolist())
    highest = float(found.share[order[0]])
    by_node = session.unit == "node"  # otherwise all of them have the label of their graph
    rows = []
    for place in order:
        other = int(found.nodes[place])
        edge = edge_button("edge", "Show this edge", target=node, source=other)
        rows.append(
            html.Tr(
                [
                    html.Td(go_button(session, other)),
                    *([html.Td(session.answers.opinion(number, other), className="wide")] if by_node else []),
                    html.Td(str(int(found.hops[place])), className="number"),
                    html.Td(_bar(float(found.share[place]), highest)),
                    html.Td(edge if other in neighbours or other == node else ""),
                ]
            )
        )
    heads = ("node", *(["predicted"] if by_node else []), "hops", "influence", "")
    return [
        html.Table(html.Tbody(bars), className="bars"),
        html.Table([_head(heads, wide=1 if by_node else -1), html.Tbody(rows)], className="list"),
    ]


def _bar(share: float, highest: float) -> Content:
    width = 0.0 if highest <= 0 else 100 * share / highest
    return html.Span(
        [html.I(className="bar", style={"width": f"{width:.1f}%"}), html.Span(f"{share:.1%}")], className="measure"
    )


def _head(titles: tuple[str, ...], wide: int) -> Content:
    return html.Thead(
        html.Tr([html.Th(t, scope="col", className="wide" if n == wide else None) for n, t in enumerate(titles)])
    )
