"""DNA attention: every edge attends to the former representations of its source."""

from typing import cast

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from justjump.ops import reference
from justjump.ops.adjacency import Adjacency
from justjump.ops.blocks import edge_blocks
from justjump.ops.dropout import draw_seed


def dna_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    adj: Adjacency,
    weight: Tensor,
    dropout_p: float,
    seed: Tensor | None = None,
) -> Tensor:
    """:func:`reference.dna_attention` in bounded memory.

    Args:
        query: ``[N, H, C]``
        key, value: ``[N, T, H, C]``
        weight: ``[E]`` in CSR order

    Returns:
        ``[N, H, C]``
    """
    seed = draw_seed(dropout_p) if seed is None else seed
    out = torch.zeros_like(query)
    for e in edge_blocks(adj.num_edges, key[0].numel() if len(key) else 1):
        block = (query, key, value, adj.target[e], adj.col[e], weight[e], dropout_p, seed, e.start)
        # Backward recomputes the block: [edges, T, H, C] never outlives it.
        message = cast(Tensor, checkpoint(_messages, *block, use_reentrant=False, preserve_rng_state=False))
        out = out.index_add(0, adj.target[e], message)
    return out


def _messages(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    target: Tensor,
    source: Tensor,
    weight: Tensor,
    dropout_p: float,
    seed: Tensor,
    first: int,
) -> Tensor:
    attention = reference.dna_edge_attention(query, key, target, source)
    attention = reference.dropout(attention, dropout_p, seed, first)
    return weight[:, None, None] * (attention[..., None] * value[source]).sum(1)  # [E, H, C]
