"""Dynamic neighborhood aggregation: projections, attention of every edge, and the sum by target."""

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from justjump.ops import native, reference
from justjump.ops.adjacency import Adjacency
from justjump.ops.blocks import edge_blocks
from justjump.ops.dna_native import dna_layer
from justjump.ops.dropout import draw_seed
from justjump.ops.packed import is_native


class Projections(NamedTuple):
    """Weights ``[g, d / g, d / g]`` and biases ``[d]`` of query, key and value."""

    query: Tensor
    query_bias: Tensor | None
    key: Tensor
    key_bias: Tensor | None
    value: Tensor
    value_bias: Tensor | None


def dna_conv(
    newest: Tensor | None,
    attended: Sequence[Tensor],
    projections: Projections,
    adj: Adjacency,
    weight: Tensor,
    heads: int,
    dropout_p: float = 0.0,
    seed: Tensor | None = None,
    packed: bool = False,
    relu: bool = False,
) -> Tensor:
    r"""One DNA layer.

    .. math::
        out_v = \sum_{e = (v \leftarrow w)} weight_e \, \textrm{Attention} \left( newest_v \, \Theta_Q, \;
            attended_w \, \Theta_K, \; attended_w \, \Theta_V \right)

    The native kernels do it in one pass over the edges; elsewhere PyTorch works through the edges in blocks.

    Args:
        newest: ``[N, d]`` the representation that asks; None for the last of those attended
        attended: tensors ``[N, d]`` or ``[N, t, d]``, T representations in all, that are asked
        projections: of query, key and value
        adj: the graph
        weight: ``[E]`` coefficient of each edge in CSR order
        seed: of the dropout mask; drawn from torch's generator by default
        packed: representations and result are in the kernels' layout (see :func:`is_packable`)
        relu: of the result

    Returns:
        ``[N, d]``
    """
    seed = draw_seed(dropout_p) if seed is None else seed
    packable = is_packable(attended[0], weight)
    if packed and not packable:
        raise ValueError("packed rows are for the native kernels: these take no edge weights that need a gradient")
    if packable:
        return dna_layer(newest, attended, projections, adj, weight, heads, dropout_p, seed, packed, relu)
    channels = attended[0].size(-1) // heads
    history = torch.cat([x if x.dim() == 3 else x[:, None] for x in attended], dim=1)  # [N, T, d]
    newest = history[:, -1] if newest is None else newest
    query = reference.grouped_linear(newest, projections.query, projections.query_bias).view(-1, heads, channels)
    key = reference.grouped_linear(history, projections.key, projections.key_bias)
    key = key.view(*history.shape[:2], heads, channels)
    value = reference.grouped_linear(history, projections.value, projections.value_bias).view(key.shape)
    out = dna_attention(query, key, value, adj, weight, dropout_p, seed).flatten(1)
    return torch.relu(out) if relu else out


def is_packable(x: Tensor, weight: Tensor) -> bool:
    """Whether the native layer serves: edge weights that need a gradient take PyTorch's path."""
    return is_native(x, weight) and len(x) > 0 and not weight.requires_grad


def is_sparse(x: Tensor, groups: int, heads: int, edges: int, steps: int, dropout_p: float) -> bool:
    """Whether a layer on rows in the standard layout takes the sparse form, and so need not be packed.

    Its heads, more than one, are multiples of 64 bytes, its groups multiples of 32 bytes within a head; there is
    dropout, and the weights of all edges, steps and heads take 8 MB at most.
    """
    layout = native.layout._Layout(heads, x.size(-1) // heads, x)
    return native.layer.is_sparse(layout, groups, edges, steps, dropout_p)


def dna_attention(
    query: Tensor, key: Tensor, value: Tensor, adj: Adjacency, weight: Tensor, dropout_p: float, seed: Tensor
) -> Tensor:
    """:func:`reference.dna_attention` in bounded memory, by PyTorch alone.

    Args:
        query: ``[N, H, C]``
        key, value: ``[N, T, H, C]``
        weight: ``[E]`` in CSR order

    Returns:
        ``[N, H, C]``
    """
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
