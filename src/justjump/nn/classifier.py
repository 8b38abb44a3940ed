"""The paper's network for every model it compares."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from justjump import ops
from justjump.nn.arguments import check_features
from justjump.nn.config import ModelConfig
from justjump.nn.dna_conv import DNAConv, EdgeAttention
from justjump.nn.feature_linear import FeatureLinear
from justjump.nn.gat_conv import GATConv
from justjump.nn.gcn_conv import GCNConv
from justjump.nn.jump import InitialUpdate, jumping_knowledge, norm_module, update_module
from justjump.nn.layers import Layers
from justjump.nn.readout import Readout, count_graphs
from justjump.nn.sizes import check_count
from justjump.ops import Adjacency, History, Hops, SparseMatrix
from justjump.ops.history import attended_steps
from justjump.ops.matrix import rows_of


class NodeClassifier(Layers):
    r"""Linear, ReLU, dropout, T graph layers each with ReLU, jumping knowledge, dropout, linear.

    Args:
        config: which network
        num_features: size of the input features
        num_classes: number of classes

    Shapes:
        features ``[N, num_features]`` dense or a :class:`~justjump.ops.SparseMatrix`; output: logits ``[N, classes]``,
        or ``[graphs, classes]`` for whole graphs

    >>> model = NodeClassifier(ModelConfig(layers=2, hidden=16, heads=4, groups=4), num_features=5, num_classes=3)
    >>> model(torch.randn(4, 5), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape
    torch.Size([4, 3])
    """

    def __init__(self, config: ModelConfig, num_features: int, num_classes: int) -> None:
        super().__init__()
        if not isinstance(config, ModelConfig):
            order = "NodeClassifier(config, num_features, num_classes)"
            raise TypeError(f"config={config!r} is of type {type(config).__name__}, expected a ModelConfig: {order}")
        check_count("num_features", num_features)
        check_count("num_classes", num_classes)
        self.config = config = config.suited()
        assert config.initial_share is not None
        d = config.hidden
        self.lin_in = FeatureLinear(num_features, d)
        self.convs = nn.ModuleList(_conv(config, t) for t in range(1, config.layers + 1))
        self.updates = nn.ModuleList(
            module
            for _ in range(config.layers)
            if (module := update_module(config.update, d, config.initial_share)) is not None
        )
        jumps = config.layers + config.jump_input
        self.jump = jumping_knowledge(config.jump, d, jumps)
        self.lin_out = nn.Linear(d * jumps if config.jump == "concat" else d, num_classes)
        self.lin_alone = FeatureLinear(num_features, num_classes) if config.linear_share else None
        self.readout = Readout(config.readout, self.lin_out.in_features)
        counts = config.layers + (config.norm_after == "relu")
        self.norms = nn.ModuleList(norm for _ in range(counts) if (norm := norm_module(config.norm, d)) is not None)

    def forward(
        self,
        x: Tensor | SparseMatrix,
        graph: Any,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
    ) -> Tensor:
        """Logits of all nodes, or of those that the graph is taken toward; with ``batch``, of whole graphs.

        Args:
            x: features of all nodes
            graph: ``edge_index`` ``[2, E]``, a sparse ``adj_t``, a scipy matrix or an
                :class:`~justjump.ops.Adjacency`. With ``adj.toward(nodes)`` the logits are ``[len(nodes), classes]``,
                and the last layer skips the other nodes. With the :class:`~justjump.ops.Hops` of a mini-batch they are
                those of its first nodes.
            edge_weight: ``[E]`` weights of the edges of ``edge_index``
            batch: ``[N]`` the number of each node's graph; the logits are then ``[graphs, classes]``, from the
                ``readout`` of the nodes of each graph
            num_graphs: the number of graphs; by default the largest number in ``batch`` decides
        """
        check_features(x, self.lin_in.weight)
        if len(x.shape) != 2 or x.shape[1] != self.lin_in.in_features:
            raise ValueError(f"x has shape {list(x.shape)}, expected [num_nodes, {self.lin_in.in_features}]")
        adj = graph if isinstance(graph, Hops) else Adjacency.build(graph, edge_weight, x.shape[0])
        history = self.representations(x, adj)
        final = self.final((history if self.jump else history[-1:]).take(adj.nodes))
        if batch is not None:
            if self.lin_alone is not None:
                raise ValueError(f"linear_share={self.config.linear_share:g} is for nodes: leave out batch")
            graphs = count_graphs(batch, adj.num_nodes, num_graphs)
            final = self.readout(final, batch if adj.nodes is None else batch[adj.nodes], graphs)
        if self.lin_alone is None:
            return self.logits(final)
        nodes = torch.arange(final.size(0), device=final.device) if isinstance(adj, Hops) else adj.nodes
        return self.logits(final, x if nodes is None else rows_of(x, nodes))

    def representations(self, x: Tensor | SparseMatrix, adj: Adjacency | Hops) -> History:
        """The projected features h(0) and the output h(t) of each layer, T + 1 in all.

        Where the graph is taken toward some nodes, h(T) is right for these alone. Of a mini-batch, all are those of its
        first nodes.
        """
        if self.training and self.config.drop_edge and isinstance(adj, Adjacency):
            adj = ops.drop_edges(adj, self.config.drop_edge)
        return self.run(History.start(self.first(x)), adj)

    def first(self, x: Tensor | SparseMatrix) -> Tensor:
        """The projected features h(0). ``[N, num_features] -> [N, d]``"""
        rate = self.config.input_rate(x.shape[1], sparse=not isinstance(x, Tensor)) if self.training else 0.0
        return self._activated(0, self.lin_in(x, rate), self._dropout)

    def is_relu(self, t: int) -> bool:
        return not self.updates and self._is_relu_after(t)

    def _is_relu_after(self, t: int) -> bool:
        """Whether ReLU is all that follows the update of layer t."""
        return not self.norms and not self._dropped_after(t)

    def after(self, t: int, h: Tensor, history: History | None, **context: Any) -> Tensor:
        """The update and the norm, if there are any, ReLU, and dropout between layers."""
        if self.updates:
            assert history is not None
            former = (history[0] if self.reads_first else history.newest)[: h.size(0)]
            update = self.updates[t - 1]
            if isinstance(update, InitialUpdate) and self._is_relu_after(t):
                return ops.mix_relu(h, former, update.share)  # in one pass what follows here in four
            h = update(former, h)
        return self._activated(t, h, self._dropped_after(t))

    def _activated(self, t: int, h: Tensor, dropout: float) -> Tensor:
        """ReLU, and the norm before or after it, and dropout."""
        if not self.norms or (t == 0 and self.config.norm_after == "sum"):
            return ops.relu_dropout(h, dropout, self.training)
        if self.config.norm_after == "sum":
            return ops.relu_dropout(self.norms[t - 1](h), dropout, self.training)
        return ops.dropout(self.norms[t](torch.relu(h)), dropout, self.training)

    @property
    def _dropout(self) -> float:
        return self.config.dropout or 0.0

    @property
    def reads_first(self) -> bool:
        """Whether each layer is merged with h(0)."""
        return self.config.update == "initial"

    def part(self, t: int, adj: Adjacency) -> Adjacency:
        """All nodes where the statistics of a norm are over all of them."""
        return adj.whole if self.config.norm == "batch" else super().part(t, adj)

    def _dropped_after(self, t: int) -> float:
        """The rate of dropout after layer t: none after the last one, whose output has a dropout of its own."""
        return self.config.layer_dropout if self.training and t < self.config.layers else 0.0

    def final(self, history: History) -> Tensor:
        """What the last linear map sees: the last of all representations, or jumping knowledge over them."""
        if self.jump is None:
            return history.newest
        first = 0 if self.config.jump_input else 1
        final: Tensor = self.jump([history[t] for t in range(first, len(history))])
        return final

    def logits(self, final: Tensor, x: Tensor | SparseMatrix | None = None) -> Tensor:
        """The last map, of what :meth:`final` gives, mixed with that of the features. ``[n, d] -> [n, classes]``

        Args:
            x: features of the same nodes, where they have a share in the output
        """
        logits: Tensor = self.lin_out(ops.dropout(final, self._dropout, self.training))
        if self.lin_alone is None:
            return logits
        assert x is not None
        assert self.config.linear_share is not None
        return torch.lerp(logits, self.lin_alone(x), self.config.linear_share)

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


def _conv(config: ModelConfig, t: int) -> DNAConv | GATConv | GCNConv:
    """Layer t, counted from 1."""
    d, heads, groups, dropout = config.hidden, config.heads, config.groups, config.attention_dropout
    learned = min(1.0, math.log(1 + config.identity / t)) if config.identity else 1.0
    if config.model == "dna":
        steps = len(attended_steps(t, config.window, config.keep_first))
        return DNAConv(
            d,
            heads,
            groups,
            dropout,
            window=config.window,
            keep_first=config.keep_first,
            attention=config.attention,
            start=config.start,
            learned=learned,
            steps=steps if config.attention in ("biased", "steps") else None,
            qk_norm=config.qk_norm,
        )
    if config.model == "gat":
        return GATConv(
            d,
            d // heads,
            heads,
            groups,
            dropout=dropout,
            softmax=config.softmax,
            vectors=config.vectors,
            projection=config.projection,
            learned=learned,
        )
    return GCNConv(d, d, groups, projection=config.projection, learned=learned)
