"""The paper's network for every model it compares."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from justjump import ops
from justjump.nn.config import ModelConfig
from justjump.nn.dna_conv import DNAConv, EdgeAttention
from justjump.nn.gat_conv import GATConv
from justjump.nn.gcn_conv import GCNConv
from justjump.nn.init import reset_parameters
from justjump.nn.jump import jumping_knowledge, update_module
from justjump.ops import Adjacency, History, SparseMatrix


class FeatureLinear(nn.Module):
    """A linear map of dense or sparse features, with dropout of the features. ``[N, in] -> [N, out]``

    The weight is ``[in, out]``: a product with sparse rows reads it as it is.
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.in_features = in_features
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.in_features)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor | SparseMatrix, dropout_p: float = 0.0) -> Tensor:
        if isinstance(x, SparseMatrix):  # zeros stay zeros, so dropping the entries is all
            return ops.spmm(x, self.weight, dropout_p=dropout_p) + self.bias
        return ops.dropout(x, dropout_p) @ self.weight + self.bias


class NodeClassifier(nn.Module):
    r"""Linear, ReLU, dropout, T graph layers each with ReLU, jumping knowledge, dropout, linear.

    Args:
        config: which network
        num_features: size of the input features
        num_classes: number of classes

    Shapes:
        features ``[N, num_features]`` dense or a :class:`~justjump.ops.SparseMatrix`; output: logits ``[N, classes]``

    >>> model = NodeClassifier(ModelConfig(layers=2, hidden=16, heads=4, groups=4), num_features=5, num_classes=3)
    >>> model(torch.randn(4, 5), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape
    torch.Size([4, 3])
    """

    def __init__(self, config: ModelConfig, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.config = config
        d = config.hidden
        self.lin_in = FeatureLinear(num_features, d)
        self.convs = nn.ModuleList(_conv(config) for _ in range(config.layers))
        self.updates = nn.ModuleList(
            module for _ in range(config.layers) if (module := update_module(config.update, d)) is not None
        )
        jumps = config.layers + config.jump_input
        self.jump = jumping_knowledge(config.jump, d, jumps)
        self.lin_out = nn.Linear(d * jumps if config.jump == "concat" else d, num_classes)

    def reset_parameters(self) -> None:
        for part in self.children():
            reset_parameters(part)

    def forward(self, x: Tensor | SparseMatrix, graph: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Logits of all nodes, or of those that the graph is taken toward.

        Args:
            x: features of all nodes
            graph: ``edge_index`` ``[2, E]``, a sparse ``adj_t``, a scipy matrix or an
                :class:`~justjump.ops.Adjacency`. With ``adj.toward(nodes)`` the logits are ``[len(nodes), classes]``,
                and the last layer skips the other nodes.
            edge_weight: ``[E]`` weights of the edges of ``edge_index``
        """
        adj = Adjacency.build(graph, edge_weight, x.shape[0])
        history = self.representations(x, adj)
        final = self.final((history if self.jump else history[-1:]).take(adj.nodes))
        logits: Tensor = self.lin_out(ops.dropout(final, self.config.dropout, self.training))
        return logits

    def representations(self, x: Tensor | SparseMatrix, adj: Adjacency) -> History:
        """The projected features h(0) and the output h(t) of each layer, T + 1 in all.

        Where the graph is taken toward some nodes, h(T) is right for these alone.
        """
        h = self.lin_in(x, self.config.input_dropout if self.training else 0.0)
        history = History.start(ops.relu_dropout(h, self.config.dropout, self.training))
        adj = adj.with_self_loops()
        if self.config.model != "gat":
            adj = adj.normalized("gcn", h.dtype)
        for t in range(1, self.config.layers):
            self.layer(t, history, adj.whole)
        self.layer(self.config.layers, history, adj)
        return history

    def layer(self, t: int, history: History, adj: Adjacency) -> None:
        """Append the output of layer t, counted from 1, with its update and ReLU, to the history before it."""
        conv = self.convs[t - 1]
        if isinstance(conv, DNAConv) and not self.updates:
            conv.extend(history, adj)
            return
        former = history.newest
        h = conv(history if isinstance(conv, DNAConv) else former, adj)
        if self.updates:
            h = self.updates[t - 1](former[: len(h)], h)
        history.append_rows(torch.relu(h))  # of the targets, where the graph has fewer of them than sources

    def final(self, history: History) -> Tensor:
        """What the last linear map sees: the last of all representations, or jumping knowledge over them."""
        if self.jump is None:
            return history.newest
        first = 0 if self.config.jump_input else 1
        final: Tensor = self.jump([history[t] for t in range(first, len(history))])
        return final

    @torch.no_grad()
    def attention(self, x: Tensor | SparseMatrix, graph: Any, layer: int | None = None) -> EdgeAttention:
        """What the edges attend to in one layer of a DNA model, counted from 1; the last one by default."""
        if self.config.model != "dna":
            raise ValueError(f"model={self.config.model!r} has no attention over former representations: use 'dna'")
        layer = self.config.layers if layer is None else layer
        if not 1 <= layer <= self.config.layers:
            raise ValueError(f"there is no layer {layer}: the network has layers 1 to {self.config.layers}")
        adj = Adjacency.build(graph, num_nodes=x.shape[0]).with_self_loops()
        history = self.representations(x, adj)
        _, attention = self.convs[layer - 1](history[:layer], adj, return_attention=True)
        result: EdgeAttention = attention
        return result


def _conv(config: ModelConfig) -> DNAConv | GATConv | GCNConv:
    d, heads, groups, dropout = config.hidden, config.heads, config.groups, config.attention_dropout
    if config.model == "dna":
        return DNAConv(d, heads, groups, dropout, window=config.window, keep_first=config.keep_first)
    if config.model == "gat":
        return GATConv(d, d // heads, heads, groups, dropout=dropout)
    return GCNConv(d, d, groups)
