"""The contents of the panels about a node."""

import numpy as np

from justjump.analysis import Influence
from justjump.analysis.explore import Session
from justjump.analysis.explore.panels import influence_list, legend, node_facts, run_says
from page_text import page_text


def test_facts_of_a_node(session: Session, ring_session: Session) -> None:
    degree = int(session.degrees[35])
    shown = page_text(node_facts(session, 35, hops=2))
    assert shown.startswith(f"Node 35 true class {session.class_names[session.graph.labels[35]]} {degree} neighbour")
    hub = int(session.degrees.argmax())
    assert "169 nodes are within 1 hop, the nearest 120 are drawn" in page_text(node_facts(session, hub, hops=1))
    assert page_text(node_facts(ring_session, 11, hops=1)) == (
        "Node Node l number 11 true class unknown 1 neighbour 2 nodes within 1 hop"
    )


def test_what_a_run_says(session: Session) -> None:
    split = session.splits[0]
    assert split is not None
    for role, nodes in (("training", split.train), ("validation", split.val), ("test", split.test)):
        node = int(nodes[0])
        predicted = int(session.runs[0].predicted[node])
        verdict = "right" if predicted == session.graph.labels[node] else "wrong"
        sure = f"{session.confidence[0][node]:.0%} sure"
        assert (
            page_text(run_says(session, 0, node)) == f"{session.class_names[predicted]} {sure} {verdict} a {role} node"
        )


def test_the_legend_is_that_of_the_colouring(session: Session) -> None:
    assert page_text(legend(session, "influence", highest=0.25)).startswith("0 % 25.0% of all influence")
    assert page_text(legend(session, "true", highest=0.25)).startswith(session.class_names[0])


def test_the_strongest_come_first_and_neighbours_have_a_button(ring_session: Session) -> None:
    found = Influence(np.array([5, 4, 3]), np.array([0.2, 0.1, 0.7]), np.array([0, 1, 2]))
    bars, rows = influence_list(ring_session, 0, 5, found)
    assert page_text(bars) == "0 hops 20.0% 1 hop 10.0% 2 hops 70.0%"
    listed = [page_text(row) for row in rows.children[1].children]
    assert [line.split()[1] for line in listed] == ["d", "f", "e"]
    assert [line.endswith(" edge") for line in listed] == [False, True, True], "node d is two hops away"
