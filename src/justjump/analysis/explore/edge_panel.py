"""What an edge attends to, per layer and per head."""

from __future__ import annotations

import numpy as np
from dash import html

from justjump.analysis import LayerAttention
from justjump.analysis.explore.answers import Content
from justjump.analysis.explore.panels import edge_button
from justjump.analysis.explore.session import Session
from justjump.experiments.words import count

CLICK = "Click an edge, or “edge” in the list of influences, to see"
GAT_HAS_NONE = "GAT weighs neighbours, not their former representations: there is no jump to show."


def edge_hint(session: Session, number: int) -> str:
    """What the panel says before an edge is chosen."""
    hints = {
        "dna": f"{CLICK} what it attends to.",
        "gcn": f"GCN has no attention. {CLICK} its weight.",
        "gat": GAT_HAS_NONE,
    }
    return hints[session.runs[number].run.config.model]


def edge_title(session: Session, target: int, source: int) -> list[Content]:
    """The ends of the edge, and a button for the opposite edge if there is one."""
    names = session.names[target], session.names[source]
    taker, giver = (html.Span(name, className="name") for name in names)
    if target == source:
        return [html.Span(["What ", taker, " takes from itself"])]
    back = ((session.graph.edge_index[0] == target) & (session.graph.edge_index[1] == source)).any()
    turn = edge_button("other direction", f"Show what {names[1]} takes from {names[0]}", source, target)
    return [html.Span(["What ", taker, " takes from ", giver]), *([turn] if back else [])]


def edge_panel(session: Session, number: int, target: int, source: int) -> list[Content]:
    """The attention of an edge in one run; for a model without attention, the weight of the edge."""
    config = session.runs[number].run.config
    layers = session.attention(number, target, source)
    if layers is None:
        return [html.P(_without_attention(session, number, target, source), className="quiet")]
    last = layers[-1]
    mean = last.weight.mean(axis=0)  # [t]
    best = int(mean.argmax())
    summary: list[Content] = [
        f"In the last layer it takes {mean.sum():.0%} of what is there, the largest share ({mean[best]:.0%}) from ",
        step_mark(last.steps[best]),
        f", {step_words(last.steps[best])}, and refuses {last.refused.mean():.0%} ",
        f"(mean of {count(config.heads, 'head')}).",
    ]
    return [
        html.P(summary),
        html.Div([_layer_table(layer) for layer in layers], className="layers"),
    ]


def step_mark(step: int) -> Content:
    """A representation h(s) in mathematical notation."""
    return html.Span(["h", html.Sup(f"({step})")], className="step", title=step_words(step))


def step_words(step: int) -> str:
    """A representation h(s) in words.

    >>> step_words(0), step_words(2)
    ('the projected features', 'the output of layer 2')
    """
    return f"the output of layer {step}" if step else "the projected features"


def _layer_table(layer: LayerAttention) -> Content:
    head = html.Tr(
        [
            html.Th("head", scope="col"),
            *(html.Th(step_mark(step), scope="col") for step in layer.steps),
            html.Th("refused", scope="col", className="refused"),
        ]
    )
    rows = [_row(str(h + 1), weights, refused) for h, (weights, refused) in enumerate(_heads(layer))]
    mean = _row("mean", layer.weight.mean(axis=0), float(layer.refused.mean()), "mean")
    return html.Table(
        [html.Caption(f"Layer {layer.layer}"), html.Thead(head), html.Tbody([*rows, mean])], className="attention heat"
    )


def _heads(layer: LayerAttention) -> list[tuple[np.ndarray, float]]:
    return [(weights, float(refused)) for weights, refused in zip(layer.weight, layer.refused, strict=True)]


def _row(title: str, weights: np.ndarray, refused: float, kind: str | None = None) -> Content:
    cells = [html.Td(f"{100 * share:.0f}", style={"--share": f"{share:.3f}"}) for share in weights]
    cells.append(html.Td(f"{100 * refused:.0f}", className="refused", style={"--share": f"{refused:.3f}"}))
    return html.Tr([html.Th(title, scope="row"), *cells], className=kind)


def _without_attention(session: Session, number: int, target: int, source: int) -> str:
    subject = session.runs[number]
    if subject.run.config.model == "gat":
        return GAT_HAS_NONE
    adj = subject.inputs.adj
    here = (adj.col == source) & (adj.target == target)
    weights = adj.normalized("gcn").weight
    assert weights is not None
    weight = float(weights[here].sum())
    return f"GCN does not choose: every layer takes the latest representation with the fixed weight {weight:.3f}."
