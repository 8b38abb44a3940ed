"""The dynamic neighborhood aggregation layer."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args, overload

import torch
from torch import Tensor, nn

from justjump import ops
from justjump.nn.arguments import refuse_unknown, warns_of_heads
from justjump.nn.config import Attention, Start, check_qk_norm
from justjump.nn.grouped_linear import GroupedLinear
from justjump.nn.init import reset_parameters
from justjump.nn.sizes import check_dna_sizes, check_sizes
from justjump.ops import Adjacency, Aggregate, History, Projections
from justjump.ops.dna.reference import dna_edge_attention, unit_query_and_key
from justjump.ops.dropout import dropout_threshold

# The score at which the newest representation begins with start="scaled", if there are biases: with a score of 0 for
# the others it gets 95 % in the first layer and 80 % in the fifth.
NEWEST_BIAS = 3.0
# What PyG's layer hands to its base class, with the values that this layer computes.
PYG_ARGUMENTS: dict[str, Any] = {"aggr": "add", "aggr_kwargs": None, "node_dim": 0, "decomposed_layers": 1}


class EdgeAttention(NamedTuple):
    """What each edge attended to in one layer.

    Attributes:
        edge_index: ``[2, E]`` (sources, targets)
        weight: ``[E, T, H]`` share of each former representation
        refused: ``[E, H]`` share given to none: ``1 - weight.sum(1)``
        steps: which former representations h(t) the T entries are; h(0) is the oldest
    """

    edge_index: Tensor
    weight: Tensor
    refused: Tensor
    steps: list[int]


class MultiHead(nn.Module):
    """The projections of a :class:`DNAConv`, under the names that PyG gives them."""

    step_bias: Tensor | None  # [T, H]
    log_scale: Tensor | None  # [H]

    def __init__(
        self,
        channels: int,
        heads: int,
        groups: int,
        dropout: float,
        bias: bool,
        attention: Attention,
        start: Start,
        learned: float,
        steps: int | None,
        qk_norm: bool,
    ) -> None:
        super().__init__()
        check_sizes(channels, heads, groups)
        dropout_threshold(dropout)
        self.in_channels = self.out_channels = channels
        self.heads = heads
        self.groups = groups
        self.dropout = dropout
        self.lin_q = GroupedLinear(channels, channels, groups, bias)
        self.lin_k = GroupedLinear(channels, channels, groups, bias)
        self.lin_v = GroupedLinear(channels, channels, groups, bias, learned)
        biases = nn.Parameter(torch.zeros(steps, heads)) if attention in ("biased", "steps") and steps else None
        self.register_parameter("step_bias", biases)
        self.register_parameter("log_scale", nn.Parameter(torch.zeros(heads)) if qk_norm else None)
        self.attention, self.start = attention, start
        self._change_start()

    def reset_parameters(self) -> None:
        for lin in (self.lin_q, self.lin_k, self.lin_v):
            lin.reset_parameters()
        for changed in (self.step_bias, self.log_scale):
            if changed is not None:
                nn.init.zeros_(changed)
        self._change_start()

    def _change_start(self) -> None:
        """What differs from the paper's initialisation, where it is asked for."""
        asking = [*self.lin_q.parameters(), *self.lin_k.parameters()]
        if self.start == "scaled":
            # The biases of small groups are larger than the features of most graphs, and the same for all nodes.
            for lin in (self.lin_q, self.lin_k, self.lin_v):
                if lin.bias is not None:
                    nn.init.zeros_(lin.bias)
            # A network that begins as GCN does learns where to differ from it.
            if self.step_bias is not None:
                nn.init.constant_(self.step_bias[-1], NEWEST_BIAS)
            # He et al., 2015, for the ReLU that follows. Twice as much where equal scores refuse half of the first
            # representation: sums that are small beside h(0) learn late, or never where jumping knowledge has h(0).
            bound = (2 if self.step_bias is None else 1) * math.sqrt(6 / self.lin_v.weight.size(1))
            nn.init.uniform_(self.lin_v.weight, -bound, bound)
        if self.attention in ("equal", "steps"):
            for parameter in asking:
                nn.init.zeros_(parameter).requires_grad_(False)

    @property
    def projections(self) -> Projections:
        q, k, v = self.lin_q, self.lin_k, self.lin_v
        return Projections(q.weight, q.bias, k.weight, k.bias, v.blocks, v.bias, self.step_bias, self.qk_scale)

    @property
    def qk_scale(self) -> Tensor | None:
        """``[H]`` factors of the products of queries and keys of unit length.

        They begin at the square root of the channels: a vector whose channels have variance 1 is that long, so scores
        begin as the paper's do for such queries and keys.
        """
        if self.log_scale is None:
            return None
        return self.log_scale.exp() * math.sqrt(self.in_channels // self.heads)

    def query_and_key(self, newest: Tensor, attended: Tensor) -> tuple[Tensor, Tensor]:
        """Those that the scores are made of. ``[N, d], [N, T, d] -> [N, H, C], [N, T, H, C]``"""
        query, key = self.split(self.lin_q(newest)), self.split(self.lin_k(attended))
        return unit_query_and_key(query, key, self.qk_scale)

    def split(self, x: Tensor) -> Tensor:
        """``[..., d] -> [..., H, C]``"""
        return x.view(*x.shape[:-1], self.heads, self.in_channels // self.heads)


class DNAConv(nn.Module):
    r"""Dynamic neighborhood aggregation (*Just Jump*, Fey 2019), a drop-in for PyG's ``DNAConv``.

    .. math::
        h_v^{(t)} &= \sum_{w \in \mathcal{N}(v) \cup \{v\}} C_{v,w} \, h_{v \leftarrow w}^{(t)} \\
        h_{v \leftarrow w}^{(t)} &= \textrm{Attention} \left( h_v^{(t-1)} \Theta_Q, \;
            [h_w^{(0)}, \ldots, h_w^{(t-1)}] \, \Theta_K, \; [h_w^{(0)}, \ldots, h_w^{(t-1)}] \, \Theta_V \right)

    with multi-head scaled dot-product attention, the restricted softmax, grouped projections :math:`\Theta` and the
    GCN coefficients :math:`C`. (The paper counts the first representation as :math:`h^{(1)}`.) Weights of PyG's layer
    load here and the other way round. Each node gets exactly one self-loop; existing ones are kept. PyG adds a second
    one where a sparse matrix has one already.

    A layer that is given the same ``edge_index`` again does not sort it again.

    Args:
        channels: size of every representation
        heads: attention heads; divides ``channels``
        groups: groups of the projections; ``max(groups, heads)`` is a multiple of ``min(groups, heads)``
        dropout: probability of dropping an attention weight
        cached: keep the graph of the first call and ignore later ones
        normalize: normalise the edge weights and add self-loops; if False, edges and weights count as they are, and
            ``aggregate`` must stay as it is
        add_self_loops: let every node attend to itself
        bias: learn additive biases in the projections
        flow: ``"source_to_target"`` or ``"target_to_source"``
        window: number of latest representations to attend to; all by default
        keep_first: make the first representation one of the ``window``
        aggregate: edge coefficients ``"gcn"``, ``"mean"`` or ``"sum"``
        update: a module ``[N, channels] -> [N, channels]`` applied to the aggregate, for other choices of f
        attention: ``"learned"``; ``"biased"`` with a learned bias of the scores for each former representation and
            head, whose common part is the margin of refusing all; ``"steps"`` for these biases alone; ``"equal"`` for
            the same share of each representation and of refusing all, as all scores zero give
        steps: number of former representations, if they have biases
        qk_norm: scale queries and keys to unit length in each head, and learn a positive factor of their product for
            each head; needs scores, so ``attention`` ``"learned"`` or ``"biased"``. The zero vector stays zero
        start: initialisation: as in the ``"paper"``, or ``"scaled"`` for projections without biases and values of the
            scale of their inputs; where ``attention`` has biases, it then begins at the newest representation
        learned: share of the learned weight in the projection of values; the rest is the identity
        aggr, kwargs: accepted as PyG's defaults only

    Shapes:
        x ``[N, T, channels]``, a list of T tensors ``[N, channels]``, oldest first, or a
        :class:`~justjump.ops.History`; output ``[N, channels]``

    >>> conv = DNAConv(channels=16, heads=4, groups=2)
    >>> conv(torch.randn(3, 2, 16), torch.tensor([[0, 1], [1, 2]])).shape
    torch.Size([3, 16])
    """

    edge_mask: nn.Module | None  # factors of the messages while justjump.explain explains them

    @warns_of_heads
    def __init__(
        self,
        channels: int,
        heads: int = 1,
        groups: int = 1,
        dropout: float = 0.0,
        cached: bool = False,
        normalize: bool = True,
        add_self_loops: bool = True,
        bias: bool = True,
        *,
        flow: Literal["source_to_target", "target_to_source"] = "source_to_target",
        window: int | None = None,
        keep_first: bool = False,
        aggregate: Aggregate = "gcn",
        update: nn.Module | None = None,
        attention: Attention = "learned",
        start: Start = "paper",
        learned: float = 1.0,
        steps: int | None = None,
        qk_norm: bool = False,
        aggr: str = "add",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not normalize and aggregate == "mean":
            raise ValueError("aggregate='mean' normalises the edge weights: it does not go with normalize=False")
        if keep_first and window is None:
            raise ValueError("keep_first=True needs a window: without one all representations are attended to")
        if window is not None and window < 1:
            raise ValueError(f"window={window} must be at least 1, or None for the whole history")
        if aggregate not in get_args(Aggregate):
            raise ValueError(f"aggregate={aggregate!r} is unknown: choose {', '.join(get_args(Aggregate))}")
        refuse_unknown("DNAConv", kwargs.keys() - PYG_ARGUMENTS.keys(), DNAConv.__init__)
        for name, value in {"aggr": "add" if aggr == "sum" else aggr, **kwargs}.items():
            if value != PYG_ARGUMENTS[name]:
                usual = PYG_ARGUMENTS[name]
                raise ValueError(
                    f"{name}={value!r} is not supported, only {usual!r}: messages are summed; see aggregate and update"
                )
        if flow not in ("source_to_target", "target_to_source"):
            raise ValueError(f"flow={flow!r} is unknown: choose 'source_to_target' or 'target_to_source'")
        self.bias = bias
        self.cached = cached
        self.normalize = normalize
        self.add_self_loops = add_self_loops
        self.flow = flow
        self.window = window
        self.keep_first = keep_first
        self.aggregate = aggregate
        check_dna_sizes(channels, heads)
        for name, value, kind in (("attention", attention, Attention), ("start", start, Start)):
            if value not in get_args(kind):
                raise ValueError(f"{name}={value!r} is unknown: choose {' or '.join(map(repr, get_args(kind)))}")
        if (attention in ("biased", "steps")) != (steps is not None) or (steps is not None and steps < 1):
            raise ValueError(
                f"steps={steps!r} with attention={attention!r}: 'biased' and 'steps' take the number of former "
                "representations, the others None"
            )
        check_qk_norm(qk_norm, attention)
        self.multi_head = MultiHead(channels, heads, groups, dropout, bias, attention, start, learned, steps, qk_norm)
        self.register_module("edge_mask", None)
        self.update = update
        self._cache: Adjacency | None = None

    def reset_parameters(self) -> None:
        self.multi_head.reset_parameters()
        if self.update is not None:
            reset_parameters(self.update)
        self._cache = None

    @overload
    def forward(
        self, x: History | Tensor | Sequence[Tensor], edge_index: Any, edge_weight: Tensor | None = None
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        x: History | Tensor | Sequence[Tensor],
        edge_index: Any,
        edge_weight: Tensor | None = None,
        *,
        return_attention: Literal[True],
    ) -> tuple[Tensor, EdgeAttention]: ...

    def forward(
        self,
        x: History | Tensor | Sequence[Tensor],
        edge_index: Any,
        edge_weight: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, EdgeAttention]:
        """Aggregate over the graph.

        Args:
            x: former representations: ``[N, T, channels]``, T tensors ``[N, channels]`` or a history
            edge_index: ``[2, E]``, a sparse ``adj_t``, a scipy matrix or an :class:`~justjump.ops.Adjacency`
            edge_weight: ``[E]`` weights of the edges of ``edge_index``
            return_attention: also return an :class:`EdgeAttention`
        """
        history, head = self._history(x), self.multi_head
        adj = self._adjacency(edge_index, edge_weight, history)
        history = history.window(self.window, self.keep_first)
        out = ops.dna_conv(history, head.projections, adj, head.heads, self._dropout)
        out = out if self.update is None else self.update(out)
        if not return_attention:
            return out
        query, key = head.query_and_key(history.newest, history.stack()[:, history.attended])
        share = dna_edge_attention(query, key, adj.target, adj.col, head.step_bias)
        return out, EdgeAttention(adj.edge_index, share, 1 - share.sum(1), history.attended)

    def extend(self, history: History, edge_index: Any, edge_weight: Tensor | None = None) -> None:
        """Append the layer's output, after ReLU, to the history: what a network does from layer to layer.

        The same as ``history.append(conv(history, edge_index).relu())``, in fewer passes over the rows.

        >>> history = History.start(torch.randn(3, 16))
        >>> DNAConv(16).extend(history, torch.tensor([[0, 1], [1, 2]]))
        >>> len(history)
        2
        """
        if not isinstance(history, History):
            raise TypeError(f"the history is a {type(history).__name__}, expected a History: make one of it first")
        if self.update is not None:
            history.append(torch.relu(self(history, edge_index, edge_weight)))
            return
        head = self.multi_head
        adj = self._adjacency(edge_index, edge_weight, self._history(history))
        window, keep_first = self.window, self.keep_first
        projections, heads = head.projections, head.heads
        ops.dna_extend(history, projections, adj, heads, self._dropout, window=window, keep_first=keep_first)

    @property
    def _dropout(self) -> float:
        return self.multi_head.dropout if self.training else 0.0

    def _history(self, x: History | Tensor | Sequence[Tensor]) -> History:
        history, channels = History.of(x), self.multi_head.in_channels
        if history.channels != channels:
            shape = [history.num_nodes, len(history), history.channels]
            raise ValueError(f"x has shape {shape}, expected [num_nodes, num_layers, {channels}]")
        return history

    def _adjacency(self, edge_index: Any, edge_weight: Tensor | None, history: History) -> Adjacency:
        """The graph with its self-loops and coefficients, times the mask where there is one."""
        adj = self._normalized(edge_index, edge_weight, history)
        factor = None if self.edge_mask is None else self.edge_mask(adj)
        return adj if factor is None else adj.scaled(factor.to(history.dtype))

    def _normalized(self, edge_index: Any, edge_weight: Tensor | None, history: History) -> Adjacency:
        aggregate: Aggregate = self.aggregate if self.normalize else "sum"
        if self._cache is not None:
            return Adjacency.build(self._cache, None, history.num_nodes).normalized(aggregate, history.dtype)
        adj = Adjacency.build(edge_index, edge_weight, history.num_nodes)
        if self.flow == "target_to_source":
            adj = adj.flipped()
        if self.normalize and self.add_self_loops:
            adj = adj.with_self_loops()
        if self.cached:
            self._cache = adj
        return adj.normalized(aggregate, history.dtype)

    def __repr__(self) -> str:
        head = self.multi_head
        return f"{type(self).__name__}({head.in_channels}, heads={head.heads}, groups={head.groups})"
