"""Training on mini-batches."""

import numpy as np
import torch

from justjump.data import Graph
from justjump.loader import Batches
from justjump.nn import ModelConfig, NodeClassifier
from justjump.train.inputs import Inputs
from justjump.train.objective import Objective
from justjump.train.protocol import Protocol


def check_batches(graph: Graph, config: ModelConfig, protocol: Protocol) -> None:
    """Raise ValueError if mini-batches are asked for that there cannot be."""
    protocol.check_layers(config.layers)
    if protocol.batch_size is not None and graph.batch is not None:
        raise ValueError(
            f"batch_size={protocol.batch_size} is for labels of nodes, and {graph.name} has labels of whole graphs: "
            "leave it out"
        )
    if protocol.batch_size is not None and config.drop_edge:
        raise ValueError(
            f"drop_edge={config.drop_edge} is for training on the whole graph, and batch_size={protocol.batch_size} "
            "samples edges already: leave one of them out"
        )
    if protocol.batch_size is not None and config.model == "gat" and config.softmax == "outgoing":
        raise ValueError(
            f"softmax='outgoing' needs all edges of the graph in each step: leave out batch_size={protocol.batch_size}"
        )


def make_batches(inputs: Inputs, nodes: np.ndarray, protocol: Protocol, layers: int, seed: int) -> Batches | None:
    """The mini-batches of the training nodes; None where the protocol has none."""
    if protocol.batch_size is None:
        return None
    fanout = protocol.fanout or (-1,) * layers
    chosen = torch.from_numpy(nodes).to(inputs.labels.device)
    return Batches(inputs.x, inputs.adj, chosen, protocol.batch_size, fanout, labels=inputs.labels, seed=seed)


def train_on_batches(
    model: NodeClassifier,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    epoch: int,
    objective: Objective,
    batches_of_a_step: int = 1,
) -> float:
    """The steps of an epoch, counted from 0, on the gradients of so many mini-batches each; the mean of their losses.

    The batches are a function of seed and epoch: a run that was stopped goes on with the same ones.
    """
    model.train()
    total, step_size, left = 0.0, batches_of_a_step * batches.batch_size, len(batches.nodes)
    for number, batch in enumerate(batches.epoch(epoch)):
        assert batch.labels is not None
        if number % batches_of_a_step == 0:
            optimizer.zero_grad()
            nodes_of_step = min(step_size, left)
        loss = objective.loss(model(batch.x, batch.hops), batch.labels)
        (loss * (batch.size / nodes_of_step)).backward()  # type: ignore[no-untyped-call]
        left -= batch.size
        if (number + 1) % batches_of_a_step == 0 or not left:
            optimizer.step()
        total += loss.item() * batch.size
    return total / len(batches.nodes)
