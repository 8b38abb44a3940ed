"""Tables as graphs without edges."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.data import Data

from justjump.data import DataError, Graph, Table
from justjump.estimator import DNAClassifier
from justjump.estimator.tables import class_labels, is_table, number_labels, table_graph


def test_tables_and_graphs() -> None:
    data = Data(x=torch.eye(2), edge_index=torch.zeros(2, 0, dtype=torch.long))
    graph = Graph.from_pyg(data)
    assert [is_table(one) for one in ("cora", graph, data, [data, data])] == [False] * 4
    tables: tuple[Any, ...] = (np.eye(2), [[1, 2], [3, 4]], csr_array(np.eye(2)), pd.DataFrame({"a": [1]}), [], [["a"]])
    assert [is_table(one) for one in tables] == [True] * 6


@pytest.mark.parametrize("X", [np.eye(3), np.eye(3).tolist(), csr_array(np.eye(3))])
def test_rows_of_numbers(X: Any) -> None:
    graph = table_graph(DNAClassifier(), X, fits=True)
    assert (graph.num_nodes, graph.num_features, graph.num_edges) == (3, 3, 0)


def test_columns_of_a_frame() -> None:
    model = DNAClassifier()
    frame = pd.DataFrame({"age": [30.0, None, 50.0], "city": ["Bonn", "Ulm", "Bonn"]})
    graph = table_graph(model, frame, fits=True)
    assert isinstance(graph.features, Table)
    assert [column.kind for column in graph.features.columns] == ["number", "category"]
    assert model.feature_names_in_.tolist() == ["age", "city"]
    numbers = table_graph(model, frame[["age"]], fits=True)
    assert isinstance(numbers.features, np.ndarray)
    assert numbers.feature_names == ("age",)
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        table_graph(model, pd.DataFrame({"height": [1.0]}))


@pytest.mark.parametrize(
    ("y", "values", "classes"),
    [
        ([5, 2, 5], [1, 0, 1], [2, 5]),
        (["b", None, "a", ""], [1, -1, 0, -1], ["a", "b"]),
        ([1.0, np.nan, 0.0], [1, -1, 0], [0.0, 1.0]),
        ([True, False], [1, 0], [False, True]),
        ([-1, 1, 1], [0, 1, 1], [-1, 1]),
        ([-1, 1, 0], [-1, 1, 0], [0, 1]),
        (pd.Series(["b", "a"], dtype="category"), [1, 0], ["a", "b"]),
        ([[0], [1]], [0, 1], [0, 1]),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_classes(y: Any, values: list[int], classes: list[Any]) -> None:
    labels, found = class_labels(y)
    assert labels.task == "multiclass"
    assert labels.values.tolist() == values
    assert found.tolist() == classes
    assert type(found.tolist()[0]) is type(classes[0])


def test_minus_one_in_a_score_is_what_it_was_in_fit() -> None:
    assert class_labels([-1, 0], classes=np.array([0, 1]))[0].values.tolist() == [-1, 0]
    assert class_labels([-1, 1], classes=np.array([-1, 1]))[0].values.tolist() == [0, 1]


def test_several_labels() -> None:
    labels, found = class_labels([[1, 0], [-1, 1]])
    assert labels.task == "multilabel"
    assert np.array_equal(labels.values, np.array([[1, 0], [np.nan, 1]]), equal_nan=True)
    assert found.tolist() == [0, 1]
    labels, found = class_labels(pd.DataFrame({"red": [1, 0], "round": [1, 1]}))
    assert found.tolist() == ["red", "round"] == list(labels.names)
    assert class_labels([[1, 0], [0, 1]], "multiclass")[0].values.tolist() == [0, 1]


def test_numbers() -> None:
    labels = number_labels([1.5, np.nan])
    assert np.array_equal(labels.values, [[1.5], [np.nan]], equal_nan=True)
    assert labels.names == ("target",)
    assert number_labels(pd.DataFrame({"price": [1, 2], "size": [3, 4]})).names == ("price", "size")


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        ([0.5, 1.5], "auto", "Unknown label type: continuous"),
        ([0, np.inf], "auto", "y must hold classes, got infinity"),
        ([[0, 2], [1, 1]], "auto", "the columns of y must hold 0 and 1, got 2"),
        ([None, None], "auto", "y has no labels"),
        ([0, 1], "multilabel", "several columns of 0 and 1, got one column"),
    ],
)
def test_targets_that_make_no_sense(y: Any, task: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        class_labels(y, task)


def test_rows_and_targets_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        table_graph(DNAClassifier(), np.eye(3), class_labels([0, 1])[0], fits=True)
    with pytest.raises(ValueError, match="dim 3"):
        number_labels(np.zeros((2, 2, 2)))


def test_texts_are_no_numbers() -> None:
    with pytest.raises(DataError, match="y must hold numbers, got 'high': DNAClassifier predicts classes"):
        number_labels(np.array([1.5, "high"], dtype=object))
    assert number_labels(np.array(["1.5", 2], dtype=object)).values.tolist() == [[1.5], [2.0]]
