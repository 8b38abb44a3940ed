"""Graph attention, the obvious way.

Shapes: N nodes, E edges, H heads, C channels per head. Edges are in CSR order.
"""

import math

import torch
from torch import Tensor

from justjump.ops.dropout.reference import dropout
from justjump.ops.segments import edge_targets, segment_sum


def gat_attention(
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    rowptr: Tensor,
    col: Tensor,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    seed: int | Tensor = 0,
    target: Tensor | None = None,
    present: Tensor | None = None,
    factor: Tensor | None = None,
    first: int = 0,
) -> tuple[Tensor, Tensor]:
    r"""Graph attention: a softmax over the incoming edges of each node.

    .. math::
        \alpha_e = \textrm{softmax}_{e \in \mathcal{N}(v)} \left( \textrm{LeakyReLU}(s_w + t_v) \right), \quad
        out_v = \sum_e \alpha_e \, value_w

    Args:
        value: ``[N, H, C]``
        score_source, score_target: ``[N, H]``
        target: ``[E]`` where it is known
        present: ``[E]`` False where there is no edge; None where all are edges
        factor: ``[E]`` of the weights
        first: number of the first edge, for dropout

    Returns:
        ``[N, H, C]`` and the weights before dropout ``[E, H]``
    """
    target = edge_targets(rowptr, col.numel()) if target is None else target
    score = torch.nn.functional.leaky_relu(score_source[col] + score_target[target], negative_slope)
    top = score.new_full((rowptr.numel() - 1, score.size(1)), -math.inf)
    top = top.scatter_reduce(0, target[:, None].expand_as(score).long(), score.detach(), "amax")
    e = (score - top[target]).exp()  # [E, H]
    e = e if present is None else e * present[:, None]
    attention = e / segment_sum(e, rowptr, target)[target]
    dropped = dropout(attention[:, None], dropout_p, seed, first)[:, 0]
    dropped = dropped if factor is None else dropped * factor[:, None]
    return segment_sum(dropped[..., None] * value[col], rowptr, target), attention


def outgoing_attention(
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    rowptr: Tensor,
    col: Tensor,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    seed: int | Tensor = 0,
    factor: Tensor | None = None,
) -> Tensor:
    r"""Graph attention: a softmax over the outgoing edges of each node.

    Args:
        value: ``[N, H, C]``
        score_source, score_target: ``[N, H]``
        rowptr, col: the targets of the edges out of each node, in CSR order
        factor: ``[E]`` of the weights

    Returns:
        ``[N, H, C]``
    """
    # On reversed edges, a node attends to its targets.
    _, attention = gat_attention(value, score_target, score_source, rowptr, col, negative_slope)
    dropped = dropout(attention[:, None], dropout_p, seed)[:, 0]
    dropped = dropped if factor is None else dropped * factor[:, None]
    message = dropped[..., None] * value[edge_targets(rowptr, col.numel())]  # [E, H, C]
    return torch.zeros_like(value).index_add(0, col, message)
