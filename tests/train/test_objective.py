"""Losses against their definitions, weights of classes, and what outputs mean."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from justjump.data import Graph, Split
from justjump.train.objective import Objective, fitted_temperature
from made_graphs import made_graph

NAN = float("nan")


def whole_split(graph: Graph) -> Split:
    rows = np.flatnonzero(graph.labelled)
    return Split(rows[: len(rows) // 2], rows[len(rows) // 2 :], np.array([], int))


def test_losses_are_means_over_known_entries() -> None:
    output, labels = torch.randn(4, 2), torch.tensor([[1.0, NAN], [0.0, 1.0], [NAN, NAN], [1.0, 0.0]])
    known = ~torch.isnan(labels)
    expected = F.binary_cross_entropy_with_logits(output[known], labels[known])
    torch.testing.assert_close(Objective("multilabel").loss(output, labels), expected)
    mean, scale = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 3.0])
    numbers = Objective("regression", mean=mean, scale=scale)
    expected = F.mse_loss(output[known], ((labels - mean) / scale)[known])
    torch.testing.assert_close(numbers.loss(output, labels), expected)
    torch.testing.assert_close(numbers.predictions(output), output * scale + mean)
    classes = torch.tensor([0, 1, 1, 0])
    assert torch.equal(Objective().loss(output, classes), F.cross_entropy(output, classes))


def smallest_loss(objective: Objective, labels: torch.Tensor, outputs: int) -> float:
    """Of any constant output, found by search."""
    constant = torch.zeros(1, outputs, requires_grad=True)
    optimizer = torch.optim.LBFGS([constant], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> float:
        optimizer.zero_grad()
        value = objective.loss(constant.expand(len(labels), -1), labels)
        value.backward()
        return value.item()

    optimizer.step(loss)
    return loss()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_of_a_constant_is_the_smallest_of_any(weighted: bool) -> None:
    classes = torch.tensor([0, 0, 0, 1, 2, 2])
    entries = torch.tensor([[1.0, 0.0], [0.0, NAN], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [NAN, 0.0]])
    weight = torch.tensor([1.0, 2.0, 5.0]) if weighted else None
    numbers = Objective("regression", mean=torch.tensor([0.5, -1.0]), scale=torch.tensor([2.0, 3.0]))
    kinds = [
        (Objective(weight=weight), classes, 3),
        (Objective("multilabel", weight=None if weight is None else weight[:2]), entries, 2),
        (numbers, entries, 2),
    ]
    for objective, labels, outputs in kinds:
        assert objective.constant_loss(labels) == pytest.approx(smallest_loss(objective, labels, outputs), abs=1e-5)
    assert Objective().constant_loss(torch.zeros(5, dtype=torch.int64)) == 0.0


def test_unknown_entries_have_no_gradient() -> None:
    for objective in (Objective("multilabel"), Objective("regression", mean=torch.zeros(1), scale=torch.ones(1))):
        output = torch.randn(3, 1, requires_grad=True)
        objective.loss(output, torch.tensor([[1.0], [NAN], [0.0]])).backward()
        assert output.grad is not None
        assert torch.isfinite(output.grad).all()
        assert output.grad[1] == 0


def test_balanced_classes_weigh_alike() -> None:
    graph = made_graph("multiclass")
    split = whole_split(graph)
    objective = Objective.of(graph, split, balanced=True)
    assert objective.weight is not None
    counts = np.bincount(graph.labels[split.train], minlength=3)
    np.testing.assert_allclose(counts * objective.weight.numpy(), counts.sum() / 3, rtol=1e-6)
    several = made_graph("multilabel")
    weight = Objective.of(several, whole_split(several), balanced=True).weight
    assert weight is not None
    labels = several.labels[whole_split(several).train]
    np.testing.assert_allclose(weight.numpy() * (labels == 1).sum(0), (labels == 0).sum(0), rtol=1e-6)


def test_targets_have_mean_0_and_deviation_1_in_training() -> None:
    graph = made_graph("regression")
    split = whole_split(graph)
    objective = Objective.of(graph, split)
    zero = objective.loss(torch.zeros(len(split.train), 1), torch.from_numpy(graph.labels[split.train]))
    assert zero.item() == pytest.approx(1, rel=1e-5)


def test_json_and_back() -> None:
    graph = made_graph("regression")
    objective = Objective.of(graph, whole_split(graph))
    again = Objective.from_dict("regression", 1, objective.to_dict())
    output = torch.randn(5, 1)
    assert torch.equal(objective.predictions(output), again.predictions(output))
    assert Objective.from_dict("multiclass", 3, Objective(temperature=2.0).to_dict()).temperature == 2.0


@pytest.mark.parametrize(
    ("task", "values"),
    [
        ("multiclass", {"temperature": 0}),
        ("multiclass", {"temperature": "hot"}),
        ("multiclass", {"other": 1}),
        ("regression", {}),
        ("regression", {"mean": [1.0, 2.0], "scale": [1.0]}),
        ("regression", {"mean": [NAN], "scale": [1.0]}),
    ],
)
def test_damaged_json(task: str, values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="outputs"):
        Objective.from_dict(task, 1, values)  # type: ignore[arg-type]


def test_the_temperature_undoes_too_much_confidence() -> None:
    truth = torch.randn(5000, 3)
    labels = torch.distributions.Categorical(logits=truth).sample()
    found = fitted_temperature(Objective(), 4 * truth, labels)
    assert found == pytest.approx(4, rel=0.1)
    calm = Objective(temperature=found).predictions(4 * truth)
    assert calm.sum(1).allclose(torch.ones(5000))
    assert (calm.argmax(1) == truth.argmax(1)).all()
