"""The classifier in scikit-learn's style."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

import justjump
from justjump.data import DataError, Graph, Split, random_split
from justjump.estimator import DNAClassifier, NotFittedError
from justjump.options import recommended
from justjump.train import Protocol
from made_graphs import made_graph

SMALL: dict[str, Any] = {"layers": 1, "hidden": 8, "heads": 2, "groups": 2, "max_epochs": 30}


def two_rings(names: tuple[str, ...] = ("even", "odd"), nodes: int = 40) -> Graph:
    """Even nodes on one ring, odd ones on another, each with its own feature."""
    number = np.arange(nodes)
    ahead = (number + 2) % nodes
    edges = np.stack([np.r_[number, ahead], np.r_[ahead, number]])
    return Graph(edges, np.eye(2)[number % 2], number % 2, names, name="rings")


@pytest.fixture(scope="module")
def fitted() -> DNAClassifier:
    return DNAClassifier(**SMALL).fit(two_rings())


@pytest.mark.slow
def test_five_lines_on_cora() -> None:
    model = justjump.DNAClassifier(layers=2, hidden=64)
    model.fit("cora")
    assert model.score("cora") > 0.8
    assert model.score("cora") == pytest.approx(model.run_.test_accuracy)
    assert set(model.predict("cora")) <= set(justjump.load("cora").class_names)


def test_what_fit_leaves(fitted: DNAClassifier) -> None:
    assert fitted.classes_.tolist() == ["even", "odd"]
    assert fitted.run_.finished
    assert len(fitted.split_.test) == 24


def test_predictions_agree_with_each_other(fitted: DNAClassifier) -> None:
    graph = two_rings()
    probabilities = fitted.predict_proba(graph)
    assert probabilities.shape == (40, 2)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(40))
    assert (fitted.predict(graph) == fitted.classes_[probabilities.argmax(axis=1)]).all()
    right = fitted.predict(graph) == np.array(["even", "odd"])[graph.labels]
    assert fitted.score(graph) == pytest.approx(right[fitted.split_.test].mean())
    assert fitted.score(graph, nodes=fitted.split_.train) == pytest.approx(right[fitted.split_.train].mean())
    assert fitted.score(graph, nodes=graph.labels == 0) == pytest.approx(right[graph.labels == 0].mean())


def test_classes_of_a_pyg_graph_are_numbers() -> None:
    graph = two_rings().to_pyg()
    model = DNAClassifier(**SMALL).fit(graph)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict(graph).dtype.kind == "i"
    assert model.score(graph) == pytest.approx(model.run_.test_accuracy)


def test_own_masks_and_own_split() -> None:
    graph = two_rings()
    split = random_split(graph.labels, seed=5)
    train, val, test = (np.isin(np.arange(40), part) for part in (split.train, split.val, split.test))
    for model in (
        DNAClassifier(**SMALL).fit(replace(graph, masks=(train, val, test))),
        DNAClassifier(**SMALL).fit(graph, split),
    ):
        assert model.split_.test.tolist() == split.test.tolist()


def test_classes_are_matched_by_name(fitted: DNAClassifier) -> None:
    graph = two_rings()
    turned = replace(graph, labels=1 - graph.labels, class_names=("odd", "even"))
    assert fitted.score(turned, nodes=np.arange(40)) == fitted.score(graph, nodes=np.arange(40))


@pytest.mark.parametrize(
    ("graph", "nodes", "message"),
    [
        (two_rings(nodes=42), None, "rings is not the graph of fit, which the test nodes belong to: pass nodes"),
        (two_rings(), [], "nodes must be node numbers or a bool array"),
        (two_rings(), [True], "nodes must be node numbers or a bool array"),
        (two_rings(), [40], "nodes holds 40, but rings has 40 nodes"),
        (replace(two_rings(), labels=np.full(40, -1)), [3], "node 3 has no label"),
        (two_rings(("0", "1")), [3], "the classes of rings (0, 1, ...) are none of those of fit (even, odd, ...)"),
    ],
)
def test_scores_that_make_no_sense(fitted: DNAClassifier, graph: Graph, nodes: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        fitted.score(graph, nodes=nodes)
    assert message in str(error.value)


def test_a_split_without_test_nodes() -> None:
    graph = two_rings()
    model = DNAClassifier(**SMALL).fit(graph, Split(np.arange(20), np.arange(20, 40), np.arange(0)))
    with pytest.raises(DataError, match="no test nodes"):
        model.score(graph)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score"])
def test_before_fit(method: str) -> None:
    with pytest.raises(NotFittedError, match="this DNAClassifier is not fitted yet: call fit first"):
        getattr(DNAClassifier(), method)("cora")


def test_parameters_reach_the_run() -> None:
    model = DNAClassifier(**SMALL, patience=3, stratified=False, window=1, random_state=7).fit(two_rings())
    assert model.run_.config.window == 1
    assert model.run_.protocol == recommended(Protocol, max_epochs=30, patience=3, stratified=False)
    assert model.run_.seed == 7


def test_wrong_parameters_are_named_by_fit() -> None:
    with pytest.raises(ValueError, match="groups=6 does not divide hidden=128"):
        DNAClassifier(groups=6).fit("cora")
    with pytest.raises(DataError, match="there is no dataset 'corra': did you mean cora?"):
        DNAClassifier().fit("corra")


def test_clone_of_scikit_learn(fitted: DNAClassifier) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "run_")
    assert is_classifier(copy)
    check_is_fitted(fitted)
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(copy)
    assert copy.fit(two_rings()).score(two_rings()) == fitted.score(two_rings())


def test_pipeline_and_grid_of_scikit_learn() -> None:
    steps = Pipeline([("dna", DNAClassifier(**SMALL))]).fit(two_rings())
    assert len(steps.predict(two_rings())) == 40
    models = [DNAClassifier(**SMALL).set_params(**p) for p in ParameterGrid({"layers": [1, 2]})]
    assert [model.layers for model in models] == [1, 2]


def test_the_same_seed_gives_the_same_network() -> None:
    a, b = (DNAClassifier(**SMALL, random_state=3).fit(two_rings()).predict_proba(two_rings()) for _ in range(2))
    assert np.array_equal(a, b)


def test_a_data_object_with_dense_features() -> None:
    x = torch.eye(2)[torch.arange(40) % 2]
    edge_index = torch.tensor(two_rings().edge_index)
    graph = Data(x=x, edge_index=edge_index, y=torch.arange(40) % 2)
    assert DNAClassifier(**SMALL).fit(graph).predict_proba(graph).shape == (40, 2)


def test_several_labels_per_node() -> None:
    graph = made_graph("multilabel", nodes=120)
    model = DNAClassifier(**SMALL).fit(graph)
    assert model.classes_.tolist() == [0, 1, 2]
    probabilities, found = model.predict_proba(graph), model.predict(graph)
    assert probabilities.shape == found.shape == (120, 3)
    assert np.array_equal(found, probabilities > 0.5)
    test = model.split_.test
    right = (found == graph.labels) | np.isnan(graph.labels)
    assert model.score(graph) == pytest.approx(right[test].all(axis=1).mean())


def test_numbers_are_for_the_regressor() -> None:
    with pytest.raises(DataError, match="the labels of regression are numbers: use DNARegressor"):
        DNAClassifier(**SMALL).fit(made_graph("regression", nodes=60))
    with pytest.raises(ValueError, match="task='regression' is for DNARegressor"):
        DNAClassifier(task="regression").fit(two_rings())


def test_classes_of_a_table() -> None:
    rows = np.eye(2)[np.arange(40) % 2]
    model = DNAClassifier(**SMALL, class_weight="balanced").fit(rows, np.where(rows[:, 0] > 0.5, "yes", "no"))
    assert set(model.predict(rows)) <= {"yes", "no"}
    assert model.score(rows, model.predict(rows)) == 1
    assert model.score(rows[:4], ["maybe", "no", "yes", None]) <= 2 / 3
