"""How good the runs are, and where they differ."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from justjump.analysis.explore import Session, open_session
from justjump.analysis.explore.quality import LISTED, notes, quality_panel, row_list
from justjump.train.measures import WORDS
from page_text import page_text


@pytest.mark.parametrize("number", [0, 1])
def test_the_measures_are_those_of_the_run(session: Session, number: int) -> None:
    run = session.runs[number].run
    line, table, *_ = quality_panel(session, number)
    assert page_text(line) == "542 training nodes, 542 validation nodes, 1,624 test nodes"
    shown = page_text(table)
    values = [f"{run.measures[role]['balanced_accuracy']:.1%}" for role in ("train", "val", "test")]
    assert f"balanced accuracy {' '.join(values)}" in shown
    assert f"log loss {run.measures['train']['log_loss']:.3f}" in shown


@pytest.mark.parametrize("task", ["multiclass", "multilabel", "regression", "graphs"])
def test_every_task_has_its_measures(made: Callable[..., Session], task: str) -> None:
    session = made(task)
    shown = page_text(quality_panel(session, 0))
    for name in session.runs[0].run.measures["test"]:
        assert WORDS[name] in shown
    assert ("class" in shown) == (task in ("multiclass", "graphs"))
    assert ("test graphs" in shown) == (task == "graphs")


def test_notes_come_with_the_name_of_their_run(made: Callable[..., Session], monkeypatch: pytest.MonkeyPatch) -> None:
    session = made("multiclass", runs=2)
    for number, subject in enumerate(session.runs):
        monkeypatch.setattr(subject.run, "notes", (f"note {number}",))
    assert page_text(notes(session)) == "run 0: note 0 run 1: note 1"


def test_two_runs_list_where_they_disagree(session: Session) -> None:
    nodes, names = session.disagreements(), session.answers.names
    shown = page_text(row_list(session))
    assert shown.startswith("Nodes the runs disagree on")
    assert f"{len(nodes):,} of 2,708 nodes; {LISTED} of them, the surest first:" in shown
    first = int(nodes[0])
    predicted = names[session.runs[0].predicted[first]]
    assert f"{first} {names[session.graph.labels[first]]} {predicted}" in shown


def test_one_run_lists_its_mistakes(ring_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert page_text(row_list(ring_session)).startswith("Nodes the run gets wrong")
    monkeypatch.setattr(ring_session, "mistakes", lambda: np.array([], dtype=int))
    assert page_text(row_list(ring_session)) == "Nodes the run gets wrong There are none."


def test_the_largest_errors_come_first(made: Callable[..., Session]) -> None:
    session = made("regression")
    off = np.abs(session.runs[0].predicted - session.graph.labels)[:, 0]
    assert (np.diff(off[session.mistakes()]) <= 0).all()
    assert not session.runs[0].trained[session.mistakes()].any()
    assert page_text(row_list(session)).startswith("Nodes the run is furthest off for")


def test_graphs_are_all_listed(made: Callable[..., Session]) -> None:
    session = made("graphs")
    title, line, table = row_list(session)
    assert page_text([title, line]).startswith("Graphs Those the run gets wrong come first:")
    assert len(table.children.children[1].children) == 40


def test_another_graph_says_that_its_split_is_not_known(ring: Path, ring_run: Path, tmp_path: Path) -> None:
    shutil.copy(ring / "nodes.csv", tmp_path)
    edges = (ring / "edges.csv").read_text().splitlines(keepends=True)
    (tmp_path / "edges.csv").write_text("".join(edges[:-1]))
    session = open_session([ring_run], str(tmp_path), directed=False, data_dir=None)
    assert "Of 10 labelled nodes. Which of them it was trained on is not known" in page_text(quality_panel(session, 0))


def test_a_run_of_an_older_version_is_measured_again(
    made: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = made("multiclass")
    before = page_text(quality_panel(session, 0)[1])
    monkeypatch.setattr(session.runs[0].run, "measures", {})
    assert page_text(quality_panel(session, 0)[1]) == before
