"""Which task labels are for, and what becomes of them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from justjump.data import DataError, Graph
from justjump.data.labels import Labels, change_task, check_labels, find_labels, known

NAN = float("nan")


@pytest.mark.parametrize(
    ("y", "task", "values", "names"),
    [
        ([2, 0, -1], "multiclass", [2, 0, -1], "012"),
        ([True, False], "multiclass", [1, 0], "01"),
        ([0.0, 1.0, NAN], "multiclass", [0, 1, -1], "01"),
        ([[1], [0]], "multiclass", [1, 0], "01"),
        ([[0, 1, 0], [1, 0, 0]], "multiclass", [1, 0], "012"),
        ([[0, 1], [1, 1]], "multilabel", [[0, 1], [1, 1]], "01"),
        ([[0, 1], [0, 0]], "multilabel", [[0, 1], [0, 0]], "01"),
        ([[0, -1], [1, 1]], "multilabel", [[0, NAN], [1, 1]], "01"),
        ([1.0, 2.0], "regression", [[1], [2]], ["target"]),
        ([0.5, NAN], "regression", [[0.5], [NAN]], ["target"]),
        ([[0.5, 1], [2, 3]], "regression", [[0.5, 1], [2, 3]], "01"),
        ([[3, 1], [2, 3]], "regression", [[3, 1], [2, 3]], "01"),
    ],
)
def test_the_task_is_found_from_the_targets(y: Any, task: str, values: Any, names: Any) -> None:
    labels = find_labels(np.array(y))
    assert (labels.task, labels.names) == (task, tuple(names))
    np.testing.assert_array_equal(labels.values, np.array(values))
    assert labels.values.dtype == (np.int64 if task == "multiclass" else np.float32)


def test_a_row_with_one_known_entry_has_a_label() -> None:
    assert known(np.array([0, -1])).tolist() == [True, False]
    assert known(np.array([[0, NAN], [NAN, NAN]])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (np.array(["a", "b"]), None, "give each class a number"),
        (np.zeros((2, 2, 2)), None, "shape"),
        (np.zeros((2, 0)), None, "shape"),
        (np.array([0.5, 1]), "multiclass", "whole numbers, got 0.5: use task='regression'"),
        (np.array([[1, 1], [0, 1]]), "multiclass", "row 0 has several"),
        (np.array([10**6, 1]), None, "renumber the classes"),
        (np.array([1e300, 1]), "multiclass", "whole numbers, got 1e"),
    ],
)
def test_bad_targets(y: np.ndarray, task: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        find_labels(y, task)


def test_classes_with_numbers_as_names_become_these_numbers() -> None:
    labels = Labels(np.array([0, 2, -1]), ("1", "2.5", "7"), "multiclass")
    changed = change_task(labels, "regression")
    np.testing.assert_array_equal(changed.values, np.array([[1], [7], [NAN]], np.float32))
    with pytest.raises(DataError, match="'red' is no number"):
        change_task(labels._replace(names=("red", "2", "3")), "regression")


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=8))
def test_one_label_of_several_is_a_class_again(numbers: list[int]) -> None:
    labels = Labels(np.array(numbers), tuple("abcd"), "multiclass")
    several = change_task(labels, "multilabel")
    assert several.values.shape == (len(numbers), 4)
    again = change_task(several, "multiclass")
    assert again.names == labels.names
    np.testing.assert_array_equal(again.values, labels.values)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (Labels(np.array([0, 1]), ("a",), "multiclass"), "1 classes"),
        (Labels(np.array([[0, 2.0]] * 2), ("a", "b"), "multilabel"), "row 0 has 2 for 'b'"),
        (Labels(np.array([0, np.inf]), ("a",), "regression"), "row 1 has inf"),
        (Labels(np.zeros((2, 3)), ("a",), "regression"), "one column for each"),
        (Labels(np.zeros(2), ("a", "a"), "regression"), "must differ"),
        (Labels(np.zeros(2), ("a",), "ranking"), "task='ranking' is unknown"),  # type: ignore[arg-type]
    ],
)
def test_bad_labels(labels: Labels, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_labels(labels, 2)


def test_a_graph_of_several_graphs_has_a_label_for_each() -> None:
    edges, x = np.array([[0, 1], [1, 0]]), np.eye(4)
    graph = Graph(edges, x, np.array([1, -1]), ("a", "b"), batch=np.array([0, 0, 1, 1]))
    assert (graph.num_graphs, graph.labelled.tolist()) == (2, [True, False])
    assert repr(graph) == "Graph('graph': 2 graphs, 4 nodes, 1 edges, 4 features, 2 classes)"
    for batch, message in ([0, 1, 0, 1], "ascending"), ([0, 0, 1, 2], "labels for 2 graphs"), ([0, 1], "4 numbers"):
        with pytest.raises(DataError, match=message):
            Graph(edges, x, np.array([1, -1]), ("a", "b"), batch=np.array(batch))


def test_with_task_changes_labels_and_names() -> None:
    graph = Graph(np.zeros((2, 0), int), np.eye(2), np.array([0, 1]), ("10", "20"))
    changed = graph.with_task("regression")
    assert (changed.task, changed.class_names, changed.labels.tolist()) == ("regression", ("target",), [[10], [20]])
    assert graph.with_task("multiclass") is graph


def test_no_labels_can_be_read_for_no_task() -> None:
    with pytest.raises(DataError, match="no labels to read for task='multilabel'"):
        change_task(Labels(np.array([-1, -1]), (), "multiclass"), "multilabel")
