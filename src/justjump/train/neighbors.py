"""How much neighbours add to a node's own features, found without training a network on the graph."""

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

LARGER_SHARE = 0.5
LITTLE = 0.04  # of the validation nodes
SURE = 4.0  # standard errors
ENOUGH = 50_000_000  # probabilities of all nodes: more take too much memory


def with_share(config: ModelConfig, graph: Graph, inputs: Inputs, split: Split) -> ModelConfig:
    """The same network, with a larger share of h(0) where none was chosen and neighbours surely add little."""
    is_open = config.initial_share is None and config.update == "initial" and config.layers <= FEW_LAYERS
    is_simple = graph.task == "multiclass" and graph.batch is None and graph.num_nodes * graph.num_classes <= ENOUGH
    if not (is_open and is_simple and len(split.val)):
        return config
    gain, error = gain_by_neighbors(inputs, split, graph.num_classes)
    return replace(config, initial_share=LARGER_SHARE) if gain + SURE * error < LITTLE else config


def gain_by_neighbors(inputs: Inputs, split: Split, classes: int) -> tuple[float, float]:
    """By how much neighbours raise the accuracy of a linear model on validation nodes, and its standard error.

    A first linear model learns classes from the features of training nodes. A second one learns them from what the
    first says of a node, of its neighbours and of theirs; it is trained on one half of the validation nodes, which the
    first has not seen, and judges the other half. It is compared with one that has what is said of the node alone.
    """
    train, val = torch.from_numpy(split.train), torch.from_numpy(split.val)
    x, labels = _comparable(inputs.x), inputs.labels[val]
    rows = x.take(train) if isinstance(x, SparseMatrix) else x[train]
    own = _linear(x, *_regression(rows, inputs.labels[train], classes, steps=60)).softmax(1)
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
