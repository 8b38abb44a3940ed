"""What a node's own features say, and how much its neighbours add, found by linear models."""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from justjump import ops
from justjump.data import Graph, Split
from justjump.nn import ModelConfig
from justjump.nn.config import FEW_LAYERS
from justjump.ops import Adjacency, SparseMatrix
from justjump.train.inputs import Inputs
from justjump.train.remedies import Remedies

LARGER_SHARE = 0.5
LITTLE = 0.04  # of the validation nodes
WORSE = 0.01  # of the validation nodes
SURE = 4.0  # standard errors
ENOUGH = 50_000_000  # probabilities of all nodes, and weights: more take too much memory


def features_alone(graph: Graph, inputs: Inputs, split: Split) -> Tensor | None:
    """What a linear model of the training nodes says of each node by its features. ``[N, classes]``, probabilities

    None where there are no classes of nodes to predict or to compare with, or where it would take much memory.
    """
    is_small = max(inputs.x.shape) * graph.num_classes <= ENOUGH
    is_simple = graph.task == "multiclass" and graph.batch is None and is_small
    if not (is_simple and len(split.train) and len(split.val)):
        return None
    train, x = torch.from_numpy(split.train), _comparable(inputs.x)
    rows = x.take(train) if isinstance(x, SparseMatrix) else x[train]
    return _linear(x, *_regression(rows, inputs.labels[train], graph.num_classes, steps=60)).softmax(1)


def notes_on_features(
    own: Tensor | None, inputs: Inputs, split: Split, accuracy: float, remedies: Remedies
) -> list[str]:
    """Whether the features alone say surely more about the validation nodes than the network does, in a sentence.

    Args:
        own: what :func:`features_alone` says
        accuracy: that of the network
    """
    if own is None or remedies.favours_rare_classes:  # accuracy is not what training is for
        return []
    val = torch.from_numpy(split.val)
    linear = (own[val].argmax(1) == inputs.labels[val].cpu()).float().mean().item()
    error = (len(val) * linear * (1 - linear) + 1) ** 0.5 / len(val)  # as if one more node had differed
    if linear - accuracy <= max(WORSE, SURE * error):
        return []
    return [
        f"a linear model of the features alone is right about {100 * linear:.1f} % of the validation nodes, and the "
        f"network about {100 * accuracy:.1f} %: {remedies.for_features}"
    ]


def with_share(config: ModelConfig, own: Tensor | None, inputs: Inputs, split: Split) -> ModelConfig:
    """The same network, with a larger share of h(0) where none was chosen and neighbours surely add little.

    Args:
        own: what :func:`features_alone` says
    """
    is_open = config.initial_share is None and config.update == "initial" and config.layers <= FEW_LAYERS
    if own is None or not is_open or len(split.val) * LITTLE <= SURE:  # too few to be sure of anything
        return config
    gain, error = gain_by_neighbors(own, inputs, split)
    return replace(config, initial_share=LARGER_SHARE) if gain + SURE * error < LITTLE else config


def gain_by_neighbors(own: Tensor, inputs: Inputs, split: Split) -> tuple[float, float]:
    """By how much neighbours raise the accuracy of a linear model on validation nodes, and its standard error.

    The model learns classes from what ``own`` says of a node, of its neighbours and of theirs. It is trained on one
    half of the validation nodes, which ``own`` has not seen, and judges the other half. It is compared with one that
    has what is said of the node alone.
    """
    val = torch.from_numpy(split.val)
    labels, classes = inputs.labels[val], own.shape[1]
    mean = _mean_of_neighbors(inputs.adj)
    near = ops.spmm(mean, own)
    said = torch.cat([own, near, ops.spmm(mean, near)], dim=1)[val]
    difference = _is_right(said, labels, classes) - _is_right(said[:, :classes], labels, classes)
    gain = difference.mean()
    # As if one more node had differed: where none of a few does, that is no proof.
    error = ((difference - gain).square().sum() + 1).sqrt() / len(val)
    return gain.item(), error.item()


def _is_right(x: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Whether a linear model that has learned from one half of the rows is right in the other. ``[n, F] -> [n]``"""
    x = (x - x.mean(0)) / (x.std(0) + 1e-6)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    right = torch.empty(len(x))
    for seen, other in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        scores = _linear(x[other], *_regression(x[seen], labels[seen], classes, steps=100))
        right[other] = (scores.argmax(1) == labels[other]).float()
    return right


def _regression(x: Tensor | SparseMatrix, labels: Tensor, classes: int, steps: int) -> tuple[Tensor, Tensor]:
    """Weight and bias of a multinomial regression after some steps of Adam."""
    with torch.enable_grad():
        weight, bias = torch.zeros(x.shape[1], classes), torch.zeros(classes)
        optimizer = torch.optim.Adam([weight.requires_grad_(), bias.requires_grad_()], lr=0.1)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(_linear(x, weight, bias), labels) + 0.00025 * weight.square().sum()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return weight.detach(), bias.detach()


def _linear(x: Tensor | SparseMatrix, weight: Tensor, bias: Tensor) -> Tensor:
    return (ops.spmm(x, weight) if isinstance(x, SparseMatrix) else x @ weight) + bias


def _comparable(x: Tensor | SparseMatrix) -> Tensor | SparseMatrix:
    """Rows of length one where they are sparse, such as words. Columns of numbers are comparable already."""
    if not isinstance(x, SparseMatrix):
        return x
    values = torch.ones(x.num_entries) if x.weight is None else x.weight
    squares = torch.zeros(x.shape[0]).index_add_(0, x.target, values.square())
    return SparseMatrix(x.shape, x.rowptr, x.col, values / squares.sqrt().clamp_min(1e-12)[x.target])


def _mean_of_neighbors(adj: Adjacency) -> SparseMatrix:
    """The mean over the neighbours of a node, without itself."""
    is_other = (adj.col != adj.target).float()
    count = torch.zeros(adj.num_nodes).index_add_(0, adj.target, is_other)
    return SparseMatrix(adj.shape, adj.rowptr, adj.col, is_other / count.clamp_min(1)[adj.target])
