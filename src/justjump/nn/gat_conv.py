"""Graph attention with a grouped projection."""

from typing import Any

import torch
from torch import Tensor, nn

from justjump import ops
from justjump.nn.arguments import refuse_unknown
from justjump.nn.config import Projection, Softmax, Vectors
from justjump.nn.grouped_linear import GroupedLinear
from justjump.nn.init import glorot_, reset_projection
from justjump.nn.lazy_linear import layer_projection
from justjump.nn.sizes import check_count, check_sizes
from justjump.ops import Adjacency
from justjump.ops.dropout import dropout_threshold


class GATConv(nn.Module):
    r"""Graph attention (Velickovic et al., 2018).

    .. math::
        h_v^{(t)} = b + \sum_{w \in \mathcal{N}(v) \cup \{v\}} \alpha_{v,w} \, h_w^{(t-1)} \Theta, \quad
        \alpha_{v,w} = \textrm{softmax}_w \, \textrm{LeakyReLU} \left( a_s^\top \Theta^\top h_w
        + a_t^\top \Theta^\top h_v \right)

    With ``groups=1`` this is PyG's ``GATConv``. Edge weights play no part.

    Args:
        in_channels: size of each input row, or -1 to take it from the first call
        out_channels: size of each head's output
        heads: number of heads
        groups: groups of the projection
        negative_slope: slope of LeakyReLU below zero
        dropout: probability of dropping an attention weight
        bias: add a learned vector
        concat: concatenate the heads; if False, average them
        softmax: ``"incoming"``: the weights of the edges into a node sum to one; ``"outgoing"``: those of the edges out
            of a node do, as in PyG from 13 March to 19 April 2019
        vectors: initialise the attention vectors as ``"two"``, or as the halves of ``"one"`` as PyG did in 2019
        projection: initialised by Glorot's rule for each block (``"glorot"``) or for the ``"whole"`` matrix, or as a
            ``"linear"`` layer of torch of the whole matrix; or ``"uniform"`` for the projection of DNA: each block as a
            linear layer, and the learned vector before the sum
        learned: share of the learned weight in the projection; the rest is the identity

    Shapes:
        ``[N, in_channels] -> [N, heads * out_channels]``, or ``[N, out_channels]`` where heads are averaged

    >>> GATConv(8, 4, heads=2, groups=4)(torch.randn(3, 8), torch.tensor([[0, 1], [1, 2]])).shape
    torch.Size([3, 8])
    """

    edge_mask: nn.Module | None  # factors of the messages while justjump.explain explains them

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        groups: int = 1,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        concat: bool = True,
        softmax: Softmax = "incoming",
        vectors: Vectors = "two",
        projection: Projection = "glorot",
        learned: float = 1.0,
        **unknown: Any,
    ) -> None:
        super().__init__()
        refuse_unknown("GATConv", unknown, GATConv.__init__)
        check_count("out_channels", out_channels)
        check_count("heads", heads)
        check_sizes(heads * out_channels, heads, groups, "heads * out_channels")
        dropout_threshold(dropout)
        self.heads = heads
        self.negative_slope = negative_slope
        self.dropout = dropout
        self.softmax, self.vectors, self.projection = softmax, vectors, projection
        if projection == "uniform":
            self.lin = GroupedLinear(in_channels, heads * out_channels, groups, bias, learned)
        else:
            self.lin = layer_projection(in_channels, heads * out_channels, groups, learned)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        self.concat = concat
        size = heads * out_channels if concat else out_channels
        self.bias = nn.Parameter(torch.empty(size)) if bias and projection != "uniform" else None
        self.register_module("edge_mask", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_projection(self.lin, self.projection)
        if self.vectors == "two":
            glorot_(self.att_src)
            glorot_(self.att_dst)
        else:
            both = torch.cat([self.att_src.detach(), self.att_dst.detach()], dim=2)
            glorot_(both)
            for vector, half in zip((self.att_src, self.att_dst), both.chunk(2, dim=2), strict=True):
                vector.data.copy_(half)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        adj = Adjacency.build(edge_index, num_nodes=x.size(0)).with_self_loops()
        if self.softmax == "outgoing":
            adj = adj.whole  # a weight depends on all edges out of a node, whatever their targets are
        value = self.lin(x)  # [N, H * C]
        source, target = (value @ self._score_matrix()).split(self.heads, dim=1)  # [N, H]
        value = value.view(x.size(0), *self.att_src.shape[1:])
        dropout = self.dropout if self.training else 0.0
        target = target[: adj.shape[0]]
        factor = None if self.edge_mask is None else self.edge_mask(adj)
        slope = self.negative_slope
        attend = ops.gat_attention if self.softmax == "incoming" else ops.outgoing_attention
        out = attend(value, source, target, adj, slope, dropout, factor=factor)  # [N, H, C]
        out = out.flatten(1) if self.concat else out.mean(1)
        return out if self.bias is None else out + self.bias

    def _score_matrix(self) -> Tensor:
        """Both attention vectors ``[H * C, 2 * H]``, a block per head: one product, not passes over [N, H, C]."""
        heads = torch.eye(self.heads, dtype=self.att_src.dtype, device=self.att_src.device)
        blocks = [att[0, :, :, None] * heads[:, None] for att in (self.att_src, self.att_dst)]  # [H, C, H]
        return torch.cat(blocks, dim=2).flatten(0, 1)

    def __repr__(self) -> str:
        lin = self.lin
        return f"{type(self).__name__}({lin.in_channels}, {lin.out_channels}, heads={self.heads}, groups={lin.groups})"
