"""The contents of the panels about a node."""

from collections.abc import Callable

import numpy as np

from justjump.analysis import Influence
from justjump.analysis.explore import Session
from justjump.analysis.explore.panels import influence_list, legend, node_facts, run_says
from justjump.analysis.explore.session import WHOLE
from justjump.analysis.summaries import shown_number
from page_text import page_text


def test_facts_of_a_node(session: Session, ring_session: Session) -> None:
    degree = int(session.degrees[35])
    shown = page_text(node_facts(session, 35, hops=2))
    assert shown.startswith(f"Node 35 true class {session.answers.names[session.graph.labels[35]]} {degree} neighbour")
    hub = int(session.degrees.argmax())
    assert "169 nodes are within 1 hop, the nearest 120 are drawn" in page_text(node_facts(session, hub, hops=1))
    assert page_text(node_facts(ring_session, 11, hops=1)) == (
        "Node Node l number 11 true class unknown 1 neighbour 2 nodes within 1 hop"
    )


def test_what_a_run_says(session: Session) -> None:
    split = session.runs[0].split
    assert split is not None
    for role, nodes in (("training", split.train), ("validation", split.val), ("test", split.test)):
        node = int(nodes[0])
        predicted = int(session.runs[0].predicted[node])
        verdict = "right" if predicted == session.graph.labels[node] else "wrong"
        sure = f"{session.runs[0].confidence[node]:.0%} sure"
        said = f"{session.answers.names[predicted]} {sure} {verdict} a {role} node"
        assert page_text(run_says(session, 0, node)) == said


def test_the_legend_is_that_of_the_colouring(session: Session) -> None:
    assert page_text(legend(session, "influence", highest=0.25)).startswith("0 % 25.0% of all influence")
    assert page_text(legend(session, "true", highest=0.25)).startswith(session.answers.names[0])


def test_the_strongest_come_first_and_neighbours_have_a_button(ring_session: Session) -> None:
    found = Influence(np.array([5, 4, 3]), np.array([0.2, 0.1, 0.7]), np.array([0, 1, 2]))
    bars, rows = influence_list(ring_session, 0, 5, found)
    assert page_text(bars) == "0 hops 20.0% 1 hop 10.0% 2 hops 70.0%"
    listed = [page_text(row) for row in rows.children[1].children]
    assert [line.split()[1] for line in listed] == ["d", "f", "e"]
    assert [line.endswith(" edge") for line in listed] == [False, True, True], "node d is two hops away"


def test_labels_of_a_node_are_right_or_wrong_one_by_one(made: Callable[..., Session]) -> None:
    session = made("multilabel")
    labels = session.graph.labels
    node = int(np.flatnonzero(np.isnan(labels[:, 0]) & ~np.isnan(labels[:, 1]))[0])
    said = page_text(run_says(session, 0, node))
    probability, predicted = session.runs[0].probability[node], session.runs[0].predicted[node]
    verdict = "right" if predicted[1] == labels[node, 1] else "wrong"
    assert f"1 {probability[1]:.0%} {verdict}" in said
    assert f"0 {probability[0]:.0%} right" not in said
    assert f"0 {probability[0]:.0%} wrong" not in said
    assert "(0 unknown)" in page_text(node_facts(session, node, 1))


def test_a_number_has_a_residual(made: Callable[..., Session]) -> None:
    session = made("regression")
    node = int(np.flatnonzero(session.graph.labelled)[0])
    off = float(session.runs[0].predicted[node, 0] - session.graph.labels[node, 0])
    said = page_text(run_says(session, 0, node))
    assert f"{shown_number(abs(off))} too {'high' if off > 0 else 'low'}" in said
    assert page_text(legend(session, "influence", 0.5)) == "0 % 50.0% of all influence on the node in the middle"
    assert page_text(legend(session, "predicted_0", 0.5)).endswith("predicted target")


def test_a_node_of_a_graph_has_the_label_of_its_graph(made: Callable[..., Session]) -> None:
    session = made("graphs")
    node = session.node_of(3)
    assert "in graph 3, true class 1" in page_text(node_facts(session, node, WHOLE))
    assert page_text(run_says(session, 0, node)).endswith("graph")
    rows = influence_list(session, 0, node, session.influence(0, node))[1]
    assert page_text(rows.children[0]) == "node hops influence"
