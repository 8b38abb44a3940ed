"""What a node's own features say, and how much its neighbours add, found by linear models."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from justjump import ops
from justjump.data import Graph, Split
from justjump.ops import Adjacency, SparseMatrix
from justjump.ops.matrix import rows_of
from justjump.train.inputs import Inputs
from justjump.train.linear import ENOUGH, Linear, linear_output
from justjump.train.remedies import Remedies, favours_rare_classes

LITTLE = 0.04  # of the validation nodes
WORSE = 0.01  # of the validation nodes
MOST = 0.5  # of the nodes outside the most frequent class
SURE = 4.0  # standard errors


def features_alone(graph: Graph, inputs: Inputs, split: Split) -> Tensor | None:
    """What a linear model of the training nodes says of each node by its features. ``[N, classes]``, probabilities

    None where there are no classes of nodes to predict or to compare with, or where it would take much memory.
    """
    is_small = max(inputs.x.shape) * graph.num_classes <= ENOUGH
    is_simple = graph.task == "multiclass" and graph.batch is None and is_small
    if not (is_simple and len(split.train) and len(split.val)):
        return None
    inputs = inputs.to(torch.device("cpu"))
    train, x = torch.from_numpy(split.train), _comparable(inputs.x)
    linear = _regression(rows_of(x, train), inputs.labels[train], graph.num_classes, steps=60)
    return linear_output(x, linear).softmax(1)


def notes_on_features(
    own: Tensor | None, inputs: Inputs, split: Split, accuracy: float, remedies: Remedies
) -> list[str]:
    """Whether the features alone say surely more about the validation nodes than the network does, in a sentence.

    Args:
        own: what :func:`features_alone` says
        accuracy: that of the network
    """
    if own is None or favours_rare_classes(remedies.protocol):  # accuracy is not what training is for
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


class Gain(NamedTuple):
    """What neighbours add to what a node's own features say, in shares of the validation nodes.

    Attributes:
        accuracy: by how much neighbours raise the accuracy of a linear model
        error: the standard error of that
        by_class: by how much they raise the mean over the classes of the share of their nodes that is right
        own: of the nodes outside the most frequent class, how many more are right by the features alone than would be
            by always saying that class
    """

    accuracy: float
    error: float
    by_class: float
    own: float

    @property
    def is_little(self) -> bool:
        """Surely little, for rare classes too, and beside features that say most.

        Where the features say less to a linear model, neighbours may add what it does not see.
        """
        is_surely_little = self.accuracy + SURE * self.error < LITTLE
        return is_surely_little and self.by_class < LITTLE and self.own > MOST

    @classmethod
    def of(cls, own: Tensor | None, inputs: Inputs, split: Split) -> "Gain | None":
        """Measured by linear models of what :func:`features_alone` says of a node, of its neighbours and of theirs.

        They are trained on one half of the validation nodes, which that model has not seen, and judge the other half.
        They are compared with models of what is said of the node alone. None where there is no such model, or where the
        validation nodes are too few to be sure of anything.
        """
        if own is None or len(split.val) * LITTLE <= SURE:
            return None
        inputs = inputs.to(torch.device("cpu"))
        val = torch.from_numpy(split.val)
        labels, classes = inputs.labels[val], own.shape[1]
        mean = _mean_of_neighbors(inputs.adj)
        near = ops.spmm(mean, own)
        said = torch.cat([own[val], near[val], ops.spmm(mean, near)[val]], dim=1)
        alone = _is_right(said[:, :classes], labels, classes)
        difference = _is_right(said, labels, classes) - alone
        count = torch.bincount(labels, minlength=classes)
        others = len(val) - int(count.max())
        accuracy = difference.mean()
        more = (alone.sum().item() - int(count.max())) / max(others, 1)
        return cls(accuracy.item(), _error(difference), _by_class(difference, labels, classes), more)


def _error(values: Tensor) -> float:
    """The standard error of a mean, as if one more value had differed: where none of a few does, that is no proof."""
    return float(((values - values.mean()).square().sum() + 1).sqrt() / len(values))


def _by_class(values: Tensor, labels: Tensor, classes: int) -> float:
    """The mean over the classes of the mean of their values. ``[n]``"""
    count = torch.bincount(labels, minlength=classes)
    return (torch.zeros(classes).index_add_(0, labels, values)[count > 0] / count[count > 0]).mean().item()


def _is_right(x: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Whether a linear model that has learned from one half of the rows is right in the other. ``[n, F] -> [n]``"""
    x = (x - x.mean(0)) / (x.std(0) + 1e-6)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    right = torch.empty(len(x))
    for seen, other in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        scores = linear_output(x[other], _regression(x[seen], labels[seen], classes, steps=100))
        right[other] = (scores.argmax(1) == labels[other]).float()
    return right


def _regression(x: Tensor | SparseMatrix, labels: Tensor, classes: int, steps: int) -> Linear:
    """Weight and bias of a multinomial regression after some steps of Adam."""
    with torch.enable_grad():
        weight, bias = torch.zeros(x.shape[1], classes), torch.zeros(classes)
        optimizer = torch.optim.Adam([weight.requires_grad_(), bias.requires_grad_()], lr=0.1)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(linear_output(x, (weight, bias)), labels) + 0.00025 * weight.square().sum()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return weight.detach(), bias.detach()


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
