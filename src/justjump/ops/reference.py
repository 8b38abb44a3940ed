"""The obvious PyTorch version of every operation: the oracle for the fast ones.

Shapes: N nodes, E edges, T former representations, H heads, C channels a head, d = H * C.
Edges are in CSR order: edge ``e`` runs from ``col[e]`` to the row that owns position ``e`` of ``rowptr``.
"""

import math

import torch
from torch import Tensor

MASK32 = 0xFFFFFFFF


def restricted_softmax(x: Tensor, dim: int = -1) -> Tensor:
    r"""Softmax with a fixed extra logit 0, so that the weights may sum to less than one.

    .. math:: \textrm{softmax}(x)_i = \exp(x_i) / (1 + \sum_j \exp(x_j))

    Subtracting ``max(0, max_j x_j)`` keeps every exponent at or below zero.

    >>> restricted_softmax(torch.tensor([0.0, 0.0, 0.0]))
    tensor([0.2500, 0.2500, 0.2500])
    """
    if x.size(dim) == 0:
        return x
    top = x.amax(dim, keepdim=True).clamp(min=0).detach()
    e = (x - top).exp()
    return e / (e.sum(dim, keepdim=True) + (-top).exp())


def grouped_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    r"""Linear map with a block-diagonal matrix: group j of the output sees group j of the input only.

    Args:
        x: ``[..., g * c_in]``
        weight: ``[g, c_in, c_out]``
        bias: ``[g * c_out]``

    Returns:
        ``[..., g * c_out]``
    """
    groups, c_in, c_out = weight.shape
    if groups == 1:
        out = x @ weight[0]
    else:
        rows = x.reshape(-1, groups, c_in).transpose(0, 1)  # [g, rows, c_in]
        out = torch.bmm(rows, weight).transpose(0, 1).reshape(*x.shape[:-1], groups * c_out)
    return out if bias is None else out + bias


def edge_targets(rowptr: Tensor) -> Tensor:
    """Target of every CSR edge. ``[N + 1] -> [E]``

    >>> edge_targets(torch.tensor([0, 2, 2, 3]))
    tensor([0, 0, 2])
    """
    nodes = torch.arange(rowptr.numel() - 1, device=rowptr.device, dtype=rowptr.dtype)
    return nodes.repeat_interleave(rowptr.diff())


def segment_sum(x: Tensor, rowptr: Tensor) -> Tensor:
    """Sum of the rows of each segment. ``[E, ...], [N + 1] -> [N, ...]``"""
    out = x.new_zeros(rowptr.numel() - 1, *x.shape[1:])
    return out.index_add(0, edge_targets(rowptr), x)


def gcn_norm(rowptr: Tensor, col: Tensor, weight: Tensor) -> Tensor:
    r"""Symmetrically normalised edge weights, for a graph that already holds its self-loops.

    .. math:: \hat{w}_{v,w} = w_{v,w} / \sqrt{\hat{d}_v \hat{d}_w}, \quad \hat{d}_v = \sum_w w_{v,w}

    A node of degree 0 gets weight 0. ``[E] -> [E]``
    """
    degree = segment_sum(weight, rowptr)
    # The masked value must not pass through pow: its gradient is inf * 0 there.
    scale = torch.where(degree > 0, degree, 1).pow(-0.5) * (degree > 0)
    return scale[edge_targets(rowptr)] * weight * scale[col]


def spmm(rowptr: Tensor, col: Tensor, weight: Tensor, x: Tensor) -> Tensor:
    r"""Sparse matrix times dense matrix: ``out[v] = sum_e weight[e] * x[col[e]]``.

    ``[N + 1], [E], [E], [M, d] -> [N, d]``
    """
    return segment_sum(weight[:, None] * x[col], rowptr)


def _mix32(h: Tensor) -> Tensor:
    """A bijection of 32-bit words that flips each output bit with probability 1/2. int64 in and out."""
    h = h ^ (h >> 16)
    h = (h * 0x7FEB352D) & MASK32
    h = h ^ (h >> 15)
    h = (h * 0x846CA68B) & MASK32
    return h ^ (h >> 16)


def dropout_mask(seed: int | Tensor, rows: Tensor, steps: int, heads: int, p: float) -> Tensor:
    """Which attention weights dropout keeps: a pure function of (seed, edge, t, head).

    There is no state, so a backward pass regenerates the mask of its forward pass and any kernel agrees with this
    one bit for bit::

        key  = mix(mix(mix(mix(seed_low) ^ seed_high) ^ edge_low) ^ edge_high)
        bits = mix(key ^ (t * 0x9E3779B9 + head * 0x85EBCA77 mod 2^32))
        keep = bits >= round(p * 2^32)

    Args:
        seed: a 64-bit integer
        rows: ``[E]`` edge positions in CSR order (or any row numbers)
        steps: T
        heads: H
        p: probability of dropping a weight

    Returns:
        ``[E, T, H]`` bool, True = keep

    >>> dropout_mask(0, torch.arange(10_000), 2, 4, p=0.8).double().mean().round(decimals=2)
    tensor(0.2000, dtype=torch.float64)
    """
    rows = rows.to(torch.int64)
    seed = torch.as_tensor(seed, dtype=torch.int64, device=rows.device)
    key = _mix32(seed & MASK32) ^ ((seed >> 32) & MASK32)
    key = _mix32(_mix32(_mix32(key) ^ (rows & MASK32)) ^ ((rows >> 32) & MASK32))  # [E]
    t = torch.arange(steps, device=rows.device)[:, None] * 0x9E3779B9
    head = torch.arange(heads, device=rows.device)[None, :] * 0x85EBCA77
    bits = _mix32(key[:, None, None] ^ ((t + head) & MASK32))
    return bits >= dropout_threshold(p)


def dropout_threshold(p: float) -> int:
    """The 32-bit word below which a weight is dropped."""
    if not 0 <= p < 1:
        raise ValueError(f"dropout={p} is not in [0, 1): choose 0 to switch it off")
    return min(round(p * 2**32), MASK32)


def dropout(x: Tensor, p: float, seed: int | Tensor, first_row: int = 0) -> Tensor:
    """Zero entries of ``x`` ``[R, T, H]`` by :func:`dropout_mask` and scale the rest by ``1 / (1 - p)``."""
    if p == 0:
        return x
    rows = torch.arange(first_row, first_row + x.size(0), device=x.device)
    return x * dropout_mask(seed, rows, x.size(1), x.size(2), p) / (1 - p)


def dna_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    rowptr: Tensor,
    col: Tensor,
    weight: Tensor,
    dropout_p: float = 0.0,
    seed: int | Tensor = 0,
) -> tuple[Tensor, Tensor]:
    r"""Every edge attends to all former representations of its source; the results are summed by target.

    .. math::
        \alpha_{e,t} = \textrm{softmax}_t \left( q_v^\top k_{w,t} / \sqrt{C} \right), \quad
        out_v = \sum_{e = (v \leftarrow w)} weight_e \sum_t \alpha_{e,t} \, v_{w,t}

    separately for each head, with the :func:`restricted_softmax` and dropout on its weights.

    Args:
        query: ``[N, H, C]``
        key, value: ``[N, T, H, C]``
        rowptr, col, weight: ``[N + 1], [E], [E]``

    Returns:
        ``[N, H, C]`` and the weights before dropout ``[E, T, H]``
    """
    attention = dna_edge_attention(query, key, edge_targets(rowptr), col)
    dropped = dropout(attention, dropout_p, seed)
    message = (dropped[..., None] * value[col]).sum(1)  # [E, H, C]
    return segment_sum(weight[:, None, None] * message, rowptr), attention


def dna_edge_attention(query: Tensor, key: Tensor, target: Tensor, source: Tensor) -> Tensor:
    """The weights of :func:`dna_attention` for some edges. ``[N, H, C], [N, T, H, C], [E], [E] -> [E, T, H]``"""
    score = (query[target][:, None] * key[source]).sum(-1) / math.sqrt(query.size(-1))
    return restricted_softmax(score, dim=1)


def gat_attention(
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    rowptr: Tensor,
    col: Tensor,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    seed: int | Tensor = 0,
) -> tuple[Tensor, Tensor]:
    r"""Graph attention: a softmax over the incoming edges of each node.

    .. math::
        \alpha_e = \textrm{softmax}_{e \in \mathcal{N}(v)} \left( \textrm{LeakyReLU}(s_w + t_v) \right), \quad
        out_v = \sum_e \alpha_e \, value_w

    Args:
        value: ``[N, H, C]``
        score_source, score_target: ``[N, H]``

    Returns:
        ``[N, H, C]`` and the weights before dropout ``[E, H]``
    """
    target = edge_targets(rowptr)
    score = torch.nn.functional.leaky_relu(score_source[col] + score_target[target], negative_slope)
    top = score.new_full((rowptr.numel() - 1, score.size(1)), -math.inf)
    top = top.scatter_reduce(0, target[:, None].expand_as(score).long(), score.detach(), "amax")
    e = (score - top[target]).exp()  # [E, H]
    attention = e / segment_sum(e, rowptr)[target]
    dropped = dropout(attention[:, None], dropout_p, seed)[:, 0]
    return segment_sum(dropped[..., None] * value[col], rowptr), attention
