"""The page before a node is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
from dash import dcc, html
from dash_cytoscape import Cytoscape

from justjump.analysis.explore.answers import Content
from justjump.analysis.explore.panels import row_button
from justjump.analysis.explore.quality import notes, quality_panel, row_list
from justjump.analysis.explore.session import MOST_HOPS, Session
from justjump.analysis.subject import row_of

LIVE: dict[str, Any] = {"aria-live": "polite"}
ALL = "all"  # hops
LONGEST_NAME = 1000  # letters that can be searched for
MOST_BUTTONS = 5  # of a choice; more choices are a list that opens


def page(session: Session) -> Content:
    """Everything that the page shows from the start; callbacks fill in the rest."""
    numbers = range(len(session.runs))
    from_the_start = {"facts": _welcome(session), "list": row_list(session), "notes": notes(session)}
    from_the_start |= {f"quality-{number}": quality_panel(session, number) for number in numbers}
    return html.Div(
        [
            dcc.Store(id="node"),
            dcc.Store(id="edge"),
            dcc.Store(id="theme"),
            dcc.Store(id="highest"),  # share of influence that has the full colour
            # Contents that explore.js draws, by the id of the element that each goes into.
            *(dcc.Store(id=f"{kind}-contents") for kind in ("node", "edge", "legend")),
            dcc.Store(id="first-contents", data=from_the_start),
            _header(session),
            html.Main(
                [
                    html.Section(id="notes", className="notes", **_label("What to know about the runs")),
                    _controls(session),
                    html.P(id="message", role="alert"),
                    html.Section(id="facts", className="facts", tabIndex=-1, **LIVE),
                    html.Section(id="legend", className="legend", **_label("What the colours mean")),
                    html.Div(
                        [
                            *(_graph_card(session, number) for number in numbers),
                            *(_edge_card(session, number) for number in numbers),
                            *(_influence_card(session, number) for number in numbers),
                            *(_quality_card(session, number) for number in numbers),
                            html.Article(className="card list-card", id="list"),
                        ],
                        className="cards",
                    ),
                ]
            ),
        ],
        id="page",
    )


def _header(session: Session) -> Content:
    graph = session.graph
    one, several = session.answers.kind
    learned = f"{len(session.answers.names)} {one if len(session.answers.names) == 1 else several}"
    graphs = "" if graph.batch is None else f"{graph.num_graphs:,} graphs, "
    counts = f"{graphs}{graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {learned}"
    return html.Header(
        [html.H1("justjump explore"), html.Span([html.B(graph.name), f" {counts}"]), html.Span("working …", id="busy")]
    )


def _controls(session: Session) -> Content:
    search = html.Div(
        [
            html.Label(session.unit.capitalize(), htmlFor="search"),
            dcc.Input(
                id="search",
                type="text",
                list="suggestions",
                placeholder=f"{session.handle}, then Enter",
                autoComplete="off",
                debounce=False,
                maxLength=LONGEST_NAME,
            ),
            html.Button("Show", id="submit"),
            html.Datalist(id="suggestions"),
        ],
        className="control",
        role="search",
    )
    distances = hop_choices(session)
    first = ALL if ALL in distances else "2"
    hops = html.Fieldset(
        [html.Legend("Hops"), dcc.RadioItems(distances, first, id="hops", inline=True)],
        className="control",
    )
    colours = colourings(session)
    choice = (
        dcc.RadioItems(colours, "influence", id="colouring", inline=True)
        if len(colours) <= MOST_BUTTONS
        else dcc.Dropdown(colours, "influence", id="colouring", clearable=False)
    )
    hidden = {"display": "none"} if len(colours) == 1 else None
    colouring = html.Fieldset([html.Legend("Colour by"), choice], className="control", style=hidden)
    return html.Section([search, hops, colouring], className="controls", **_label("What to show"))


def hop_choices(session: Session) -> dict[str, str]:
    """The distances that can be shown; "all" is the whole of one graph among several."""
    choices = [str(hops) for hops in range(1, MOST_HOPS + 1)]
    return {choice: choice for choice in ([*choices, ALL] if session.unit == "graph" else choices)}


def colourings(session: Session) -> dict[str, str]:
    """What nodes can be coloured by. The nodes of a graph with one label have no labels of their own."""
    return {"influence": "influence", **(session.answers.colourings if session.unit == "node" else {})}


def _welcome(session: Session) -> list[Content]:
    """What the page says before a node is chosen: some nodes (or graphs) to begin with."""
    hub = row_of(session.graph, int(session.degrees.argmax()))
    two = len(session.runs) == 2
    listed = session.disagreements() if two else session.mistakes()
    starts = [html.Span(["the best connected one, ", row_button(session, hub)])]
    if len(listed):
        kind = f"one the runs {session.answers.differing}, " if two else f"one it {session.answers.failing}, "
        starts.append(html.Span([kind, row_button(session, int(listed[0]))]))
    middle = int(np.argsort(session.degrees, kind="stable")[len(session.degrees) // 2])
    starts.append(html.Span(["an ordinary one, ", row_button(session, row_of(session.graph, middle))]))
    title = f"Choose a {session.unit}"
    return [html.H2(title), html.Span(f"Type its {session.handle}, or begin with"), *starts]


def _graph_card(session: Session, number: int) -> Content:
    graph = Cytoscape(
        id=f"graph-{number}",
        layout={"name": "preset", "fit": True, "padding": 18},
        elements=[],
        stylesheet=[],
        style={"width": "100%", "height": "100%"},
        minZoom=0.15,
        maxZoom=4,
        autoungrabify=True,
        boxSelectionEnabled=False,
    )
    label = f"Neighbourhood as {session.runs[number].title} sees it; the nodes and edges are also listed below"
    return html.Article(
        [
            _title(session, number, None),
            html.P(id=f"says-{number}", className="says"),
            html.Div(graph, className="graph", role="group", **_label(label)),
            html.P(_click_hint(session, number), id=f"hover-{number}", className="hint"),
        ],
        className="card graph-card",
    )


def _click_hint(session: Session, number: int) -> str:
    shown = {"dna": ", or an edge to see its attention", "gcn": ", or an edge to see its weight"}
    return f"Click a node to go there{shown.get(session.runs[number].run.config.model, '')}."


def _edge_card(session: Session, number: int) -> Content:
    is_dna = session.runs[number].run.config.model == "dna"
    return html.Article(
        [
            _title(session, number, "Attention of an edge" if is_dna else "An edge"),
            html.Div(id=f"edge-title-{number}", className="edge-title"),
            html.Div(id=f"edge-{number}", tabIndex=-1),
        ],
        className="card edge-card",
    )


def _influence_card(session: Session, number: int) -> Content:
    return html.Article(
        [_title(session, number, "Influence"), html.Div(id=f"influence-{number}")], className="card influence-card"
    )


def _quality_card(session: Session, number: int) -> Content:
    return html.Article(
        [_title(session, number, "How good it is"), html.Div(id=f"quality-{number}")], className="card quality-card"
    )


def _title(session: Session, number: int, title: str | None) -> Content:
    name = html.Span(session.runs[number].title, className="run")
    return html.H3([title, name] if title else [name])


def _label(text: str) -> dict[str, Any]:
    return {"aria-label": text}
