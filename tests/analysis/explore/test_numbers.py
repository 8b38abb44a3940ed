"""What the page shows of numbers."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from justjump.analysis.explore import Session
from justjump.analysis.explore.numbers import Numbers
from justjump.analysis.subject import make_subject
from justjump.data import Graph
from justjump.nn import ModelConfig
from justjump.train import Protocol, fit
from made_graphs import made_graph
from page_text import page_text


def test_one_target_is_not_named_in_every_choice(made: Callable[..., Session]) -> None:
    answers = made("regression").answers
    assert answers.colourings == {"predicted_0": "predicted", "true_0": "true", "error_0": "error"}
    assert answers.true_words == "true target"


@pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")
def test_several_targets_have_measures_and_a_figure_each() -> None:
    graph = made_graph("regression", nodes=60)
    both = np.concatenate([graph.labels, -graph.labels / 1000], axis=1)
    graph = replace(graph, labels=both, class_names=("rent", "noise"))
    run = fit(graph, ModelConfig("gcn", layers=1, hidden=8, groups=2), Protocol(max_epochs=2))
    answers = Numbers(graph, [make_subject(run, graph)])
    table, *figures = answers.details(0)
    assert page_text(table).startswith("target known MAE RMSE R2 rent")
    assert [page_text(figure.children[1].children[0]) for figure in figures] == [
        "Predicted and true rent",
        "Predicted and true noise",
    ]
    node = int(answers.mistakes()[0])
    assert answers.hover(0, node).startswith("rent ")
    off = np.abs(answers.runs[0].predicted - answers.labels) / [high - low for low, high in answers.ranges]
    assert off[node].mean() == pytest.approx(np.nanmax(off.mean(axis=1)[answers.mistakes()]))


def test_a_run_without_labels_to_compare_with(made: Callable[..., Session]) -> None:
    session = made("regression")
    graph: Graph = replace(session.graph, labels=np.full_like(session.graph.labels, np.nan))
    answers = Numbers(graph, [make_subject(session.runs[0].run, graph)])
    assert answers.details(0) == []
    assert len(answers.mistakes()) == 0
    assert page_text(answers.truth(0)) == "unknown"
