"""What the server computes on a click. Clicks that need no computation are handled by explore.js."""

from __future__ import annotations

from typing import Any

import numpy as np
from dash import ClientsideFunction, Dash, Input, Output, State, html, no_update
from dash.exceptions import PreventUpdate

from justjump.analysis.explore.answers import Content
from justjump.analysis.explore.edge_panel import edge_hint, edge_panel, edge_title
from justjump.analysis.explore.elements import elements
from justjump.analysis.explore.page import ALL, LONGEST_NAME, colourings, hop_choices
from justjump.analysis.explore.panels import influence_list, legend, node_facts, run_says
from justjump.analysis.explore.session import WHOLE, Session
from justjump.analysis.subject import node_hint

BUSY = [(Output("busy", "className"), "on", "")]
Contents = dict[str, Content]  # by the id of the element that each goes into


def connect(app: Dash, session: Session) -> None:
    """Connect the elements of the page.

    What a callback gets comes from a request, which can hold anything: the functions at the end check it.
    """
    numbers = range(len(session.runs))
    _connect_browser(app, numbers)

    @app.callback(Output("suggestions", "children"), Input("search", "value"))
    def suggest(text: object) -> list[Any]:
        return [html.Option(value=name) for name in session.suggestions(_text(text))]

    @app.callback(
        Output("node", "data"),
        Output("message", "children"),
        Input("search", "n_submit"),
        Input("submit", "n_clicks"),
        State("search", "value"),
        prevent_initial_call=True,
    )
    def search(_enter: object, _show: object, searched: object) -> tuple[Any, str]:
        text = _text(searched)
        node = session.find(text)
        return (no_update, _not_found(session, text.strip())) if node is None else (node, "")

    @app.callback(
        Output("node-contents", "data"),
        *(Output(f"graph-{number}", "elements") for number in numbers),
        Output("highest", "data"),
        Output("search", "value"),
        Output("message", "children", allow_duplicate=True),
        Input("node", "data"),
        Input("hops", "value"),
        prevent_initial_call=True,
        running=BUSY,
    )
    def show_node(chosen: object, distance: object) -> Any:
        if chosen is None:
            raise PreventUpdate
        node, hops = _node(session, chosen), _hops(session, distance)
        around = session.neighbourhood(node, hops)
        found = [session.influence(number, node) for number in numbers]
        shares = np.zeros((len(found), len(around.nodes)))  # [runs, n]
        for number, influence in enumerate(found):
            known = dict(zip(influence.nodes.tolist(), influence.share.tolist(), strict=True))
            shares[number] = [known.get(other, 0.0) for other in around.nodes.tolist()]
        highest = float(shares.max())  # one scale for both runs
        contents: Contents = {"facts": node_facts(session, node, hops)}
        for number in numbers:
            contents[f"says-{number}"] = run_says(session, number, node)
            contents[f"influence-{number}"] = influence_list(session, number, node, found[number])
        drawn = [elements(session, number, around, shares[number], highest) for number in numbers]
        return contents, *drawn, highest, session.names[node], ""

    @app.callback(Output("legend-contents", "data"), Input("colouring", "value"), Input("highest", "data"))
    def show_legend(colouring: object, highest: object) -> Contents:
        return {"legend": [] if highest is None else legend(session, _colouring(session, colouring), _share(highest))}

    @app.callback(Output("edge-contents", "data"), Input("edge", "data"), running=BUSY)
    def show_edge(chosen: object) -> Contents:
        ends = None if chosen is None else _ends(session, chosen)
        contents: Contents = {}
        for number in numbers:
            title, panel = f"edge-title-{number}", f"edge-{number}"
            if ends is None:
                contents |= {title: [], panel: html.P(edge_hint(session, number), className="quiet")}
            else:
                contents |= {title: edge_title(session, *ends), panel: edge_panel(session, number, *ends)}
        return contents


def _not_found(session: Session, text: str) -> str:
    if not text:
        return f"Type the {session.handle} of a {session.unit}."
    return f"There is no {session.unit} “{text}”: {node_hint(session.graph, session.similar(text))}"


def _connect_browser(app: Dash, numbers: range) -> None:
    """Connect the functions of explore.js."""
    clientside: Any = app.clientside_callback
    for kind in ("first", "node", "edge", "legend"):
        clientside(ClientsideFunction("explore", "draw"), Input(f"{kind}-contents", "data"))
    clientside(ClientsideFunction("explore", "noEdge"), Output("edge", "data"), Input("node", "data"))
    for number in numbers:
        graph = f"graph-{number}"
        clientside(
            ClientsideFunction("explore", "stylesheet"),
            Output(graph, "stylesheet"),
            Input("colouring", "value"),
            Input("edge", "data"),
            Input("theme", "data"),
        )
        clientside(ClientsideFunction("explore", "chooseNode"), Input(graph, "tapNodeData"), prevent_initial_call=True)
        clientside(ClientsideFunction("explore", "chooseEdge"), Input(graph, "tapEdgeData"), prevent_initial_call=True)
        clientside(
            ClientsideFunction("explore", "about"),
            Output(f"hover-{number}", "children"),
            Input(graph, "mouseoverNodeData"),
            prevent_initial_call=True,
        )


def _node(session: Session, value: object) -> int:
    if type(value) is not int or not 0 <= value < session.graph.num_nodes:
        last = session.graph.num_nodes - 1
        raise ValueError(f"there is no node {_shown(value)}: the graph has nodes 0 to {last}")
    return value


def _ends(session: Session, value: object) -> tuple[int, int]:
    """The target and the source of an edge."""
    if not isinstance(value, dict) or not {"target", "source"} <= value.keys():
        raise ValueError(f"{_shown(value)} is not an edge: click one")
    return _node(session, value["target"]), _node(session, value["source"])


def _hops(session: Session, value: object) -> int:
    choices = list(hop_choices(session))
    value = str(value) if type(value) is int else value
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{_shown(value)} hops cannot be shown: choose {', '.join(choices[:-1])} or {choices[-1]}")
    return WHOLE if value == ALL else int(value)


def _colouring(session: Session, value: object) -> str:
    choices = colourings(session)
    if not isinstance(value, str) or value not in choices:
        some = ", ".join(list(choices)[:8])
        raise ValueError(f"there is no colouring {_shown(value)}: choose one of {some}")
    return value


def _share(value: object) -> float:
    if not isinstance(value, int | float) or not 0 <= value <= 1.001:  # as the sum of rounded shares
        raise ValueError(f"{_shown(value)} is not a share of influence: it must be from 0 to 1")
    return float(value)


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        raise ValueError(f"{_shown(value)} cannot be searched for: type at most {LONGEST_NAME} letters")
    return value


def _shown(value: object) -> str:
    """A value in a message: all of it if it is short."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
