"""A linear model of the features in the output of a network, where it alone is as good on the validation nodes.

What is linear in the features and has nothing to do with edges, a network learns worse than a linear model whose
penalty is chosen on validation. Their mean, with a share that is chosen there too, is about as good as the better one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from justjump import ops
from justjump.data import Graph, Split
from justjump.nn import ModelConfig, NodeClassifier
from justjump.ops import SparseMatrix
from justjump.ops.matrix import rows_of
from justjump.train.errors import TrainingError
from justjump.train.inputs import Inputs
from justjump.train.objective import Objective
from justjump.train.part import output_of_all

SHARES = (0.25, 0.5, 0.75, 0.9)
PENALTIES = (100.0, 10.0, 1.0, 0.1, 0.01)  # on the sum of the losses of all training nodes, each after the one before
STEPS = 60  # of L-BFGS, at most
FEW = 100  # validation nodes, of which nothing is sure
ENOUGH = 50_000_000  # outputs for all nodes, or weights: more take too much time and memory

Linear = tuple[Tensor, Tensor]  # a weight [F, C] and a bias [C]


def check_linear_share(graph: Graph, config: ModelConfig) -> None:
    """Raise ValueError if a share was chosen for whole graphs, which have no features of their own."""
    if config.linear_share and graph.batch is not None:
        raise ValueError(
            f"linear_share={config.linear_share:g} is for nodes, and {graph.name} has whole graphs: leave it out"
        )


def with_linear_model(
    model: NodeClassifier, share: float | None, inputs: Inputs, split: Split, objective: Objective
) -> NodeClassifier:
    """A trained network with a share of a linear model of the features in its output.

    Args:
        model: without such a share
        share: of the linear model; if it is None, the one that is best on the validation nodes, and 0 where the linear
            model alone is worse there than the network, or where there are few of them
    """
    if share == 0 or inputs.batch is not None:
        return model
    size = max(inputs.x.shape) * model.lin_out.out_features
    if share is None and (len(split.val) <= FEW or size > ENOUGH):
        return model
    place, cpu = model.lin_out.weight.device, torch.device("cpu")
    inputs, objective = inputs.to(cpu), objective.to(cpu)
    train, val = torch.from_numpy(split.train), torch.from_numpy(split.val)
    labels, x = inputs.labels[val], rows_of(inputs.x, val)
    tried = [
        (one, scores(objective, linear_output(x, one), labels))
        for one in linear_models(rows_of(inputs.x, train), inputs.labels[train], objective, model.lin_out.out_features)
    ]
    if not tried:
        if share is None:
            return model
        raise TrainingError(
            f"there is no linear model of the features for linear_share={share:g}, since they have extreme values: "
            "leave it out, or choose scale='standard'"
        )
    best = max(tried, key=lambda pair: pair[1].mean().item())[0]
    if share is None:
        model.eval()
        with torch.no_grad():
            output = output_of_all(model.to(cpu), inputs)[val]
        share = best_share(objective, output, linear_output(x, best), labels)
    return (_mixed(model, share, best) if share else model).to(place)


def best_share(objective: Objective, output: Tensor, alone: Tensor, labels: Tensor) -> float:
    """The share of the linear model with the best mean score; 0 if the linear model alone is worse.

    Args:
        output, alone: of the network and of the linear model, ``[n, C]``
    """

    def score(of: Tensor) -> float:
        return scores(objective, of, labels).mean().item()

    if score(alone) < score(output):
        return 0.0
    mixed = {share: score(torch.lerp(output, alone, share)) for share in SHARES}
    share = max(mixed, key=lambda one: mixed[one])
    return share if mixed[share] > score(output) else 0.0


def scores(objective: Objective, output: Tensor, labels: Tensor) -> Tensor:
    """How good the output is for each node: whether its class or what share of its labels is right, or minus the error.

    Classes and labels count by their weights. ``[n, C], [n] or [n, C] -> [n]``
    """
    if objective.task == "multiclass":
        right = (output.argmax(1) == labels).float()
        return right if objective.weight is None else right * objective.weight[labels]
    there = ~torch.isnan(labels)
    if objective.task == "multilabel":
        one = torch.ones(1)
        weight = torch.where(labels == 1, one if objective.weight is None else objective.weight, one)
        found = ((output > 0) == (labels == 1)) * weight
    else:
        assert objective.mean is not None
        assert objective.scale is not None
        found = -(output - torch.nan_to_num(labels - objective.mean) / objective.scale).square()
    return (found * there).sum(1) / there.sum(1).clamp_min(1)


def linear_models(x: Tensor | SparseMatrix, labels: Tensor, objective: Objective, outputs: int) -> Iterator[Linear]:
    """Linear models of some nodes, from the strongest penalty on the squares of the weights to the weakest."""
    weight, bias = torch.zeros(x.shape[1], outputs), torch.zeros(outputs)
    for penalty in PENALTIES:
        optimizer = torch.optim.LBFGS(
            [weight.requires_grad_(), bias.requires_grad_()], max_iter=STEPS, line_search_fn="strong_wolfe",
            history_size=8, tolerance_grad=1e-4, tolerance_change=1e-6,
        )  # fmt: skip

        def loss(optimizer: torch.optim.LBFGS = optimizer, penalty: float = penalty) -> Tensor:
            optimizer.zero_grad()
            found = objective.loss(linear_output(x, (weight, bias)), labels)
            found = found + penalty / (2 * len(labels)) * weight.square().sum()
            found.backward()  # type: ignore[no-untyped-call]
            return found

        with torch.enable_grad():
            optimizer.step(loss)  # type: ignore[no-untyped-call]
        if not (torch.isfinite(weight).all() and torch.isfinite(bias).all()):
            return
        yield weight.detach().clone(), bias.detach().clone()


def linear_output(x: Tensor | SparseMatrix, linear: Linear) -> Tensor:
    """``[n, F] -> [n, C]``"""
    weight, bias = linear
    return (ops.spmm(x, weight) if isinstance(x, SparseMatrix) else x @ weight) + bias


def _mixed(model: NodeClassifier, share: float, linear: Linear) -> NodeClassifier:
    """The same network with a linear model in its output."""
    weight, bias = linear
    with torch.random.fork_rng(devices=[]):  # of the initialisation, which is overwritten
        found = NodeClassifier(replace(model.config, linear_share=share), *weight.shape)
    own = {"lin_alone.weight": weight, "lin_alone.bias": bias}
    found.load_state_dict(model.state_dict() | own)
    return found
