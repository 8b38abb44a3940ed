"""From the nodes of a graph to the graph: one row per graph."""

from typing import get_args

import torch
from torch import Tensor, nn

from justjump.nn.config import Readout as Kind


class Readout(nn.Module):
    r"""The rows of the nodes of each graph as one row.

    .. math::
        \textrm{mean, max, sum of } h_v, \quad \textrm{or attention: } \sum_v \alpha_v h_v, \;
        \alpha_v = \textrm{softmax}_{v \in \textrm{graph}} \left( h_v^\top a \right)

    A graph without nodes gets zeros.

    Args:
        kind: ``"mean"``, ``"max"``, ``"sum"`` or ``"attention"``, the one that has a parameter
        channels: size of the rows

    Shapes:
        ``[N, channels]``, batch ``[N]`` with the number of each node's graph -> ``[graphs, channels]``

    >>> Readout("max", 1)(torch.tensor([[1.0], [3.0], [2.0]]), torch.tensor([0, 0, 2]))
    tensor([[3.],
            [0.],
            [2.]])
    """

    def __init__(self, kind: Kind, channels: int) -> None:
        super().__init__()
        if kind not in get_args(Kind):
            raise ValueError(f"kind={kind!r} is unknown: choose one of {', '.join(get_args(Kind))}")
        self.kind = kind
        # Without a bias: the softmax takes away what all nodes of a graph share.
        self.gate = nn.Linear(channels, 1, bias=False) if kind == "attention" else None

    def reset_parameters(self) -> None:
        if self.gate is not None:
            self.gate.reset_parameters()

    def forward(self, x: Tensor, batch: Tensor, num_graphs: int | None = None) -> Tensor:
        graphs = count_graphs(batch, x.size(0), num_graphs)
        if self.gate is not None:
            x = x * segment_softmax(self.gate(x), batch, graphs)
        if self.kind == "max":
            return segment_max(x, batch, graphs)
        total = x.new_zeros(graphs, x.size(1)).index_add(0, batch, x)
        if self.kind != "mean":
            return total
        nodes = torch.zeros(graphs, dtype=x.dtype, device=x.device).index_add(0, batch, x.new_ones(x.size(0)))
        return total / nodes.clamp(min=1)[:, None]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind!r})"


def segment_max(x: Tensor, batch: Tensor, graphs: int) -> Tensor:
    """``[N, d] -> [graphs, d]``, zeros where a graph has no nodes"""
    index = batch[:, None].expand_as(x)
    return x.new_zeros(graphs, x.size(1)).scatter_reduce(0, index, x, "amax", include_self=False)


def segment_softmax(score: Tensor, batch: Tensor, graphs: int) -> Tensor:
    """``[N, 1] -> [N, 1]``, the shares of the nodes of each graph"""
    share = (score - segment_max(score.detach(), batch, graphs)[batch]).exp()
    return share / share.new_zeros(graphs, 1).index_add(0, batch, share)[batch]


def count_graphs(batch: Tensor, nodes: int, num_graphs: int | None) -> int:
    """The number of graphs, after a check of the numbers in ``batch``."""
    if batch.shape != (nodes,) or batch.dtype != torch.int64:
        kind = f"{batch.dtype} of shape {list(batch.shape)}"
        raise ValueError(f"batch is {kind}, expected torch.int64 of shape [{nodes}]: the number of each node's graph")
    if torch.compiler.is_compiling() and num_graphs is not None:
        return num_graphs
    least, most = (int(batch.min()), int(batch.max())) if nodes else (0, -1)
    if least < 0:
        raise ValueError(f"batch holds {least}: graphs are counted from 0")
    if num_graphs is not None and most >= num_graphs:
        raise ValueError(f"batch holds {most}, but there are num_graphs={num_graphs}")
    return most + 1 if num_graphs is None else num_graphs
