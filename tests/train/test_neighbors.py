"""The share of h(0) that suits a graph: larger where neighbours surely add little to a node's own features."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from justjump.data import Graph, Split, load
from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import Protocol, TrainingWarning, fit, prepare
from justjump.train.neighbors import LARGER_SHARE, Gain, features_alone, with_share
from justjump.train.start import default_split

NODES, CLASSES = 3000, 3


def graph_of(features: np.ndarray, pairs: np.ndarray, labels: np.ndarray) -> Graph:
    x = torch.from_numpy(features.astype(np.float32))
    return Graph.of(Data(x=x, edge_index=torch.from_numpy(pairs), y=torch.from_numpy(labels)))


def made(noise: float, edges: str, sparse: bool = False) -> Graph:
    """Nodes whose features show their class through noise, and whose edges lead to their class or to any node."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, NODES)
    features = np.eye(CLASSES)[labels] + noise * rng.normal(size=(NODES, CLASSES))
    if sparse:  # words: columns of zeros and a few ones
        features = np.concatenate([features > 0.5, rng.random((NODES, 40)) < 0.05], axis=1)
    source = np.repeat(np.arange(NODES), 3)
    members = [np.flatnonzero(labels == one) for one in range(CLASSES)]
    same = np.array([rng.choice(members[labels[node]]) for node in source])
    target = same if edges == "within" else rng.integers(0, NODES, len(source))
    pairs = np.stack([np.r_[source, target], np.r_[target, source]])
    return graph_of(features, pairs, labels)


def chosen(graph: Graph, **options: Any) -> float | None:
    return with_share(replace(recommended(ModelConfig), **options), gain_of(graph)).initial_share


def gain_of(graph: Graph) -> Gain | None:
    inputs, split = prepare(graph), first_split(graph)
    return Gain.of(features_alone(graph, inputs, split), inputs, split)


def first_split(graph: Graph) -> Split:
    return default_split(graph, Protocol(), 0)


@pytest.mark.parametrize("sparse", [False, True])
def test_random_neighbors_add_nothing_and_those_of_the_class_add_much(sparse: bool) -> None:
    for edges, is_little in (("random", True), ("within", False)):
        graph = made(0.6, edges, sparse)
        gain = gain_of(graph)
        assert gain is not None
        assert (gain.accuracy < 0.02) == is_little
        assert 0 <= gain.error < 0.03
        assert gain.is_little == is_little
        assert chosen(graph) == (0.5 if is_little else None)


def test_features_that_say_nothing_decide_nothing() -> None:
    """Here the class is a sign of a product, of which a linear model knows nothing."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(NODES, 2))
    labels = (features[:, 0] * features[:, 1] > 0).astype(int)
    assert chosen(graph_of(features, rng.integers(0, NODES, (2, 3 * NODES)), labels)) is None


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
    assert chosen(graph) is None


def test_neighbors_of_features_that_say_all_add_little() -> None:
    assert chosen(made(0.1, "within")) == 0.5


def test_what_was_chosen_stays_and_so_do_deep_networks_and_other_tasks() -> None:
    graph = made(0.6, "random")
    assert chosen(graph) == 0.5
    assert chosen(graph, initial_share=0.2) == 0.2
    assert chosen(graph, layers=5) is None
    assert chosen(graph, update="none") is None
    numbers = graph_of(np.asarray(graph.features), graph.edge_index, graph.labels + 0.5)
    assert numbers.task == "regression"
    assert chosen(numbers) is None


def test_a_few_nodes_decide_nothing() -> None:
    """Sure is who has seen many: on Cora's papers neighbours matter, and of ten nodes nobody knows."""
    assert chosen(load("cora")) is None
    rng = np.random.default_rng(0)
    few = graph_of(rng.normal(size=(20, 2)), rng.integers(0, 20, (2, 40)), np.arange(20) % 2)
    assert chosen(few) is None


def test_fit_uses_it_and_a_run_remembers_it(tmp_path: Path) -> None:
    graph = made(0.6, "random")
    run = fit(graph, hidden=16, groups=1, heads=1, max_epochs=2, progress=False, output=tmp_path / "run")
    assert run.model.config.initial_share == 0.5
    again = fit(graph, hidden=16, groups=1, heads=1, max_epochs=2, progress=False, output=tmp_path / "run")
    assert again.val_loss == run.val_loss
    explicit = fit(graph, hidden=16, groups=1, heads=1, max_epochs=2, progress=False, initial_share=0.5)
    assert explicit.val_loss == run.val_loss, "the choice draws no random numbers of the training"


def test_a_network_below_a_linear_model_of_the_features_says_so() -> None:
    graph = made(0.3, "random")
    sizes: dict[str, Any] = {"hidden": 16, "groups": 1, "heads": 1, "progress": False}
    with pytest.warns(TrainingWarning, match="a linear model of the features alone is right about 9"):
        run = fit(graph, recommended(ModelConfig), max_epochs=1, **sizes)
    assert any("a linear model" in note for note in run.notes)
    assert not any("a linear model" in note for note in fit(graph, **sizes).notes)


def test_a_saved_run_keeps_the_share_that_it_was_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A version of justjump that would choose otherwise returns the run as it is."""
    graph = made(0.6, "random")
    sizes: dict[str, Any] = {"hidden": 16, "groups": 1, "heads": 1, "max_epochs": 2, "progress": False}
    former = fit(graph, **sizes, initial_share=0.3, output=tmp_path / "run")
    again = fit(graph, **sizes, output=tmp_path / "run")
    assert (again.config.initial_share, again.val_loss) == (0.3, former.val_loss)
    assert "initial_share" not in capsys.readouterr().err
    assert fit(graph, **sizes).config.initial_share == LARGER_SHARE
    assert "initial_share: 0.5, since neighbours add little" in capsys.readouterr().err
    assert fit(graph, **sizes, batch_size=256).config.initial_share == LARGER_SHARE


def test_unknown_labels_and_a_graph_without_edges() -> None:
    graph = made(0.6, "random")
    known = replace(graph, labels=np.where(np.arange(NODES) % 10 > 0, graph.labels, -1))
    assert chosen(known) == LARGER_SHARE
    assert chosen(replace(graph, edge_index=np.zeros((2, 0), np.int64))) == LARGER_SHARE


def test_it_does_not_depend_on_the_number_of_threads() -> None:
    graph = made(0.6, "random", sparse=True)
    found = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            run = fit(graph, hidden=16, groups=1, heads=1, max_epochs=2, progress=False)
        finally:
            torch.set_num_threads(before)
        found.append((run.model.config.initial_share, run.val_loss))
    assert found[0] == found[1]
