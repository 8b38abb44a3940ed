"""What the page shows of several labels per node."""

from collections.abc import Callable

import numpy as np
import pytest

from justjump.analysis.explore import Session
from justjump.analysis.explore.labels import Labels
from page_text import page_text


@pytest.fixture
def answers(made: Callable[..., Session]) -> Labels:
    found = made("multilabel").answers
    assert isinstance(found, Labels)
    return found


def test_only_known_labels_can_be_wrong(answers: Labels) -> None:
    labels, predicted = answers.labels, answers.runs[0].predicted
    for row in range(len(labels)):
        wrong = sum(int(t != p) for t, p in zip(labels[row], predicted[row], strict=True) if not np.isnan(t))
        assert answers.wrong[0][row] == wrong
        assert answers.marks(0, row) == ["wrong"] * (wrong > 0)
        assert ("wrong_labels" in answers.levels(0, row)) == answers.graph.labelled[row]


def test_the_most_wrong_come_first(answers: Labels) -> None:
    rows = answers.mistakes()
    assert (np.diff(answers.wrong[0][rows]) <= 0).all()
    assert f"{answers.wrong[0][rows[0]]} wrong" in page_text(answers.listed(0, int(rows[0])))


def test_each_label_has_its_measures(answers: Labels) -> None:
    line, table, figure = answers.details(0)
    assert page_text(line).startswith("All known labels are right for")
    assert page_text(table).startswith("label known ROC-AUC average precision F1 0 ")
    assert "Calibration of the labels of the test nodes" in page_text(figure.children[1])


def test_colours_are_those_of_a_label(answers: Labels) -> None:
    assert list(answers.colourings) == ["wrong_labels", "label_0", "label_1", "label_2"]
    assert answers.levels(0, 3)["label_1"] == pytest.approx(answers.runs[0].probability[3, 1], abs=1e-3)
    assert page_text(answers.legend("label_1")) == "0 % 100 %, probability of 1 some label is wrong"
