"""Graph attention whose weights sum to one over the edges out of each node."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from justjump.ops.adjacency import Adjacency
from justjump.ops.dropout import dropout
from justjump.ops.spmm import spmm


def outgoing_attention(
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    adj: Adjacency,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    *,
    factor: Tensor | None = None,
) -> Tensor:
    r"""What PyG's ``GATConv`` computed from 13 March to 19 April 2019.

    .. math::
        \alpha_e = \textrm{softmax}_{e \textrm{ out of } w} \left( \textrm{LeakyReLU}(s_w + t_v) \right), \quad
        out_v = \sum_e \alpha_e \, value_w

    ``[N, H, C], [N, H], [N, H] -> [N, H, C]``, for a whole graph; the weight of each edge is multiplied by ``factor``
    ``[E]`` where it is given.
    """
    if adj.shape[0] != adj.shape[1]:
        raise ValueError("softmax='outgoing' needs all edges of the graph: leave out mini-batches")
    for name, x in (("value", value), ("score_source", score_source), ("score_target", score_target)):
        if x.dim() != (3 if name == "value" else 2) or x.shape[:2] != (adj.num_nodes, value.size(1)):
            expected = f"[{adj.num_nodes}, heads{', channels' if name == 'value' else ''}]"
            raise ValueError(f"{name} has shape {list(x.shape)}, expected {expected} with the same heads for a {adj}")
    source, target = adj.col.long(), adj.target.long()
    score = F.leaky_relu(score_source.index_select(0, source) + score_target.index_select(0, target), negative_slope)
    top = score.new_full(score_source.shape, -math.inf)
    top = top.scatter_reduce(0, source[:, None].expand_as(score), score.detach(), "amax")
    e = (score - top.index_select(0, source)).exp()  # [E, H]
    total = torch.zeros_like(score_source).index_add(0, source, e)
    attention = dropout(e / total.index_select(0, source), dropout_p)
    attention = attention if factor is None else attention * factor[:, None]
    # A product per head: each is native, and no [E, H, C] is made.
    heads = [
        spmm(adj._with_weight(weight.contiguous()), rows.contiguous())
        for weight, rows in zip(attention.unbind(1), value.unbind(1), strict=True)
    ]
    return torch.stack(heads, dim=1)
