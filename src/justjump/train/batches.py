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
    model: NodeClassifier, optimizer: torch.optim.Optimizer, batches: Batches, epoch: int, objective: Objective
) -> float:
    """One step on each mini-batch of an epoch, counted from 0; the mean of the losses before the steps.

    The batches are a function of seed and epoch: a run that was stopped goes on with the same ones.
    """
    model.train()
    total = 0.0
    for batch in batches.epoch(epoch):
        assert batch.labels is not None
        optimizer.zero_grad()
        loss = objective.loss(model(batch.x, batch.hops), batch.labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += loss.item() * batch.size
    return total / len(batches.nodes)
