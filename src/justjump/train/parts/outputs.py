"""What a network says about nodes of a graph in parts: forward passes alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from justjump.train.checkpoint import State
from justjump.train.measures import SCORE, Values, measure
from justjump.train.objective import Objective
from justjump.train.parts.executor import Executor
from justjump.train.parts.nodes import Chosen
from justjump.train.parts.tree import TreeSum, joined, tree_nodes


def validation(
    executor: Executor, state: State, chosen: Chosen, objective: Objective, others: tuple[str, ...]
) -> Callable[[], tuple[float, Values]]:
    """A function that gives the loss of the validation nodes, and the task's score and other measures."""
    labels = torch.cat(
        [torch.from_numpy(part.labels)[nodes] for part, nodes in zip(executor.parts, chosen.nodes, strict=True)]
    )
    count, score = objective.count(labels), SCORE[objective.task]
    names = (score, *(one for one in others if one != score))

    def check() -> tuple[float, Values]:
        executor.model = state.kept
        outputs = executor.outputs(chosen)
        executor.model = state.model
        found = [
            _sums(objective, output, executor, chosen, number)
            for output, number in zip(outputs, executor.own, strict=True)
        ]
        loss, right = summed(executor, found).tolist()
        if names == ("accuracy",):
            return loss / count, {"accuracy": right / len(labels)}
        predicted = objective.predictions(torch.cat(gathered(executor, outputs, chosen))).numpy()
        return loss / count, measure(objective.task, labels.numpy(), predicted, only=names)

    return check


def _sums(objective: Objective, output: Tensor, executor: Executor, chosen: Chosen, number: int) -> Tensor:
    """The sum of the losses, and the number of right classes."""
    labels = executor.local(number).labels[chosen.nodes[number]]
    right = (output.argmax(1) == labels).sum() if objective.task == "multiclass" else torch.zeros(())
    return torch.stack([objective.total(output, labels).double(), right.double()])


def summed(executor: Executor, values: list[Tensor]) -> Tensor:
    """The sum of a value ``[k]`` of each own part over the parts of all workers, in their fixed order."""
    tree, parts = TreeSum(len(executor.parts)), len(executor.parts)
    for number, value in zip(executor.own, values, strict=True):
        tree.add(number, value)
    nodes = [tree_nodes(own.start, own.stop, parts) for own in executor.owned]
    rows = executor.transport.gather(torch.stack(tree.sums), [len(of_worker) for of_worker in nodes])
    return joined([node for of_worker in nodes for node in of_worker], [row for block in rows for row in block], parts)


def gathered(executor: Executor, outputs: list[Tensor], chosen: Chosen) -> list[Tensor]:
    """The outputs of the chosen nodes of all workers, in the order of the parts."""
    counts = [sum(len(chosen.nodes[number]) for number in own) for own in executor.owned]
    return executor.transport.gather(torch.cat(outputs), counts)


def outputs_of(executor: Executor, nodes: np.ndarray) -> Tensor:
    """Logits of the nodes with these numbers in the data that was partitioned, which ascend: ``[k, C]``.

    All nodes are computed, and those of other nodes are not kept: few nodes of a large graph may have labels.
    """
    everyone, wanted = Chosen.everyone(executor.parts), Chosen.of(executor.parts, nodes)
    own = zip(executor.own, executor.each_output(everyone), strict=True)
    rows = torch.cat(gathered(executor, [output[wanted.nodes[number]] for number, output in own], wanted))
    original = [part.original[kept.numpy()] for part, kept in zip(executor.parts, wanted.nodes, strict=True)]
    ordered = torch.empty_like(rows)
    ordered[torch.from_numpy(np.searchsorted(nodes, np.concatenate(original)))] = rows
    return ordered
