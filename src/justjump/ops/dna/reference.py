"""Dynamic neighborhood aggregation, the obvious way: the oracle for the fast ones.

Shapes: N nodes, E edges, T former representations, H heads, C channels per head, d = H * C.
Edges are in CSR order: edge ``e`` runs from ``col[e]`` to the row that owns position ``e`` of ``rowptr``.
"""

import math

import torch
from torch import Tensor

from justjump.ops.dropout.reference import dropout
from justjump.ops.segments import edge_targets, segment_sum


def restricted_softmax(x: Tensor, dim: int = -1) -> Tensor:
    r"""Softmax with a fixed extra logit 0, so that the weights may sum to less than one.

    .. math:: \textrm{softmax}(x)_i = \exp(x_i) / (1 + \sum_j \exp(x_j))

    Subtracting ``max(0, max_j x_j)`` keeps every exponent at or below zero.

    >>> import torch
    >>> restricted_softmax(torch.tensor([0.0, 0.0, 0.0]))
    tensor([0.2500, 0.2500, 0.2500])
    """
    if x.size(dim) == 0:
        return x
    top = x.amax(dim, keepdim=True).clamp(min=0).detach()
    e = (x - top).exp()
    return e / (e.sum(dim, keepdim=True) + (-top).exp())


def unit_length(x: Tensor, epsilon: float = 1e-6) -> Tensor:
    r"""Vectors ``[..., C]`` divided by their lengths.

    .. math:: x / \sqrt{|x|^2 + \epsilon}

    The zero vector stays zero, and its gradient is finite: that of the result times :math:`1 / \sqrt{\epsilon}`.
    """
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + epsilon)


def unit_query_and_key(query: Tensor, key: Tensor, qk_scale: Tensor | None) -> tuple[Tensor, Tensor]:
    r"""Query and key for which :math:`q^\top k / \sqrt{C}` is the cosine of those given, times the scale of the head.

    Query-key normalisation (Henry et al., 2020). Without scales they stay as they are.

    Args:
        query, key: ``[..., H, C]``
        qk_scale: ``[H]``
    """
    if qk_scale is None:
        return query, key
    scale = qk_scale * math.sqrt(query.size(-1))
    return unit_length(query) * scale[:, None], unit_length(key)


def dna_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    rowptr: Tensor,
    col: Tensor,
    weight: Tensor,
    dropout_p: float = 0.0,
    seed: int | Tensor = 0,
    step_bias: Tensor | None = None,
    qk_scale: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Every edge attends to all former representations of its source; the results are summed by target.

    .. math::
        \alpha_{e,t} = \textrm{softmax}_t \left( q_v^\top k_{w,t} / \sqrt{C} + b_t \right), \quad
        out_v = \sum_{e = (v \leftarrow w)} weight_e \sum_t \alpha_{e,t} \, v_{w,t}

    separately for each head, with the :func:`restricted_softmax` and dropout on its weights.

    Args:
        query: ``[N, H, C]``
        key, value: ``[N, T, H, C]``
        rowptr, col, weight: ``[N + 1], [E], [E]``
        step_bias: ``[T, H]``, of the scores of each representation; none in the paper
        qk_scale: ``[H]``; if given, query and key have unit length and scores are their products times the scale

    Returns:
        ``[N, H, C]`` and the weights before dropout ``[E, T, H]``
    """
    query, key = unit_query_and_key(query, key, qk_scale)
    attention = dna_edge_attention(query, key, edge_targets(rowptr), col, step_bias)
    dropped = dropout(attention, dropout_p, seed)
    message = (dropped[..., None] * value[col]).sum(1)  # [E, H, C]
    return segment_sum(weight[:, None, None] * message, rowptr), attention


def dna_edge_attention(
    query: Tensor, key: Tensor, target: Tensor, source: Tensor, step_bias: Tensor | None = None
) -> Tensor:
    """The weights of :func:`dna_attention` for some edges. ``[N, H, C], [N, T, H, C], [E], [E] -> [E, T, H]``"""
    score = (query[target][:, None] * key[source]).sum(-1) / math.sqrt(query.size(-1))
    return restricted_softmax(score if step_bias is None else score + step_bias, dim=1)
