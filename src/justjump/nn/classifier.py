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
from justjump.ops import Adjacency, SparseMatrix, Targets


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

    def forward(
        self,
        x: Tensor | SparseMatrix,
        graph: Any,
        edge_weight: Tensor | None = None,
        targets: Targets | None = None,
    ) -> Tensor:
        """Logits of all nodes, or of some.

        Args:
            x: features of all nodes
            graph: ``edge_index`` ``[2, E]``, a sparse ``adj_t``, a scipy matrix or an
                :class:`~justjump.ops.Adjacency`
            edge_weight: ``[E]`` weights of the edges of ``edge_index``
            targets: ``adj.toward(nodes)`` where the logits ``[len(nodes), classes]`` of some nodes suffice: the last
                layer then skips the others
        """
        adj = Adjacency.build(graph, edge_weight, x.shape[0]).with_self_loops()
        if targets is not None and not any(getattr(targets, "whole", None) is whole for whole in (graph, adj)):
            raise ValueError("targets are not of this graph: make them as adj.toward(nodes), and give adj as graph")
        out = self.final(self.representations(x, adj, self.jump is None, targets))
        out = ops.dropout(out, self.config.dropout, self.training)
        logits: Tensor = self.lin_out(out)
        return logits

    def representations(
        self,
        x: Tensor | SparseMatrix,
        adj: Adjacency,
        last_only: bool = False,
        targets: Targets | None = None,
    ) -> list[Tensor]:
        """The projected features and the output of every layer: T + 1 tensors ``[N, d]``, or the last one only.

        Given targets, their rows only.
        """
        h = self.lin_in(x, self.config.input_dropout if self.training else 0.0)
        h = ops.relu_dropout(h, self.config.dropout, self.training)
        heads, channels = self.config.heads, self.config.hidden // self.config.heads
        packed = self.is_packable(h, adj) and not self._is_sparse(h, adj)
        history = [ops.pack(h, heads) if packed else h]
        for t in range(self.config.layers):
            is_last = t == self.config.layers - 1
            history.append(self.layer(t, history, adj if targets is None or not is_last else targets, packed))
        history = history[-1:] if last_only else history
        if targets is not None:
            history = [h[targets.nodes] for h in history]
        return [ops.unpack(h, heads, channels) for h in history] if packed else history

    def is_packable(self, h: Tensor, adj: Adjacency) -> bool:
        """Whether the history stays in the native kernels' layout from the first layer to the last."""
        dna = self.config.model == "dna" and not self.updates
        return dna and ops.is_packable(h, adj.normalized("gcn", h.dtype))

    def _is_sparse(self, h: Tensor, adj: Adjacency) -> bool:
        config = self.config
        dropout = config.attention_dropout if self.training else 0.0
        longest = min(config.layers, config.window or config.layers)
        return ops.is_sparse(h, config.groups, config.heads, adj.num_edges, longest, dropout)

    def layer(self, t: int, history: list[Tensor], adj: Adjacency, packed: bool = False) -> Tensor:
        """The output of layer t, counted from 0, with its update and ReLU, given all former representations."""
        conv, former = self.convs[t], history[-1]
        if self.config.model == "dna" and not self.updates:
            out: Tensor = conv(history, adj, packed=packed, relu=True)
            return out
        h = conv(history, adj) if self.config.model == "dna" else conv(former, adj)
        return torch.relu(self.updates[t](former, h) if self.updates else h)

    def final(self, history: list[Tensor]) -> Tensor:
        """What the last linear map sees: the last of all representations, or jumping knowledge over them."""
        final: Tensor = history[-1] if self.jump is None else self.jump(history[not self.config.jump_input :])
        return final

    @torch.no_grad()
    def attention(self, x: Tensor | SparseMatrix, graph: Any, layer: int = -1) -> EdgeAttention:
        """What the edges attend to in one layer of a DNA model."""
        if self.config.model != "dna":
            raise ValueError(f"model={self.config.model!r} has no attention over former representations: use 'dna'")
        adj = Adjacency.build(graph, num_nodes=x.shape[0]).with_self_loops()
        history = self.representations(x, adj)
        layer = range(self.config.layers)[layer]
        conv = self.convs[layer]
        _, attention = conv(history[: layer + 1], adj, return_attention=True)
        result: EdgeAttention = attention
        return result


def _conv(config: ModelConfig) -> DNAConv | GATConv | GCNConv:
    d, heads, groups, dropout = config.hidden, config.heads, config.groups, config.attention_dropout
    if config.model == "dna":
        return DNAConv(d, heads, groups, dropout, window=config.window, keep_first=config.keep_first)
    if config.model == "gat":
        return GATConv(d, d // heads, heads, groups, dropout=dropout)
    return GCNConv(d, d, groups)
