"""Graph convolution with a grouped projection."""

from typing import Any

import torch
from torch import Tensor, nn

from justjump import ops
from justjump.nn.arguments import refuse_unknown
from justjump.nn.config import Projection
from justjump.nn.grouped_linear import GroupedLinear
from justjump.nn.init import reset_projection
from justjump.nn.lazy_linear import layer_projection
from justjump.ops import Adjacency


class GCNConv(nn.Module):
    r"""Graph convolution (Kipf and Welling, 2017): project, then sum with symmetric normalisation.

    .. math:: h_v^{(t)} = b + \sum_{w \in \mathcal{N}(v) \cup \{v\}} \frac{w_{v,w}}{\sqrt{\hat{d}_v \hat{d}_w}}
        \, h_w^{(t-1)} \Theta

    With ``groups=1`` this is PyG's ``GCNConv``.

    Args:
        in_channels: size of each input row, or -1 to take it from the first call
        out_channels: size of each output row
        groups: groups of the projection; divides both sizes
        bias: add a learned vector
        projection: initialised by Glorot's rule for each block (``"glorot"``) or for the ``"whole"`` matrix, or as a
            ``"linear"`` layer of torch of the whole matrix; or ``"uniform"`` for the projection of DNA: each block as a
            linear layer, and the learned vector before the sum
        learned: share of the learned weight in the projection; the rest is the identity

    Shapes:
        ``[N, in_channels] -> [N, out_channels]``

    >>> GCNConv(8, 16, groups=4)(torch.randn(3, 8), torch.tensor([[0, 1], [1, 2]])).shape
    torch.Size([3, 16])
    """

    edge_mask: nn.Module | None  # factors of the messages while justjump.explain explains them

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        groups: int = 1,
        bias: bool = True,
        *,
        projection: Projection = "glorot",
        learned: float = 1.0,
        **unknown: Any,
    ) -> None:
        super().__init__()
        refuse_unknown("GCNConv", unknown, GCNConv.__init__)
        self.projection = projection
        if projection == "uniform":
            self.lin = GroupedLinear(in_channels, out_channels, groups, bias, learned)
        else:
            self.lin = layer_projection(in_channels, out_channels, groups, learned)
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias and projection != "uniform" else None
        self.register_module("edge_mask", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_projection(self.lin, self.projection)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        adj = Adjacency.build(edge_index, edge_weight, x.size(0)).with_self_loops().normalized("gcn", x.dtype)
        factor = None if self.edge_mask is None else self.edge_mask(adj)
        adj = adj if factor is None else adj.scaled(factor.to(x.dtype))
        out = ops.spmm(adj, self.lin(x))
        return out if self.bias is None else out + self.bias

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.lin.in_channels}, {self.lin.out_channels}, groups={self.lin.groups})"
