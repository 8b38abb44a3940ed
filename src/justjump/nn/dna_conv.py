"""The dynamic neighborhood aggregation layer."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args, overload

import torch
from torch import Tensor, nn

from justjump import ops
from justjump.nn.grouped_linear import GroupedLinear
from justjump.nn.init import reset_parameters
from justjump.nn.sizes import check_sizes
from justjump.ops import Adjacency, Aggregate, Projections, reference


class EdgeAttention(NamedTuple):
    """What each edge attended to in one layer.

    Attributes:
        edge_index: ``[2, E]`` (sources, targets)
        weight: ``[E, T, H]`` share of each former representation
        refused: ``[E, H]`` share given to none: ``1 - weight.sum(1)``
        steps: which former representations the T entries are, counted from 0
    """

    edge_index: Tensor
    weight: Tensor
    refused: Tensor
    steps: list[int]


class MultiHead(nn.Module):
    """The projections of a :class:`DNAConv`, under the names that PyG gives them."""

    def __init__(self, channels: int, heads: int, groups: int, dropout: float, bias: bool) -> None:
        super().__init__()
        check_sizes(channels, heads, groups)
        reference.dropout_threshold(dropout)
        self.in_channels = self.out_channels = channels
        self.heads = heads
        self.groups = groups
        self.dropout = dropout
        self.lin_q = GroupedLinear(channels, channels, groups, bias)
        self.lin_k = GroupedLinear(channels, channels, groups, bias)
        self.lin_v = GroupedLinear(channels, channels, groups, bias)

    def reset_parameters(self) -> None:
        for lin in (self.lin_q, self.lin_k, self.lin_v):
            lin.reset_parameters()

    @property
    def projections(self) -> Projections:
        q, k, v = self.lin_q, self.lin_k, self.lin_v
        return Projections(q.weight, q.bias, k.weight, k.bias, v.weight, v.bias)

    def split(self, x: Tensor) -> Tensor:
        """``[..., d] -> [..., H, C]``"""
        return x.view(*x.shape[:-1], self.heads, self.in_channels // self.heads)


class DNAConv(nn.Module):
    r"""Dynamic neighborhood aggregation (*Just Jump*, Fey 2019), a drop-in for PyG's ``DNAConv``.

    .. math::
        h_v^{(t)} &= \sum_{w \in \mathcal{N}(v) \cup \{v\}} C_{v,w} \, h_{v \leftarrow w}^{(t)} \\
        h_{v \leftarrow w}^{(t)} &= \textrm{Attention} \left( h_v^{(t-1)} \Theta_Q, \;
            [h_w^{(1)}, \ldots, h_w^{(t-1)}] \, \Theta_K, \; [h_w^{(1)}, \ldots, h_w^{(t-1)}] \, \Theta_V \right)

    with multi-head scaled dot-product attention, the restricted softmax, grouped projections :math:`\Theta` and the
    GCN coefficients :math:`C`. Weights of PyG's layer load here and the other way round. Every form of the graph gets
    one self-loop a node, an existing one counting as it; PyG adds a second one where a sparse matrix has one already.

    Args:
        channels: size of every representation
        heads: attention heads; divides ``channels``
        groups: groups of the projections; ``max(groups, heads)`` is a multiple of ``min(groups, heads)``
        dropout: probability of dropping an attention weight
        cached: keep the graph of the first call and ignore later ones
        normalize: normalise the edge weights (and add self-loops); if False, edges and weights count as they are
            (``aggregate`` must then stay as it is)
        add_self_loops: let every node attend to itself
        bias: learn additive biases in the projections
        flow: ``"source_to_target"`` or ``"target_to_source"``
        window: attend to the last ``window`` representations only
        keep_first: make the first representation one of the ``window``
        aggregate: edge coefficients ``"gcn"``, ``"mean"`` or ``"sum"``
        update: a module ``[N, channels] -> [N, channels]`` applied to the aggregate, for other choices of f
        aggr, kwargs: accepted as PyG's defaults only

    Shapes:
        x ``[N, T, channels]`` or a list of T tensors ``[N, channels]``, oldest first; output ``[N, channels]``

    >>> conv = DNAConv(channels=16, heads=4, groups=2)
    >>> conv(torch.randn(3, 2, 16), torch.tensor([[0, 1], [1, 2]])).shape
    torch.Size([3, 16])
    """

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
        if aggr not in ("add", "sum") or kwargs.get("node_dim", 0) != 0 or kwargs.keys() - {"node_dim"}:
            raise ValueError(
                f"aggr={aggr!r} and {kwargs} are not supported: messages are summed; see aggregate and update"
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
        self.multi_head = MultiHead(channels, heads, groups, dropout, bias)
        self.update = update
        self._cache: Adjacency | None = None

    def reset_parameters(self) -> None:
        self.multi_head.reset_parameters()
        if self.update is not None:
            reset_parameters(self.update)
        self._cache = None

    @overload
    def forward(
        self,
        x: Tensor | Sequence[Tensor],
        edge_index: Any,
        edge_weight: Tensor | None = None,
        *,
        packed: bool = False,
        relu: bool = False,
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        x: Tensor | Sequence[Tensor],
        edge_index: Any,
        edge_weight: Tensor | None = None,
        *,
        return_attention: Literal[True],
        relu: bool = False,
    ) -> tuple[Tensor, EdgeAttention]: ...

    def forward(
        self,
        x: Tensor | Sequence[Tensor],
        edge_index: Any,
        edge_weight: Tensor | None = None,
        return_attention: bool = False,
        packed: bool = False,
        relu: bool = False,
    ) -> Tensor | tuple[Tensor, EdgeAttention]:
        """Aggregate over the graph.

        Args:
            x: former representations ``[N, T, channels]``, or a list of T tensors ``[N, channels]``
            edge_index: ``[2, E]``, a sparse ``adj_t``, a scipy matrix or an :class:`~justjump.ops.Adjacency`
            edge_weight: ``[E]`` weights of the edges of ``edge_index``
            return_attention: also return an :class:`EdgeAttention`
            packed: x is a list in the native kernels' layout (see :func:`justjump.ops.pack`), and so is the output
            relu: apply ReLU to the output, without a pass of its own where the kernels do it
        """
        if not packed:
            self._check(x)
        elif return_attention or self.update is not None:
            raise ValueError("packed rows go with neither return_attention nor an update module")
        nodes, length = (x.size(0), x.size(1)) if isinstance(x, Tensor) else (x[0].size(0), len(x))
        dtype = x.dtype if isinstance(x, Tensor) else x[0].dtype
        adj = self._adjacency(edge_index, edge_weight, nodes)
        weight = adj.normalized(self.aggregate if self.normalize else "sum", dtype)
        steps, head = self.attended(length), self.multi_head
        newest, attended = self._select(x, steps)
        dropout = head.dropout if self.training else 0.0
        fused = relu and self.update is None
        out = ops.dna_conv(
            newest, attended, head.projections, adj, weight, head.heads, dropout, packed=packed, relu=fused
        )
        if self.update is not None:
            out = self.update(out)
            out = torch.relu(out) if relu else out
        if not return_attention:
            return out
        history = x if isinstance(x, Tensor) else torch.stack(list(x), dim=1)
        query = head.split(head.lin_q(history[:, -1]))  # [N, H, C]
        key = head.split(head.lin_k(history[:, steps]))  # [N, T, H, C]
        share = reference.dna_edge_attention(query, key, adj.target, adj.col)
        return out, EdgeAttention(adj.edge_index, share, 1 - share.sum(1), steps)

    def _select(self, x: Tensor | Sequence[Tensor], steps: list[int]) -> tuple[Tensor | None, list[Tensor]]:
        """The representation that asks (None for the last of the others) and those that are asked."""
        if isinstance(x, Tensor) and steps == list(range(steps[0], x.size(1))):
            return None, [x[:, steps[0] :] if steps[0] else x]
        history = x.unbind(1) if isinstance(x, Tensor) else x
        return None if steps[-1] == len(history) - 1 else history[-1], [history[t] for t in steps]

    def attended(self, length: int) -> list[int]:
        """Which of ``length`` former representations this layer attends to."""
        if self.window is None or length <= self.window:
            return list(range(length))
        if self.keep_first:
            return [0, *range(length - self.window + 1, length)]
        return list(range(length - self.window, length))

    def _check(self, x: Tensor | Sequence[Tensor]) -> None:
        channels = self.multi_head.in_channels
        if isinstance(x, Tensor):
            if x.dim() != 3 or x.size(1) == 0 or x.size(2) != channels:
                raise ValueError(f"x has shape {list(x.shape)}, expected [num_nodes, num_layers, {channels}]")
        elif not x or any(h.shape != (x[0].size(0), channels) for h in x):
            shapes = [list(h.shape) for h in x]
            raise ValueError(f"the history has shapes {shapes}, expected one or more of [num_nodes, {channels}]")

    def _adjacency(self, edge_index: Any, edge_weight: Tensor | None, num_nodes: int) -> Adjacency:
        if self._cache is not None:
            return self._cache
        adj = Adjacency.build(edge_index, edge_weight, num_nodes)
        if self.flow == "target_to_source":
            adj = adj.flipped()
        if self.normalize and self.add_self_loops:
            adj = adj.with_self_loops()
        if self.cached:
            self._cache = adj
        return adj

    def __repr__(self) -> str:
        head = self.multi_head
        return f"{type(self).__name__}({head.in_channels}, heads={head.heads}, groups={head.groups})"
