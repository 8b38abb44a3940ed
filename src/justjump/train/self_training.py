"""Self-training: a second loss, which trains the network on its own sharpened predictions for all other nodes.

The targets are the network's probabilities of the epoch before, without dropout, squared and divided by the mean of
their class, so that small classes stay as large as they are (Xie et al., 2016). The weight of this loss rises over the
first epochs, in which the network knows nothing yet. The labels of validation and test nodes are never looked at.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from justjump.data import Graph, Split
from justjump.train.checkpoint import State
from justjump.train.inputs import Inputs
from justjump.train.objective import Objective
from justjump.train.part import output_of_all
from justjump.train.protocol import Protocol

RISE = 100  # epochs until the second loss has its whole weight


def check_self_training(graph: Graph, protocol: Protocol) -> None:
    """Raise ValueError if the labels are not of a kind that a network can teach itself."""
    if protocol.self_training and graph.task != "multiclass":
        raise ValueError(
            f"self_training={protocol.self_training:g} is for classes, and the task is {graph.task}: leave it out"
        )


def sharpened(probabilities: Tensor) -> Tensor:
    """Probabilities that are nearer to 0 and 1, without favour for frequent classes. ``[n, classes]``

    >>> sharpened(torch.tensor([[0.75, 0.25], [0.25, 0.75]]))
    tensor([[0.9000, 0.1000],
            [0.1000, 0.9000]])
    """
    squares = probabilities**2 / probabilities.mean(0).clamp_min(1e-12)
    return squares / squares.sum(1, keepdim=True).clamp_min(1e-12)


class SelfTraining:
    """Steps of training with the second loss, and what the network says after each of them.

    Args:
        state: of a run; with an average of the weights, that is what teaches
    """

    def __init__(self, state: State, inputs: Inputs, split: Split, protocol: Protocol, objective: Objective) -> None:
        self.state, self.inputs, self.protocol, self.objective = state, inputs, protocol, objective
        device = inputs.labels.device
        others = np.setdiff1d(np.arange(len(inputs.labels)), split.train)
        self.train, self.others = (torch.from_numpy(rows).to(device) for rows in (split.train, others))
        self._said: Tensor | None = None

    def step(self) -> float:
        """An epoch of training; its loss on the training nodes, before it."""
        weight = self.protocol.self_training * min(1.0, self.state.progress.epoch / RISE)
        targets = sharpened(torch.softmax(self._output_kept()[self.others], dim=1)) if weight else None
        model, optimizer = self.state.model, self.state.optimizer
        model.train()
        optimizer.zero_grad()
        output = output_of_all(model, self.inputs)
        loss = self.objective.loss(output[self.train], self.inputs.labels[self.train])
        both = loss if targets is None else loss + weight * F.cross_entropy(output[self.others], targets)
        both.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        self._said = None
        return loss.item()

    def says(self, rows: Tensor) -> Callable[[], Tensor]:
        """The output of the network of an epoch for some rows. ``[n, classes]``"""
        return lambda: self._output_kept()[rows]

    @torch.no_grad()
    def _output_kept(self) -> Tensor:
        """What the network says of all, computed once per epoch: for validation, and as targets of the next one.

        A run that goes on computes it again, from the same weights.
        """
        if self._said is None:
            self.state.kept.eval()
            self._said = output_of_all(self.state.kept, self.inputs)
        return self._said
