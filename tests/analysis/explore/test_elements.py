"""A neighbourhood as it is drawn."""

from collections.abc import Callable

import numpy as np

from justjump.analysis.explore import Session
from justjump.analysis.explore.elements import elements
from justjump.analysis.explore.session import WHOLE


def test_edges_are_drawn_once_towards_the_middle(session: Session) -> None:
    around = session.neighbourhood(0, 2)
    drawn = elements(session, 0, around, np.zeros(len(around.nodes)), highest=0.0)
    edges = [element["data"] for element in drawn if "source" in element["data"]]
    assert len(edges) == around.edge_index.shape[1] // 2
    hops = dict(zip(around.nodes.tolist(), around.hops.tolist(), strict=True))
    assert all(hops[edge["to"]] <= hops[edge["from"]] for edge in edges)


def test_edges_of_a_directed_graph_are_followed_backwards(ring_session: Session) -> None:
    around = ring_session.neighbourhood(5, 2)
    assert around.nodes.tolist() == [5, 4, 3]
    drawn = elements(ring_session, 0, around, np.ones(3), highest=1.0)
    assert [(e["data"]["from"], e["data"]["to"]) for e in drawn if e.get("classes") == "directed"] == [(3, 4), (4, 5)]


def test_a_node_carries_its_classes_its_level_and_a_short_label(ring_session: Session) -> None:
    around = ring_session.neighbourhood(2, 1)
    first, second = elements(ring_session, 0, around, np.array([0.04, 0.16]), highest=0.16)[:2]
    assert (first["data"]["level"], second["data"]["level"]) == (0.5, 1.0)
    assert second["data"]["label"] == "long name long …"
    assert first["classes"].split()[0] == "hop-0"
    assert "true-0" in first["classes"].split()
    predicted = int(ring_session.runs[0].predicted[2])
    assert ("wrong" in first["classes"].split()) == (predicted != 0)


def test_numbers_are_levels_and_unknown_ones_are_left_out(made: Callable[..., Session]) -> None:
    session = made("regression")
    unknown = int(np.flatnonzero(~session.graph.labelled)[0])
    around = session.neighbourhood(unknown, 1)
    first, second = (element["data"] for element in elements(session, 0, around, np.ones(len(around.nodes)), 1.0)[:2])
    assert 0 <= first["predicted_0"] <= 1
    assert "error_0" not in first
    assert "error_0" in second
    assert "too" in second["about"]


def test_nodes_of_a_graph_with_one_label_carry_no_label(made: Callable[..., Session]) -> None:
    session = made("graphs")
    around = session.neighbourhood(0, WHOLE)
    drawn = elements(session, 0, around, np.ones(len(around.nodes)), 1.0)
    assert drawn[0]["classes"] == "hop-0"
    assert drawn[0]["data"]["about"] == "0:0: influence 100.0%"
