"""A linear model of the features in the output of a network."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import Tensor

from justjump.data import Graph, load
from justjump.data.labels import Task
from justjump.export import to_program
from justjump.nn import ModelConfig, NodeClassifier
from justjump.ops import Adjacency, Hops, Sampler, SparseMatrix
from justjump.train import Protocol, Run, fit, prepare
from justjump.train.checkpoint import Progress
from justjump.train.errors import TrainingError
from justjump.train.linear import SHARES, best_share, linear_models, linear_output, scores
from justjump.train.objective import Objective
from justjump.train.part import output_of_all
from justjump.train.start import default_split
from neighbor_graphs import graph_of, logistic_regression

SIZES: dict[str, Any] = {"hidden": 16, "groups": 1, "heads": 1, "max_epochs": 30, "progress": False}


@pytest.fixture(scope="module")
def lines() -> Graph:
    """Four classes without clusters: the borders pass through the crowd, and edges say nothing."""
    return linear_graph()


def linear_graph(task: Task = "multiclass") -> Graph:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 16))
    truth = x @ rng.normal(size=(16, 4)) + 0.3 * rng.gumbel(size=(2000, 4))
    pairs = rng.integers(0, 2000, (2, 8000))
    graph = graph_of(x, np.unique(np.concatenate([pairs, pairs[::-1]], 1), axis=1), truth.argmax(1))
    if task == "multiclass":
        return graph
    labels: Any = (truth > 0).astype(np.float32) if task == "multilabel" else truth.astype(np.float32)
    return replace(graph, labels=labels, task=task, class_names=("a", "b", "c", "d"))


def test_where_the_classes_are_linear_it_is_as_good_as_logistic_regression(
    lines: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = fit(lines, output=tmp_path / "run", progress=False)
    said = f"linear_share: {run.config.linear_share:g}, since a linear model of the features alone is at least as good"
    assert said in capsys.readouterr().err
    assert run.config.linear_share in SHARES
    without = fit(lines, linear_share=0, progress=False)
    linear, found, plain = logistic_regression(lines, 0), run.test_accuracy or 0.0, without.test_accuracy or 0.0
    assert found > linear - 0.01
    assert plain < linear - 0.015
    again = Run.load(tmp_path / "run")
    for one, other in zip(run.predict(lines), again.predict(lines), strict=True):
        assert np.array_equal(one, other)
    assert again.config == run.config
    assert fit(lines, output=tmp_path / "run", progress=False).config == run.config
    assert "linear_share" not in capsys.readouterr().err.replace("linear_share: 0", "", 1)


@pytest.mark.parametrize("task", ["multilabel", "regression"])
def test_other_tasks(task: Task) -> None:
    graph = linear_graph(task)
    with_share, without = (fit(graph, **SIZES, linear_share=share, seed=1) for share in (None, 0))
    assert with_share.config.linear_share in SHARES
    better, worse = with_share.score("test"), without.score("test")
    assert better is not None
    assert worse is not None
    assert better > worse


def test_where_neighbors_say_more_there_is_none() -> None:
    assert fit(load("cora"), progress=False).config.linear_share == 0


def test_a_share_that_was_chosen_mixes_the_same_network_with_the_linear_model(lines: Graph) -> None:
    plain, mixed = (fit(lines, **SIZES, linear_share=share) for share in (0, 0.4))
    assert mixed.config.linear_share == 0.4
    assert torch.equal(mixed.model.lin_out.weight, plain.model.lin_out.weight), "training does not see it"
    assert mixed.val_loss == pytest.approx(mixed.measures["val"]["log_loss"], rel=1e-4)
    inputs = prepare(lines, mixed.preprocessing)
    lin = mixed.model.lin_alone
    assert lin is not None
    with torch.no_grad():
        expected = 0.6 * output_of_all(plain.model, inputs) + 0.4 * lin(inputs.x)
        torch.testing.assert_close(output_of_all(mixed.model, inputs), expected)


def test_all_ways_to_compute_it_agree(lines: Graph, tmp_path: Path) -> None:
    run = fit(lines, **SIZES, linear_share=0.4)
    inputs = prepare(lines, run.preprocessing)
    nodes = torch.tensor([5, 900, 31])
    with torch.no_grad():
        whole = output_of_all(run.model, inputs)
        torch.testing.assert_close(output_of_all(run.model, replace(inputs, by_layer=True)), whole)
        torch.testing.assert_close(run.model(inputs.x, inputs.adj.toward(nodes)), whole[nodes])
        adj = inputs.adj.with_self_loops().normalized("gcn")
        sample = Sampler(adj, [-1, -1], keep_loops=True)(nodes)
        assert isinstance(inputs.x, Tensor)
        torch.testing.assert_close(run.model(inputs.x[sample.nodes], Hops(adj, sample)), whole[nodes])
        edges = torch.from_numpy(lines.edge_index)
        program = to_program(run.model, (inputs.x, edges)).module()
        torch.testing.assert_close(program(inputs.x, edges), whole)
    parts = lines.partition(3, tmp_path / "parts")
    for part in run.predict(parts):
        np.testing.assert_allclose(part.probabilities, run.predict(lines).probabilities[part.nodes], atol=1e-5)


def test_a_stopped_run_goes_on_to_the_same_share(lines: Graph, tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.epoch == 7:
            raise KeyboardInterrupt

    whole = fit(lines, **SIZES)
    assert not fit(lines, **SIZES, output=tmp_path / "run", on_epoch=stop).finished
    again = fit(lines, **SIZES, output=tmp_path / "run")
    assert again.finished
    assert again.config == whole.config
    for one, other in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_it_does_not_depend_on_the_number_of_threads(lines: Graph) -> None:
    before, found = torch.get_num_threads(), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        try:
            found.append(fit(lines, **SIZES))
        finally:
            torch.set_num_threads(before)
    for one, other in zip(found[0].model.parameters(), found[1].model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_hidden_labels_play_no_role(lines: Graph) -> None:
    split = default_split(lines, Protocol(), 0)
    labels = lines.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % 4
    runs = [fit(graph, **SIZES, split=split) for graph in (lines, replace(lines, labels=labels))]
    for one, other in zip(*(run.model.parameters() for run in runs), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("sparse", [False, True])
def test_linear_models_are_those_of_scikit_learn(sparse: bool) -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x = ((rng.random((300, 8)) < 0.3) * rng.normal(size=(300, 8))).astype(np.float32)
    labels = (x @ rng.normal(size=(8, 3)) + rng.normal(size=(300, 3))).argmax(1)
    rows: Any = SparseMatrix.from_scipy(scipy.sparse.csr_matrix(x)) if sparse else torch.from_numpy(x)
    found = list(linear_models(rows, torch.from_numpy(labels), Objective(), 3))
    for linear, strength in zip(found, (0.01, 0.1, 1.0, 10.0, 100.0), strict=True):
        expected = LogisticRegression(C=strength, tol=1e-8, max_iter=5000).fit(x, labels).predict_proba(x)
        np.testing.assert_allclose(linear_output(rows, linear).softmax(1).numpy(), expected, atol=5e-3)


def test_the_share_is_the_best_on_validation_unless_the_linear_model_is_worse() -> None:
    labels = torch.arange(200) % 2
    right, wrong = torch.eye(2)[labels], 1 - torch.eye(2)[labels]
    objective = Objective()
    some = torch.where((torch.arange(200) < 100)[:, None], right, wrong)
    others = torch.where((torch.arange(200) < 100)[:, None], 0.5 * wrong, right)  # less sure of what it has wrong
    assert best_share(objective, right, some, labels) == 0
    assert best_share(objective, some, right, labels) > 0.5
    assert best_share(objective, some, others, labels) == 0.5, "both together are right about all"
    assert best_share(objective, some, some, labels) == 0, "nothing is gained"


def test_scores_of_all_tasks() -> None:
    output = torch.tensor([[2.0, -1.0], [1.0, 3.0]])
    assert scores(Objective(), output, torch.tensor([0, 0])).tolist() == [1, 0]
    weighted = Objective(weight=torch.tensor([3.0, 1.0]))
    assert scores(weighted, output, torch.tensor([0, 1])).tolist() == [3, 1]
    unknown = torch.tensor([[1.0, torch.nan], [0.0, 1.0]])
    assert scores(Objective("multilabel"), output, unknown).tolist() == [1, 0.5]
    numbers = Objective("regression", mean=torch.tensor([1.0, 1.0]), scale=torch.tensor([2.0, 2.0]))
    assert scores(numbers, output, torch.tensor([[5.0, torch.nan], [1.0, 7.0]])).tolist() == [0, -0.5]


def test_features_without_a_linear_model(lines: Graph) -> None:
    graph = replace(lines, features=np.asarray(lines.features) * 1e18)
    with pytest.raises(
        TrainingError, match="there is no linear model .* for linear_share=0.5, since they have extreme"
    ):
        fit(graph, **SIZES, scale="none", linear_share=0.5)


def test_what_it_is_not_for(lines: Graph, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="linear_share=1.5 must be between 0 and 1"):
        ModelConfig(linear_share=1.5)
    with pytest.raises(ValueError, match="linear_share=0.5 is not for graphs in parts: leave it out"):
        fit(lines.partition(2, tmp_path / "parts"), **SIZES, linear_share=0.5)
    graphs = replace(lines, batch=np.arange(2000) // 4, labels=np.arange(500) % 2, class_names=("a", "b"))
    with pytest.raises(ValueError, match="linear_share=0.5 is for nodes, and .* has whole graphs: leave it out"):
        fit(graphs, **SIZES, linear_share=0.5)
    assert not fit(graphs, **SIZES | {"max_epochs": 2}).config.linear_share
    model = NodeClassifier(ModelConfig(linear_share=0.5), 16, 4)
    adj = Adjacency.build(torch.zeros((2, 0), dtype=torch.long), num_nodes=2)
    with pytest.raises(ValueError, match="linear_share=0.5 is for nodes: leave out batch"):
        model(torch.zeros(2, 16), adj, batch=torch.zeros(2, dtype=torch.long))
