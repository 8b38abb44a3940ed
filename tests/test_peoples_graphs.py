"""Graphs of many kinds are learned without an option being set."""

import warnings

import numpy as np
import pytest

from justjump.data import Graph
from justjump.train import Run, fit
from made_graphs import peoples_graphs

GRAPHS = peoples_graphs()


def guess(graph: Graph, run: Run) -> float:
    """The score of whoever says the most frequent class, a coin's side or the mean."""
    assert run.split is not None
    if graph.task == "multiclass":
        return float((graph.labels[run.split.test] == np.bincount(graph.labels[run.split.train]).argmax()).mean())
    return 0.5 if graph.task == "multilabel" else 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_fit_without_options(name: str) -> None:
    graph = GRAPHS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = fit(graph)
    score = run.score("test")
    assert score is not None
    if name == "fraud":  # a class of one node in twelve: the network says so, or has learned it
        balanced = run.measures["test"]["balanced_accuracy"]
        assert run.notes or (balanced is not None and balanced > 0.6)
    else:
        assert score > guess(graph, run) + 0.02
    found = run.predict(graph)
    assert len(found.classes) == (graph.num_nodes if graph.batch is None else graph.num_graphs)
    assert np.isfinite(found.probabilities).all()
