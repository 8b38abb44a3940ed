"""What the page knows, and which runs and graphs go together."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from justjump.analysis.explore import Session, open_session
from justjump.analysis.explore.classes import Classes
from justjump.analysis.explore.session import WHOLE
from justjump.data import Split, load
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, RunError, fit


def test_accuracy_is_that_of_training(session: Session, runs: list[Path]) -> None:
    for number, folder in enumerate(runs):
        assert isinstance(session.answers, Classes)
        counts = session.answers.confusion(number)
        assert counts.sum() == session.runs[number].run.split_sizes[2]
        assert counts.trace() / counts.sum() == pytest.approx(Run.load(folder).test_accuracy)


def test_disagreements_are_all_of_them_and_the_surest_come_first(session: Session) -> None:
    first, second = session.runs
    nodes = session.disagreements()
    assert sorted(nodes) == np.flatnonzero(first.predicted != second.predicted).tolist()
    confidence = np.minimum(first.confidence, second.confidence)[nodes]
    assert (np.diff(confidence) <= 0).all()


def test_mistakes_leave_out_training_nodes(session: Session) -> None:
    nodes = session.mistakes()
    split = session.runs[0].split
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


def test_a_hub_is_cut_and_its_size_is_known(session: Session) -> None:
    hub = int(session.degrees.argmax())
    assert len(session.neighbourhood(hub, 1).nodes) == 120
    assert session.size(hub, 1) == 169


def test_a_split_of_its_own_is_kept_with_the_run(tmp_path: Path) -> None:
    cora = load("cora")
    parts = np.split(np.arange(300), 3)
    fit(cora, ModelConfig("gcn", layers=1), Protocol(max_epochs=1), split=Split(*parts), output=tmp_path)
    session = open_session([tmp_path], graph=None, directed=False, data_dir=None)
    assert isinstance(session.answers, Classes)
    assert session.answers.confusion(0).sum() == 100
    (tmp_path / "split.safetensors").unlink()  # runs of older versions have none
    with pytest.raises(RunError, match="was trained on other data than cora.*--graph cora"):
        open_session([tmp_path], graph=None, directed=False, data_dir=None)
    session = open_session([tmp_path], graph="cora", directed=False, data_dir=None)
    assert session.runs[0].split is None
    assert isinstance(session.answers, Classes)
    assert session.answers.confusion(0).sum() == 2708  # every labelled node


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


def test_a_graph_among_several_is_found_by_its_number(made: Callable[..., Session]) -> None:
    session = made("graphs")
    batch = session.graph.batch
    assert batch is not None
    assert session.find("5") == session.node_of(5)
    assert session.find("5:2") == int(np.flatnonzero(batch == 5)[2])
    assert session.find("40") is None
    assert session.suggestions("3")[0] == "3"
    assert session.suggestions("5:")[0] == "5:0"
    around = session.neighbourhood(session.node_of(5), WHOLE)
    assert sorted(around.nodes) == np.flatnonzero(batch == 5).tolist()


@pytest.mark.parametrize("task", ["multiclass", "multilabel", "regression", "graphs"])
def test_two_runs_of_every_task_can_be_compared(made: Callable[..., Session], task: str) -> None:
    session = made(task, runs=2)
    first, second = session.runs
    rows = session.disagreements()
    if task == "regression":
        assert len(rows) == session.graph.num_nodes
    else:
        differing = (first.predicted != second.predicted).reshape(len(first.predicted), -1).any(axis=1)
        assert sorted(rows) == np.flatnonzero(differing).tolist()


def test_runs_of_different_tasks_cannot_be_compared(made: Callable[..., Session]) -> None:
    numbers, labels = made("regression"), made("multilabel")
    with pytest.raises(RunError, match="predict different numbers: they cannot be compared"):
        Session(numbers.graph, [*numbers.runs, *labels.runs])
