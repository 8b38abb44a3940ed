"""The regressor in scikit-learn's style."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.metrics import r2_score

from justjump import DNARegressor
from justjump.data import DataError, Graph
from made_graphs import made_graph


def test_one_target(small: dict[str, Any]) -> None:
    graph = made_graph("regression", nodes=120)
    model = DNARegressor(**small).fit(graph)
    found = model.predict(graph)
    assert found.shape == (120,)
    test = model.split_.test
    assert model.score(graph) == pytest.approx(r2_score(graph.labels[test, 0], found[test]))
    assert model.score(graph) == pytest.approx(model.run_.measures["test"]["r2"])
    assert is_regressor(model)


def test_several_targets(small: dict[str, Any], rows: np.ndarray) -> None:
    y = np.stack([rows[:, 0], -5 * rows[:, 0]], axis=1)
    y[3, 1] = np.nan
    model = DNARegressor(**small).fit(rows, y)
    assert model.predict(rows).shape == (60, 2)
    there = np.arange(60) != 3
    scores = [r2_score(y[:, 0], model.predict(rows)[:, 0]), r2_score(y[there, 1], model.predict(rows)[there, 1])]
    assert model.score(rows, y) == pytest.approx(np.mean(scores))


def test_classes_with_numbers_as_names(small: dict[str, Any]) -> None:
    graph = made_graph("multiclass", nodes=60)
    graph = replace(graph, class_names=("1", "2", "5"))
    model = DNARegressor(**small).fit(graph)
    assert model.run_.task == "regression"
    assert np.isfinite(model.score(graph))


def test_a_target_that_is_not_there(small: dict[str, Any], rows: np.ndarray) -> None:
    graph = Graph(np.zeros((2, 0), int), rows, rows[:, :2], ("price", "size"), task="regression")
    model = DNARegressor(**small).fit(graph)
    turned = replace(graph, labels=graph.labels[:, ::-1], class_names=("size", "price"))
    assert model.score(turned, nodes=np.arange(60)) == model.score(graph, nodes=np.arange(60))
    with pytest.raises(DataError, match="lacks labels that the model was trained with: size"):
        model.score(replace(graph, class_names=("price", "age")), nodes=np.arange(60))


def test_a_single_row_has_no_score(small: dict[str, Any], rows: np.ndarray) -> None:
    assert np.isnan(DNARegressor(**small).fit(rows, rows[:, 0]).score(rows[:1], rows[:1, 0]))
