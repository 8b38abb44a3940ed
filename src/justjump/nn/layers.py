"""Graph layers one after the other: the loop that every network here runs."""

from typing import Any

import torch
from torch import Tensor, nn

from justjump.nn.dna_conv import DNAConv
from justjump.nn.gat_conv import GATConv
from justjump.nn.init import reset_parameters
from justjump.ops import Adjacency, History, Hops


class Layers(nn.Module):
    """The base of networks whose layers see the history of representations. A network sets ``convs``."""

    convs: nn.ModuleList

    def reset_parameters(self) -> None:
        for part in self.children():
            reset_parameters(part)

    def run(self, history: History, adj: Adjacency | Hops, **context: Any) -> History:
        """Append the output of each layer to the history, which holds h(0).

        Where the graph is taken toward some nodes, h(T) is right for these alone. Of a mini-batch, the history becomes
        that of its first nodes.
        """
        if isinstance(adj, Hops):
            adj.check(len(self.convs), history.num_nodes)
            for t, part in enumerate(adj, 1):
                self.layer(t, history, part, **context)
            return history
        adj = self.prepared(adj, history.dtype)
        for t in range(1, len(self.convs) + 1):
            self.layer(t, history, self.part(t, adj), **context)
        return history

    def part(self, t: int, adj: Adjacency) -> Adjacency:
        """The graph that layer t is computed on: the last one leaves out the nodes that nobody asks for."""
        return adj if t == len(self.convs) else adj.whole

    def prepared(self, adj: Adjacency, dtype: torch.dtype) -> Adjacency:
        """The graph as the layers use it: with self-loops, and with normalised weights where they count."""
        adj = adj.with_self_loops()
        if isinstance(self.convs[0], GATConv):
            return adj
        return adj.normalized(getattr(self.convs[0], "aggregate", "gcn"), dtype)

    def layer(self, t: int, history: History, adj: Adjacency, **context: Any) -> None:
        """Append the output of layer t, counted from 1, with what follows it, to the history before it."""
        conv = self.convs[t - 1]
        if isinstance(conv, DNAConv) and self.is_relu(t):
            conv.extend(history, adj)
            return
        h = conv(history if isinstance(conv, DNAConv) else history.newest, adj)
        history.append_rows(self.after(t, h, history, **context))

    def is_relu(self, t: int) -> bool:
        """Whether ReLU is all that follows layer t."""
        raise NotImplementedError

    def after(self, t: int, h: Tensor, history: History | None, **context: Any) -> Tensor:
        """What follows layer t, given the history before it. ``[N, d] -> [N, d]``

        Where the graph has fewer targets than sources, the targets are the first rows of the history.
        """
        raise NotImplementedError
