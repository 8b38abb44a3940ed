"""What scikit-learn asks of every estimator, and what both of ours share."""

import pickle
from collections.abc import Iterator
from functools import partial
from typing import Any

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from torch_geometric.data import Data

from justjump import DNAClassifier, DNARegressor
from justjump.data import DataError
from made_graphs import made_graph, made_graphs

# Without dropout and with larger steps: scikit-learn's tables have 10 to 300 rows, and must be learned well.
EASY: dict[str, Any] = {
    **{"layers": 1, "hidden": 16, "heads": 2, "groups": 2, "learning_rate": 0.05, "max_epochs": 60},
    **{"dropout": 0.0, "input_dropout": 0.0, "attention_dropout": 0.0},
}


def expected_failures(estimator: object) -> dict[str, str]:
    if isinstance(estimator, DNAClassifier):
        return {"check_class_weight_classifiers": "class_weight is 'none' or 'balanced', not a weight for each class"}
    return {"check_regressor_multioutput": "predictions are float32, as the network computes them, and not float64"}


def all_checks() -> Iterator[Any]:
    for estimator in (DNAClassifier(**EASY), DNARegressor(**EASY)):
        failures = expected_failures(estimator)
        yield from estimator_checks_generator(estimator, expected_failed_checks=failures, mark="xfail")


def name_of(one: Any) -> str:
    return getattr(getattr(one, "func", None), "__name__", type(one).__name__)


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "check"), list(all_checks()), ids=name_of)
def test_scikit_learn_checks(estimator: object, check: Any) -> None:
    check(estimator)


def test_a_grid_search_over_a_table(small: dict[str, Any], rows: np.ndarray) -> None:
    search = GridSearchCV(DNAClassifier(**small), {"learning_rate": [1e-6, 0.05]}, cv=2).fit(rows, np.arange(60) % 3)
    assert search.best_params_ == {"learning_rate": 0.05}
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("labels", [None, np.zeros(60)])
def test_a_grid_search_over_a_graph_says_what_to_do(small: dict[str, Any], labels: np.ndarray | None) -> None:
    model, graph = DNAClassifier(**small), made_graph("multiclass", nodes=60)
    for search in (GridSearchCV(model, {"layers": [1]}, cv=2).fit, partial(cross_val_score, model, cv=2)):
        with pytest.raises(TypeError, match=r"multiclass is a graph and no array of rows, .* run_.score\('val'\)"):
            search(graph, labels)


def test_whole_graphs_are_cross_validated(small: dict[str, Any]) -> None:
    edge_index, random = torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.Generator().manual_seed(0)
    graphs = [
        Data(x=torch.randn(4, 3, generator=random) + kind, edge_index=edge_index, y=torch.tensor(kind))
        for kind in (0, 3) * 12
    ]
    scores = cross_val_score(DNAClassifier(**small, fractions=(0.7, 0.3, 0.0)), graphs, cv=2)
    assert scores.mean() > 0.8
    model = DNAClassifier(**small).fit(graphs)
    assert model.score(graphs) == model.score(graphs, nodes=model.split_.test), "those of fit have test graphs"
    assert model.score(graphs[:5]) == model.score(graphs[:5], nodes=np.arange(5))
    assert model.predict(graphs[0]).shape == (1,)
    assert model.score(graphs[0]) in (0.0, 1.0)


def test_a_pipeline_over_a_table(small: dict[str, Any], rows: np.ndarray) -> None:
    model = make_pipeline(StandardScaler(), DNARegressor(**small)).fit(rows, rows[:, 0])
    assert model.score(rows, rows[:, 0]) > 0.8


def test_four_fifths_of_a_table_train(small: dict[str, Any], rows: np.ndarray) -> None:
    model = DNARegressor(**small).fit(rows, rows[:, 0])
    assert [len(part) for part in (model.split_.train, model.split_.val, model.split_.test)] == [48, 12, 0]
    model.set_params(fractions=(0.5, 0.25, 0.25)).fit(rows, rows[:, 0])
    assert [len(part) for part in (model.split_.train, model.split_.val, model.split_.test)] == [30, 15, 15]
    with pytest.raises(DataError, match=r"2 labelled nodes are too few for a share of 0.2 val nodes"):
        model.set_params(fractions=None).fit(rows[:2], rows[:2, 0])


def test_a_table_is_trained_without_a_word(
    small: dict[str, Any], rows: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    model = DNARegressor(**small).fit(1e6 * rows, rows[:, 0])
    assert "standardised" in model.run_.preprocessing.describe()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("dump", [pickle, joblib])
def test_a_fitted_one_can_be_pickled(small: dict[str, Any], dump: Any, tmp_path: Any) -> None:
    graph = made_graph("regression", nodes=60)
    model = DNARegressor(**small).fit(graph)
    with (tmp_path / "model").open("wb") as file:
        dump.dump(model, file)
    with (tmp_path / "model").open("rb") as file:
        again = dump.load(file)
    assert np.array_equal(again.predict(graph), model.predict(graph))
    assert again.score(graph) == model.score(graph)
    assert clone(again).get_params() == model.get_params()


def test_whole_graphs(small: dict[str, Any]) -> None:
    graphs = made_graphs(40)
    model = DNAClassifier(**small, readout="sum").fit(graphs)
    assert model.predict(graphs).shape == (40,)
    assert model.score(graphs) == pytest.approx(model.run_.test_accuracy)


def test_random_states(small: dict[str, Any], rows: np.ndarray) -> None:
    seeds = [DNARegressor(**small, random_state=one)._seed() for one in (3, np.int64(3), np.random.RandomState(0))]
    assert seeds[:2] == [3, 3]
    assert seeds[2] == np.random.RandomState(0).randint(2**31)
    assert DNARegressor(**small, random_state=None).fit(rows, rows[:, 0]).run_.seed >= 0


def test_labels_have_one_place(small: dict[str, Any], rows: np.ndarray) -> None:
    graph = made_graph("multiclass", nodes=60)
    with pytest.raises(TypeError, match="the labels of a graph are in it: leave y out of DNAClassifier.fit"):
        DNAClassifier(**small).fit(graph, graph.labels)
    with pytest.raises(TypeError, match="leave y out of DNAClassifier.score"):
        DNAClassifier(**small).fit(graph).score(graph, graph.labels)
    with pytest.raises(ValueError, match="DNARegressor.fit requires y"):
        DNARegressor().fit(rows)
    with pytest.raises(ValueError, match="DNARegressor.score requires y"):
        DNARegressor(**small).fit(rows, rows[:, 0]).score(rows)
