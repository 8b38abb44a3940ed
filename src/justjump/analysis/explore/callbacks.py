"""What the server computes on a click. Clicks that need no computation are handled by explore.js."""

from __future__ import annotations

from typing import Any

import numpy as np
from dash import ClientsideFunction, Dash, Input, Output, State, html, no_update
from dash.exceptions import PreventUpdate

from justjump.analysis.explore.edge_panel import edge_hint, edge_panel, edge_title
from justjump.analysis.explore.elements import elements
from justjump.analysis.explore.panels import Content, influence_list, legend, node_facts, run_says
from justjump.analysis.explore.session import Session
from justjump.analysis.subject import node_hint

BUSY = [(Output("busy", "className"), "on", "")]
Contents = dict[str, Content]  # by the id of the element that each goes into


def connect(app: Dash, session: Session) -> None:
    """Connect the elements of the page."""
    numbers = range(len(session.runs))
    _connect_browser(app, numbers)

    @app.callback(Output("suggestions", "children"), Input("search", "value"))
    def suggest(text: str | None) -> list[Any]:
        return [html.Option(value=name) for name in session.suggestions(text or "")]

    @app.callback(
        Output("node", "data"),
        Output("message", "children"),
        Input("search", "n_submit"),
        Input("submit", "n_clicks"),
        State("search", "value"),
        prevent_initial_call=True,
    )
    def search(_enter: int | None, _show: int | None, text: str | None) -> tuple[Any, str]:
        node = session.find(text or "")
        return (no_update, _not_found(session, (text or "").strip())) if node is None else (node, "")

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
    def show_node(node: int | None, hops: str) -> Any:
        if node is None:
            raise PreventUpdate
        around = session.neighbourhood(node, int(hops))
        found = [session.influence(number, node) for number in numbers]
        shares = np.zeros((len(found), len(around.nodes)))  # [runs, n]
        for number, influence in enumerate(found):
            known = dict(zip(influence.nodes.tolist(), influence.share.tolist(), strict=True))
            shares[number] = [known.get(other, 0.0) for other in around.nodes.tolist()]
        highest = float(shares.max())  # one scale for both runs
        contents: Contents = {"facts": node_facts(session, node, int(hops))}
        for number in numbers:
            contents[f"says-{number}"] = run_says(session, number, node)
            contents[f"influence-{number}"] = influence_list(session, number, node, found[number])
        drawn = [elements(session, number, around, shares[number], highest) for number in numbers]
        return contents, *drawn, highest, session.names[node], ""

    @app.callback(Output("legend-contents", "data"), Input("colouring", "value"), Input("highest", "data"))
    def show_legend(colouring: str, highest: float | None) -> Contents:
        return {"legend": [] if highest is None else legend(session, colouring, highest)}

    @app.callback(Output("edge-contents", "data"), Input("edge", "data"), running=BUSY)
    def show_edge(edge: dict[str, int] | None) -> Contents:
        contents: Contents = {}
        for number in numbers:
            title, panel = f"edge-title-{number}", f"edge-{number}"
            if edge is None:
                contents |= {title: [], panel: html.P(edge_hint(session, number), className="quiet")}
            else:
                ends = edge["target"], edge["source"]
                contents |= {title: edge_title(session, *ends), panel: edge_panel(session, number, *ends)}
        return contents


def _not_found(session: Session, text: str) -> str:
    if not text:
        return f"Type the {session.handle} of a node."
    return f"There is no node “{text}”: {node_hint(session.graph, session.similar(text))}"


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
