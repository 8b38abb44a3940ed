"""What an edge attends to."""

import pytest

from justjump.analysis.explore import Session
from justjump.analysis.explore.edge_panel import edge_hint, edge_panel, edge_title
from page_text import page_text


def neighbour(session: Session, node: int) -> int:
    return int(session.neighbourhood(node, 1).nodes[1])


def test_shares_of_every_layer_and_head(session: Session) -> None:
    source = neighbour(session, 35)
    layers = session.attention(0, 35, source)
    assert layers is not None
    shown = page_text(edge_panel(session, 0, 35, source))
    assert shown.startswith(f"In the last layer it takes {layers[1].weight.mean(axis=0).sum():.0%} of what is there")
    assert f"and refuses {layers[1].refused.mean():.0%} (mean of 4 heads)." in shown
    for layer in layers:
        first = " ".join(f"{100 * share:.0f}" for share in (*layer.weight[0], layer.refused[0]))
        heads = " ".join(f"h ({step})" for step in layer.steps)
        assert f"Layer {layer.layer} head {heads} refused 1 {first} 2 " in shown


def test_gcn_has_a_fixed_weight(session: Session) -> None:
    source = neighbour(session, 35)
    weight = 1 / ((session.degrees[35] + 1) * (session.degrees[source] + 1)) ** 0.5
    assert page_text(edge_panel(session, 1, 35, source)).endswith(f"with the fixed weight {weight:.3f}.")


def test_hints_say_what_a_click_shows(session: Session) -> None:
    assert edge_hint(session, 0).endswith("to see what it attends to.")
    assert edge_hint(session, 1).startswith("GCN has no attention. Click an edge")


@pytest.mark.parametrize(("target", "source", "title"), [(5, 5, "itself"), (5, 4, "Node e")])
def test_the_title_names_the_ends(ring_session: Session, target: int, source: int, title: str) -> None:
    assert page_text(edge_title(ring_session, target, source)) == f"What Node f takes from {title}"


def test_an_edge_with_an_opposite_can_be_turned(session: Session) -> None:
    assert page_text(edge_title(session, 35, neighbour(session, 35))).endswith("other direction")
