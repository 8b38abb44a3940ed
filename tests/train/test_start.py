"""What a run starts from: labels that can be learned, a split, features as they are."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from justjump.data import DataError, Graph, Split
from justjump.nn import ModelConfig
from justjump.train import Protocol, fit
from made_graphs import made_graph, made_graphs, peoples_graphs

SMALL = ModelConfig(layers=2, hidden=16, heads=4, groups=4)
SHORT = Protocol(max_epochs=6)


def test_own_split_and_own_masks(tiny: Graph) -> None:
    split = Split(np.array([0, 10]), np.array([1, 11]), np.array([2, 12, 13]))
    assert fit(tiny, SMALL, SHORT, split=split).split_sizes == (2, 2, 3)
    train, val, test = (np.isin(np.arange(20), part) for part in (split.train, split.val, split.test))
    masked = replace(tiny, masks=(train, val, test))
    assert fit(masked, SMALL, SHORT).split_sizes == (2, 2, 3)


def test_labels_that_teach_nothing_are_refused(tiny: Graph) -> None:
    one = replace(tiny, labels=np.zeros(20, dtype=np.int64), class_names=("left",))
    with pytest.raises(DataError, match="all labels of tiny are 'left'"):
        fit(one, SMALL, SHORT)
    none = replace(tiny, labels=np.full(20, -1), class_names=())
    with pytest.raises(DataError, match="tiny has no labels to learn from"):
        fit(none, SMALL, SHORT)


def test_numbers_that_are_all_equal_are_refused(tiny: Graph) -> None:
    same = replace(tiny, labels=np.full((20, 1), 2.5), class_names=("price",), task="regression")
    with pytest.raises(DataError, match=r"all labels of tiny are 2\.5: learning takes numbers that differ"):
        fit(same, SMALL, SHORT)


def test_labels_of_a_single_class_are_refused(tiny: Graph) -> None:
    data = tiny.to_pyg()
    data.y = torch.ones(20, dtype=torch.long)
    with pytest.raises(DataError, match="all labels of graph are '1': learning takes two classes or more"):
        fit(data, SMALL, SHORT)
    data.y = torch.tensor([-1, 1] * 10)
    advice = "10 are unknown: if -1 stands for a class, write 0 in its place"
    with pytest.raises(DataError, match=rf"all known labels of graph are '1' \({advice}\): learning takes two"):
        fit(data, SMALL, SHORT)
    data.y = torch.tensor([[-1, 1], [1, 1]] * 10)
    with pytest.raises(DataError, match=rf"all known labels of graph are 1 \({advice}\): learning takes some that"):
        fit(data, SMALL, SHORT)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0, 1], [1], [2]), "node 1 stands in the split twice"),
        (([0], [], [2]), "the split has no val nodes"),
        (([0], [99], [2]), "holds node 99, but there are 20 nodes"),
        (([0], [3], [2]), "node 3 is in the split but has no label"),
        (([0.5], [1], [2]), "train must be a list of node numbers"),
    ],
)
def test_bad_splits_are_refused(tiny: Graph, parts: Any, message: str) -> None:
    labels = tiny.labels.copy()
    labels[3] = -1
    graph = replace(tiny, labels=labels)
    with pytest.raises(DataError, match=message):
        fit(graph, SMALL, SHORT, split=Split(*parts))


def test_the_task_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    fit(made_graph("regression", 60), SMALL, SHORT)
    assert "task: regression, 1 number (target) for each node; task=... chooses another\n" in capsys.readouterr().err
    fit(made_graph("multiclass", 60), SMALL, SHORT)
    assert "task: multiclass, 3 classes (0, 1, 2) for each node\n" in capsys.readouterr().err
    fit(made_graphs(20), SMALL, SHORT, task="multiclass")
    assert "task: multiclass, 2 classes (0, 1) for each graph\n" in capsys.readouterr().err


def test_columns_and_inputs_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    fit(peoples_graphs()["customers"], SMALL, SHORT, max_epochs=1)
    assert "remark: left out (text); 5 columns become 10 inputs\n" in capsys.readouterr().err


def test_sparse_features_are_left_without_a_word(cora: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    run = fit(cora, SMALL, SHORT, progress=False)
    assert "features" not in capsys.readouterr().err
    assert not run.preprocessing.changes
    assert run.preprocessing.num_outputs == 1433


def test_whole_graphs_are_called_graphs() -> None:
    graphs = made_graphs(2)
    with pytest.raises(DataError, match="2 labelled graphs are too few for a share of 0.2 train graphs: label more"):
        fit(graphs, SMALL, SHORT)
    with pytest.raises(DataError, match="the split holds graph 7, but there are 2 graphs"):
        fit(graphs, SMALL, SHORT, split=Split(np.array([0]), np.array([7]), np.array([1])))
    none = replace(graphs, labels=np.array([-1, -1]), class_names=())
    with pytest.raises(DataError, match="give the graphs a label each, as y of their Data"):
        fit(none, SMALL, SHORT)
    with pytest.raises(DataError, match="give the graphs a label each, in a column label of graphs.csv"):
        fit(replace(none, graph_names=("a", "b")), SMALL, SHORT)


def test_a_column_that_may_be_the_label_is_named(tiny: Graph) -> None:
    unlabelled = replace(
        tiny, labels=np.full(20, -1), class_names=(), feature_names=("a", "b", "c", "d", "e", "target")
    )
    with pytest.raises(
        DataError, match="no labels to learn from: if 'target' is the label, say so with label='target'"
    ):
        fit(unlabelled, SMALL, SHORT)


def test_tensors_are_no_graph(tiny: Graph) -> None:
    x, y = torch.from_numpy(np.asarray(tiny.features)), torch.from_numpy(tiny.labels)
    with pytest.raises(DataError, match=r"got Tensor: make a Data\(x=..., edge_index=..., y=...\)"):
        fit(x, torch.from_numpy(tiny.edge_index), y)  # type: ignore[arg-type]


def test_what_is_watched_or_picked_must_be_a_measure_of_the_task(tiny: Graph) -> None:
    with pytest.raises(ValueError, match="watch='mae' is no measure of a multiclass task: choose one of loss, "):
        fit(tiny, SMALL, SHORT, watch="mae")
    with pytest.raises(ValueError, match="pick='r2' is no measure of a multiclass task"):
        fit(tiny, SMALL, SHORT, pick="r2")


def test_whole_numbers_are_numbers_if_the_task_says_so(tiny: Graph) -> None:
    data = tiny.to_pyg()
    data.y = torch.arange(20) * 1000 - 1  # -1 is a number here, and none counts from 0
    assert sum(fit(data, SMALL, SHORT, task="regression").split_sizes) == 20
    graphs = [data.clone() for _ in range(12)]
    for number, one in enumerate(graphs):
        one.y = torch.tensor(number - 5)
    assert sum(fit(graphs, SMALL, SHORT, task="regression").split_sizes) == 12
