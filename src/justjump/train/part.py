"""Some of the nodes, or of the graphs, that have labels, and what a network computes for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from justjump.ops import Adjacency
from justjump.train.inputs import Inputs
from justjump.train.layerwise import output_by_layer


@dataclass(frozen=True, eq=False)
class Part:
    """The training or the validation nodes of a graph, or some of several graphs.

    Attributes:
        adj: the graph toward the nodes that are needed
        labels: ``[n]`` or ``[n, K]``
        batch: ``[N]``, which of the n graphs a node belongs to; 0 for nodes of others, which are not looked at
    """

    adj: Adjacency
    labels: Tensor
    batch: Tensor | None = None

    @classmethod
    def of(cls, inputs: Inputs, rows: np.ndarray) -> Part:
        """The nodes, or the graphs, with these numbers, which ascend."""
        chosen = torch.from_numpy(np.ascontiguousarray(rows)).to(inputs.labels.device)
        if inputs.batch is None:
            return cls(inputs.adj.toward(chosen), inputs.labels[chosen])
        nodes = torch.isin(inputs.batch, chosen).nonzero()[:, 0]
        batch = torch.zeros_like(inputs.batch)
        batch[nodes] = torch.searchsorted(chosen, inputs.batch[nodes])
        return cls(inputs.adj.toward(nodes), inputs.labels[chosen], batch)

    def output(self, model: nn.Module, inputs: Inputs) -> Tensor:
        """What the network says about them: ``[n, C]``."""
        if inputs.by_layer:
            return output_by_layer(model, inputs, self.adj.nodes)
        if self.batch is None:
            return model(inputs.x, self.adj)
        return model(inputs.x, self.adj, batch=self.batch, num_graphs=len(self.labels))


def output_of_all(model: nn.Module, inputs: Inputs) -> Tensor:
    """What the network says about all nodes, or about all graphs: ``[N, C]``."""
    if inputs.by_layer:
        return output_by_layer(model, inputs)
    if inputs.batch is None:
        return model(inputs.x, inputs.adj)
    return model(inputs.x, inputs.adj, batch=inputs.batch, num_graphs=len(inputs.labels))
