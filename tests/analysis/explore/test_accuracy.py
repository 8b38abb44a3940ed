"""How good the runs are, and where they differ."""

from pathlib import Path

import numpy as np
import pytest

from justjump.analysis.explore import Session, open_session
from justjump.analysis.explore.accuracy import LISTED, accuracy_panel, disagreement_list
from page_text import page_text


@pytest.mark.parametrize("number", [0, 1])
def test_the_confusion_matrix_stands_below_the_accuracies(session: Session, number: int) -> None:
    run, counts = session.runs[number].run, session.confusion(number)
    line, matrix = accuracy_panel(session, number)
    assert page_text(line).startswith(f"test {run.test_accuracy:.1%}, validation {run.val_accuracy:.1%}")
    head, *rows = (page_text(row) for part in matrix.children.children for row in _rows(part))
    assert head == "true class, predicted as 1 2 3 4 5 6 7"
    for c, row in enumerate(rows):
        assert row == f"{c + 1} {session.class_names[c]} {' '.join(map(str, counts[c]))}"


def _rows(part: object) -> list[object]:
    rows = part.children  # type: ignore[attr-defined]
    return rows if isinstance(rows, list) else [rows]


def test_two_runs_list_where_they_disagree(session: Session) -> None:
    nodes = session.disagreements()
    shown = page_text(disagreement_list(session))
    assert shown.startswith("Nodes the runs disagree on")
    assert f"{len(nodes):,} of 2,708 nodes; {LISTED} of them, the surest first:" in shown
    first = int(nodes[0])
    classes = [session.class_names[subject.predicted[first]] for subject in session.runs]
    assert f"{first} {session.class_names[session.graph.labels[first]]} {classes[0]}" in shown


def test_one_run_lists_its_mistakes(ring_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert page_text(disagreement_list(ring_session)).startswith("Nodes the run gets wrong")
    monkeypatch.setattr(ring_session, "mistakes", lambda: np.array([], dtype=int))
    assert page_text(disagreement_list(ring_session)) == "Nodes the run gets wrong There are none."


def test_another_graph_says_that_its_split_is_not_known(ring: Path, ring_run: Path) -> None:
    session = open_session([ring_run], str(ring), directed=False, data_dir=None)  # trained with directed edges
    assert "of 10 labelled nodes. Which of them it was trained on is not known" in page_text(accuracy_panel(session, 0))
