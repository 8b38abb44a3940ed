"""What the page knows, and which runs and graphs go together."""

import sys
from pathlib import Path

import numpy as np
import pytest

from justjump.analysis.explore import Session, open_session, server
from justjump.analysis.explore.elements import elements
from justjump.data import Split, load
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, RunError, fit


@pytest.fixture
def ring_session(ring: Path, ring_run: Path) -> Session:
    return open_session([ring_run], str(ring), directed=True, data_dir=None)


def test_accuracy_is_that_of_training(session: Session, runs: list[Path]) -> None:
    for number, folder in enumerate(runs):
        counts = session.confusion(number)
        assert counts.sum() == session.runs[number].run.split_sizes[2]
        assert counts.trace() / counts.sum() == pytest.approx(Run.load(folder).test_accuracy)


def test_disagreements_are_all_of_them_and_the_surest_come_first(session: Session) -> None:
    first, second = session.runs
    nodes = session.disagreements()
    assert sorted(nodes) == np.flatnonzero(first.predicted != second.predicted).tolist()
    confidence = np.minimum(*session.confidence)[nodes]
    assert (np.diff(confidence) <= 0).all()


def test_mistakes_leave_out_training_nodes(session: Session) -> None:
    nodes = session.mistakes()
    split = session.splits[0]
    assert split is not None
    assert not np.isin(nodes, split.train).any()
    assert (session.runs[0].predicted[nodes] != session.graph.labels[nodes]).all()


def test_influence_is_computed_once(session: Session) -> None:
    assert session.influence(0, 7) is session.influence(0, 7)
    assert session.influence(0, 7).share.sum() == pytest.approx(1)


def test_only_dna_has_attention_over_the_history(session: Session) -> None:
    neighbour = int(session.neighbourhood(7, 1).nodes[1])
    layers = session.attention(0, 7, neighbour)
    assert layers is not None
    assert [layer.weight.shape for layer in layers] == [(4, 1), (4, 2)]
    assert session.attention(1, 7, neighbour) is None


def test_search_by_name_or_number(ring_session: Session) -> None:
    assert ring_session.find(" Node d ") == 3
    assert ring_session.find("11") == 11
    assert ring_session.find("Node z") is None
    assert ring_session.suggestions("E D") == ["Node d"]
    assert ring_session.suggestions("node")[:2] == ["Node c", "Node d"]
    assert ring_session.suggestions(" ") == []


def test_similar_names_are_found(session: Session, ring_session: Session) -> None:
    assert ring_session.similar("ode d") == ["Node d"]
    assert "Node d" in ring_session.similar("nde d")
    assert ring_session.handle == "name"
    assert session.handle == "number"


def test_the_first_click_finds_everything_ready(ring_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    monkeypatch.setattr(ring_session, "influence", lambda number, node: done.append(("influence", number)))
    monkeypatch.setattr(ring_session, "attention", lambda number, *edge: done.append(("attention", number)))
    monkeypatch.setattr(server, "listen", lambda app, port: pytest.fail("not yet") if not done else sys.exit())
    with pytest.raises(SystemExit):
        server.serve(ring_session, port=0)
    assert done == [("influence", 0), ("attention", 0)]


def test_a_hub_is_cut_and_its_size_is_known(session: Session) -> None:
    hub = int(session.degrees.argmax())
    assert len(session.neighbourhood(hub, 1).nodes) == 120
    assert session.size(hub, 1) == 169


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


def test_a_split_of_its_own_needs_to_be_asked_for(tmp_path: Path) -> None:
    cora = load("cora")
    parts = np.split(np.arange(300), 3)
    fit(cora, ModelConfig("gcn", layers=1), Protocol(max_epochs=1), split=Split(*parts), output=tmp_path)
    with pytest.raises(RunError, match="was trained on other data than cora.*--graph cora"):
        open_session([tmp_path], graph=None, directed=False, data_dir=None)
    session = open_session([tmp_path], graph="cora", directed=False, data_dir=None)
    assert session.splits == [None]
    assert session.confusion(0).sum() == 2708  # every labelled node


def test_what_does_not_fit_is_refused(runs: list[Path], ring: Path, ring_run: Path) -> None:
    with pytest.raises(RunError, match="other classes"):
        open_session(runs, str(ring), directed=False, data_dir=None)
    with pytest.raises(RunError, match="other classes"):
        open_session([runs[0], ring_run], None, directed=False, data_dir=None)
    with pytest.raises(RunError, match="graph of your own, 'ring': name its file with --graph"):
        open_session([ring_run], None, directed=False, data_dir=None)


@pytest.mark.parametrize("hops", [-1, 0, 4, 1_000_000])
def test_only_near_nodes_are_shown(session: Session, hops: int) -> None:
    with pytest.raises(ValueError, match=f"{hops} hops cannot be shown: choose 1 to 3"):
        session.neighbourhood(35, hops)


def test_a_request_does_not_wait_forever(ring_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("justjump.analysis.explore.session.LONGEST_WAIT", 0.1)
    with ring_session._turn():
        for compute in (lambda: ring_session.neighbourhood(0, 1), lambda: ring_session.influence(0, 0)):
            with pytest.raises(TimeoutError, match="kept the page busy for 0.1 seconds: try again"):
                compute()
    assert ring_session.neighbourhood(0, 1).nodes.tolist() == [0, 11]
