"""Graph attention: a softmax over the incoming edges of each node."""

from torch import Tensor

from justjump.ops import reference
from justjump.ops.adjacency import Adjacency
from justjump.ops.dropout import draw_seed


def gat_attention(
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    adj: Adjacency,
    negative_slope: float,
    dropout_p: float,
    seed: Tensor | None = None,
) -> Tensor:
    """:func:`reference.gat_attention` without the weights. ``[N, H, C], [N, H], [N, H] -> [N, H, C]``"""
    seed = draw_seed(dropout_p) if seed is None else seed
    out, _ = reference.gat_attention(
        value, score_source, score_target, adj.rowptr, adj.col, negative_slope, dropout_p, seed
    )
    return out
