"""A DNA layer in bounded memory, by PyTorch alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from justjump.ops.adjacency import Adjacency
from justjump.ops.blocks import edge_blocks
from justjump.ops.dna.reference import dna_edge_attention, unit_query_and_key
from justjump.ops.dropout.reference import dropout
from justjump.ops.grouped.reference import grouped_linear
from justjump.ops.operation import is_transformed

if TYPE_CHECKING:
    from justjump.ops.dna import Projections


def dna_conv(
    newest: Tensor | None,
    attended: Sequence[Tensor],
    projections: Projections,
    adj: Adjacency,
    heads: int,
    dropout_p: float,
    seed: Tensor,
) -> Tensor:
    """``[N, d]``, given the rows that ask (None for the last of the others) and those that are asked."""
    history = torch.cat([x if x.dim() == 3 else x[:, None] for x in attended], dim=1)  # [M, T, d]
    newest = history[:, -1] if newest is None else newest
    channels = history.size(-1) // heads
    query = grouped_linear(newest, projections.query, projections.query_bias).view(-1, heads, channels)
    key = grouped_linear(history, projections.key, projections.key_bias).view(*history.shape[:2], heads, channels)
    value = grouped_linear(history, projections.value, projections.value_bias).view(key.shape)
    query, key = unit_query_and_key(query, key, projections.qk_scale)
    return dna_attention(query, key, value, adj, dropout_p, seed, projections.step_bias).flatten(1)


def dna_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    adj: Adjacency,
    dropout_p: float,
    seed: Tensor,
    step_bias: Tensor | None = None,
) -> Tensor:
    """:func:`reference.dna_attention` in blocks of edges. ``[N, H, C], [M, T, H, C] x 2 -> [N, H, C]``"""
    if adj.weight is None:
        raise ValueError(f"{adj} has no weights: call with_self_loops().normalized() of the graph before")
    out = torch.zeros_like(query)
    if adj.traced or is_transformed():  # blocks would become part of the program; transforms know no checkpoints
        message = _messages(query, key, value, step_bias, adj.target, adj.col, adj.weight, dropout_p, seed, adj.first)
        return out.index_add(0, adj.target, message)
    for e in edge_blocks(adj.num_edges, key[0].numel() if len(key) else 1):
        edges = (adj.target[e], adj.col[e], adj.weight[e])
        block = (query, key, value, step_bias, *edges, dropout_p, seed, adj.first + e.start)
        # Backward recomputes the block: [edges, T, H, C] never outlives it.
        message = cast(Tensor, checkpoint(_messages, *block, use_reentrant=False, preserve_rng_state=False))
        out = out.index_add(0, adj.target[e], message)
    return out


def _messages(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    step_bias: Tensor | None,
    target: Tensor,
    source: Tensor,
    weight: Tensor,
    dropout_p: float,
    seed: Tensor,
    first: int,
) -> Tensor:
    attention = dna_edge_attention(query, key, target, source, step_bias)
    attention = dropout(attention, dropout_p, seed, first)
    return weight[:, None, None] * (attention[..., None] * value[source]).sum(1)  # [E, H, C]
