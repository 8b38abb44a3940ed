"""A neighbourhood as Cytoscape draws it. Elements carry classes and numbers; explore.js turns them into colours."""

from typing import Any

import numpy as np

from justjump.analysis import Neighbourhood
from justjump.analysis.explore.rings import ring_positions
from justjump.analysis.explore.session import Session

Element = dict[str, Any]
LONGEST_LABEL = 16


def elements(session: Session, number: int, around: Neighbourhood, shares: np.ndarray, highest: float) -> list[Element]:
    """The nodes and edges of a neighbourhood in one of the runs.

    Args:
        number: number of the run
        around: the neighbourhood; its first node is the centre
        shares: influence of each of its nodes on the centre ``[n]``
        highest: the influence that gets the full colour
    """
    positions = ring_positions(around.hops, around.edge_index)
    nodes = [
        _node(session, number, int(node), int(hop), position, float(share), highest)
        for node, hop, position, share in zip(around.nodes, around.hops, positions, shares, strict=True)
    ]
    return nodes + _edges(session, around)


def edge_id(target: int, source: int) -> str:
    """The id of an edge: the same for both directions, which are drawn as one line."""
    return f"edge-{min(target, source)}-{max(target, source)}"


def short(name: str) -> str:
    """
    >>> short("a-name-that-goes-on-and-on")
    'a-name-that-goe…'
    """
    return name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"


def _node(
    session: Session, number: int, node: int, hop: int, position: np.ndarray, share: float, highest: float
) -> Element:
    classes, levels, name = [f"hop-{hop}"], {}, session.names[node]
    said = ""
    if session.unit == "node":  # the nodes of a graph with one label would all look the same
        classes += session.answers.marks(number, node)
        levels = session.answers.levels(number, node)
        said = f"{session.answers.hover(number, node)}, "
    return {
        "data": {
            "id": f"node-{node}",
            "node": node,
            "label": short(name),
            # Few nodes have most of the influence; the square root lets the others be seen.
            "level": round((share / highest) ** 0.5, 4) if highest > 0 else 0.0,
            "about": f"{name}: {said}influence {share:.1%}",
            **levels,
        },
        "position": {"x": round(float(position[0]), 1), "y": round(float(position[1]), 1)},
        "classes": " ".join(classes),
    }


def _edges(session: Session, around: Neighbourhood) -> list[Element]:
    """One line per connected pair; a click shows what the node nearer to the centre takes from the other."""
    pairs: dict[str, Element] = {}
    directed = not session.graph.is_undirected
    outermost_first = around.edge_index[:, np.argsort(-around.hops[around.edge_index[1]], kind="stable")]
    for source, target in around.nodes[outermost_first].T.tolist():
        if source == target:
            continue
        pairs[edge_id(target, source)] = {  # the last direction wins
            "data": {
                "id": edge_id(target, source),
                "source": f"node-{source}",
                "target": f"node-{target}",
                "from": source,
                "to": target,
            },
            "classes": "directed" if directed else "",
        }
    return list(pairs.values())
