"""What the page shows of one class per node."""

from collections.abc import Callable

import numpy as np

from justjump.analysis.explore import Session
from justjump.analysis.explore.classes import Classes
from page_text import page_text


def test_the_confusion_matrix_is_that_of_the_run(session: Session) -> None:
    assert isinstance(session.answers, Classes)
    counts = session.answers.confusion(0)
    assert counts.tolist() == session.runs[0].run.confusion
    shown = page_text(session.answers.details(0)[0])
    assert shown.startswith("true class, predicted as 1 2 3 4 5 6 7")
    for c, name in enumerate(session.answers.names):
        assert f"{c + 1} {name} {' '.join(map(str, counts[c]))}" in shown


def test_a_node_without_a_label_is_neither_right_nor_wrong(made: Callable[..., Session]) -> None:
    session = made("multiclass")
    node = int(np.flatnonzero(~session.graph.labelled)[0])
    assert page_text(session.answers.truth(node)) == "unknown"
    assert session.answers.marks(0, node)[1:] == ["true-unknown"]
    assert page_text(session.answers.says(0, node)).endswith("sure")


def test_a_list_says_how_sure_it_is(session: Session) -> None:
    node = int(session.mistakes()[0])
    sure = f"{session.runs[0].confidence[node]:.0%}"
    assert page_text(session.answers.listed(0, node)) == f"{session.answers.hover(0, node).split(', truly ')[0]} {sure}"
    assert "wrong" in session.answers.marks(0, node)
