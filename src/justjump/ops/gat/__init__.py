"""Graph attention: a softmax over the incoming edges of each node."""

from torch import Tensor
from torch.nn import functional as F

from justjump.ops.adjacency import Adjacency
from justjump.ops.dropout import draw_seed
from justjump.ops.gat import native, reference
from justjump.ops.layout import Layout, pack, unpack
from justjump.ops.plan import is_native


def gat_attention(
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    adj: Adjacency,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    seed: Tensor | None = None,
    factor: Tensor | None = None,
) -> Tensor:
    r"""Each of N targets attends to its sources, of which there are M.

    .. math::
        \alpha_e = \textrm{softmax}_{e \in \mathcal{N}(v)} \left( \textrm{LeakyReLU}(s_w + t_v) \right), \quad
        out_v = \sum_e \alpha_e \, value_w

    ``[M, H, C], [M, H], [N, H] -> [N, H, C]``; the weight of each edge is multiplied by ``factor`` ``[E]`` where it is
    given, by PyTorch alone.
    """
    seed = draw_seed(dropout_p) if seed is None else seed
    targets = score_target.size(0)
    if factor is not None or not targets or not is_native(value, score_source, score_target):
        structure = (adj.rowptr, adj.col, adj.target, adj.present, factor)
        out, _ = reference.gat_attention(
            value,
            score_source,
            score_target,
            *structure[:2],
            negative_slope,
            dropout_p,
            seed,
            *structure[2:],
            adj.first,
        )
        return out
    sources, heads, channels = value.shape
    layout = Layout(heads, channels, value.dtype)
    padding = (0, layout.padded - heads)
    structure = (adj.rowptr, adj.col, adj.colptr, adj.row, adj.position)
    rows = pack(value.reshape(sources, -1), layout)
    scores = F.pad(score_source, padding), F.pad(score_target, padding)
    options = (heads, channels, negative_slope, dropout_p, seed, adj.room, adj.first)
    out = native.gat_attention(rows, *scores, *structure, *options)
    return unpack(out, layout).view(targets, heads, channels)
