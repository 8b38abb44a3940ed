"""What a node's own features say, and how much neighbours add."""

from typing import Any

import numpy as np
import pytest

from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import TrainingWarning, fit
from neighbor_graphs import NODES, chosen_share, gain_of, graph_of, made


@pytest.mark.parametrize("sparse", [False, True])
def test_random_neighbors_add_nothing_and_those_of_the_class_add_much(sparse: bool) -> None:
    for edges, is_little in (("random", True), ("within", False)):
        graph = made(0.6, edges, sparse)
        gain = gain_of(graph)
        assert gain is not None
        assert (gain.accuracy < 0.02) == is_little
        assert 0 <= gain.error < 0.03
        assert gain.is_little == is_little
        assert chosen_share(graph) == (0.5 if is_little else None)


def test_features_that_say_nothing_decide_nothing() -> None:
    """Here the class is a sign of a product, of which a linear model knows nothing."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(NODES, 2))
    labels = (features[:, 0] * features[:, 1] > 0).astype(int)
    assert chosen_share(graph_of(features, rng.integers(0, NODES, (2, 3 * NODES)), labels)) is None


def test_a_rare_class_that_its_neighbors_show_counts() -> None:
    """It is 2 % of the nodes, so what they add is always less than 4 points of accuracy."""
    rng = np.random.default_rng(0)
    often = np.where(np.arange(3 * NODES) < 1.5 * NODES, 0, 1)
    labels = np.where(np.arange(3 * NODES) % 60 == 0, 2, often)
    features = 5 * np.eye(3)[np.where(labels == 2, 0, labels)] + rng.normal(size=(3 * NODES, 3))
    rare, source = np.flatnonzero(labels == 2), np.repeat(np.arange(3 * NODES), 3)
    target = np.where(labels[source] == 2, rng.choice(rare, len(source)), rng.permutation(source))
    target = np.where((labels[source] != 2) & (labels[target] == 2), source, target)
    graph = graph_of(features, np.stack([np.r_[source, target], np.r_[target, source]]), labels)
    gain = gain_of(graph)
    assert gain is not None
    assert gain.accuracy + 4 * gain.error < 0.04 < gain.by_class
    assert chosen_share(graph) is None


def test_neighbors_of_features_that_say_all_add_little() -> None:
    assert chosen_share(made(0.1, "within")) == 0.5


def test_a_network_below_a_linear_model_of_the_features_says_so() -> None:
    graph = made(0.3, "random")
    sizes: dict[str, Any] = {"hidden": 16, "groups": 1, "heads": 1, "progress": False}
    with pytest.warns(TrainingWarning, match="a linear model of the features alone is right about 9"):
        run = fit(graph, recommended(ModelConfig), max_epochs=1, linear_share=0, **sizes)
    assert any("a linear model" in note for note in run.notes)
    assert not any("a linear model" in note for note in fit(graph, **sizes).notes)
