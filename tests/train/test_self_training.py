"""Self-training: targets, weights, what it leaves alone, and when training chooses it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import neighbor_graphs
from justjump.data import Graph
from justjump.nn import ModelConfig, NodeClassifier
from justjump.train import Protocol, fit, prepare
from justjump.train.checkpoint import Progress, State
from justjump.train.objective import Objective
from justjump.train.optimizer import make_average, make_optimizer
from justjump.train.self_training import RISE, SelfTraining, sharpened
from justjump.train.start import default_split
from neighbor_graphs import logistic_regression

SIZES: dict[str, Any] = {"hidden": 16, "groups": 1, "heads": 1, "progress": False}


@pytest.fixture(scope="module")
def random_edges() -> Graph:
    return neighbor_graphs.random_edges()


def test_sharper_probabilities_keep_the_sizes_of_the_classes() -> None:
    said = torch.softmax(torch.randn(5000, 4) + torch.tensor([2.0, 1.0, 0.0, -1.0]), 1)
    found, squares = sharpened(said), said**2 / (said**2).sum(1, keepdim=True)
    torch.testing.assert_close(found.sum(1), torch.ones(5000))
    assert (found.amax(1).mean() > said.amax(1).mean()).item()
    apart = [(one.mean(0) / said.mean(0)).log().abs().max() for one in (found, squares)]
    assert apart[0] < apart[1] / 2, "squares alone would favour frequent classes"
    sure = torch.eye(3)
    assert torch.equal(sharpened(sure), sure)
    nobody = torch.tensor([[1.0, 0.0], [1.0, 0.0]])  # no node is of the second class
    assert torch.equal(sharpened(nobody), nobody)


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_a_step_has_the_gradients_of_both_losses(random_edges: Graph, average: float) -> None:
    """The oracle writes the losses down as they are; without dropout both see the same outputs."""
    protocol = Protocol(self_training=0.7, learning_rate=0.1, weight_decay=0.0, average=average)
    inputs, split = prepare(random_edges), default_split(random_edges, protocol, 0)
    config = ModelConfig(layers=1, hidden=8, groups=1, heads=1, dropout=0.0, input_dropout=0.0, attention_dropout=0.0)
    torch.manual_seed(0)
    model = NodeClassifier(config, inputs.x.shape[1], 5)
    teacher = make_average(model, protocol)
    state = State(model, make_optimizer(model, protocol), {}, Progress(epoch=RISE // 2), teacher)
    if teacher is not None:  # some other weights than those of the network
        for parameter in teacher.parameters():
            parameter.data.mul_(0.9)
    training = SelfTraining(state, inputs, split, protocol, Objective())

    train = torch.from_numpy(split.train)
    others = torch.ones(2000, dtype=torch.bool).index_fill(0, train, False)
    output = model(inputs.x, inputs.adj)
    with torch.no_grad():
        said = state.kept(inputs.x, inputs.adj).softmax(1)
    squares = said.square() / said[others].mean(0)
    targets = squares / squares.sum(1, keepdim=True)
    plain = F.cross_entropy(output[train], inputs.labels[train])
    taught = -(targets * output.log_softmax(1))[others].sum(1).mean()
    expected = torch.autograd.grad(plain + 0.7 / 2 * taught, list(model.parameters()))

    assert training.step() == pytest.approx(plain.item())
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)


def test_the_first_epoch_is_that_of_plain_training(random_edges: Graph) -> None:
    """The second loss has no weight yet."""
    certain: dict[str, Any] = {"dropout": 0.0, "input_dropout": 0.0, "attention_dropout": 0.0}
    plain, taught = (fit(random_edges, **SIZES, **certain, max_epochs=1, self_training=one) for one in (0.0, 3.0))
    assert taught.val_loss == pytest.approx(plain.val_loss, abs=1e-6)


def test_hidden_labels_play_no_role(random_edges: Graph) -> None:
    split = default_split(random_edges, Protocol(), 0)
    labels = random_edges.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % 5
    runs = [
        fit(graph, **SIZES, split=split, max_epochs=20, self_training=1)
        for graph in (random_edges, replace(random_edges, labels=labels))
    ]
    for one, other in zip(*(run.model.parameters() for run in runs), strict=True):
        assert torch.equal(one, other)


def test_a_stopped_run_goes_on_with_the_same_bits(random_edges: Graph, tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.epoch == 7:
            raise KeyboardInterrupt

    options = SIZES | {"max_epochs": 20, "self_training": 3.0, "average": 0.5}
    whole = fit(random_edges, **options)
    assert not fit(random_edges, **options, output=tmp_path / "run", on_epoch=stop).finished
    again = fit(random_edges, **options, output=tmp_path / "run")
    for one, other in zip(whole.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_it_does_not_depend_on_the_number_of_threads(random_edges: Graph) -> None:
    found = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            found.append(fit(random_edges, **SIZES, max_epochs=10, self_training=1).val_loss)
        finally:
            torch.set_num_threads(before)
    assert found[0] == found[1]


def test_numbers_and_mini_batches_are_refused(random_edges: Graph) -> None:
    with pytest.raises(ValueError, match="self_training=1 is for classes, and the task is regression: leave it out"):
        fit(replace(random_edges, class_names=tuple("01234")), **SIZES, task="regression", self_training=1)
    with pytest.raises(ValueError, match="leave out batch_size=10"):
        Protocol(self_training=1, batch_size=10)
    with pytest.raises(ValueError, match="self_training=-1.0 must be 0 or a positive number"):
        Protocol(self_training=-1)
    with pytest.raises(ValueError, match="must be 0 or a positive number"):
        Protocol(self_training=float("nan"))


def test_where_classes_are_clouds_it_is_as_good_as_a_linear_model_of_the_features(random_edges: Graph) -> None:
    """Without it, the network is 0.6 points below."""
    options: dict[str, Any] = {"self_training": 3, "linear_share": 0, "progress": False}
    found = [fit(random_edges, seed=seed, **options).test_accuracy or 0.0 for seed in (2, 3)]
    assert np.mean(found) > np.mean([logistic_regression(random_edges, seed) for seed in (2, 3)]) - 0.003
