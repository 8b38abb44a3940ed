"""Graph attention whose weights sum to one over the edges out of each node."""

from torch import Tensor
from torch.nn import functional as F

from justjump.ops.adjacency import Adjacency
from justjump.ops.dropout import draw_seed
from justjump.ops.gat import native, reference
from justjump.ops.layout import Layout, pack, unpack
from justjump.ops.plan import is_native


def outgoing_attention(
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    adj: Adjacency,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    seed: Tensor | None = None,
    factor: Tensor | None = None,
) -> Tensor:
    r"""What PyG's ``GATConv`` computed from 13 March to 19 April 2019.

    .. math::
        \alpha_e = \textrm{softmax}_{e \textrm{ out of } w} \left( \textrm{LeakyReLU}(s_w + t_v) \right), \quad
        out_v = \sum_e \alpha_e \, value_w

    ``[N, H, C], [N, H], [N, H] -> [N, H, C]``, for a whole graph; the weight of each edge is multiplied by ``factor``
    ``[E]`` where it is given, by PyTorch alone.
    """
    if adj.shape[0] != adj.shape[1]:
        raise ValueError("softmax='outgoing' needs all edges of the graph: leave out mini-batches")
    for name, x in (("value", value), ("score_source", score_source), ("score_target", score_target)):
        if x.dim() != (3 if name == "value" else 2) or x.shape[:2] != (adj.num_nodes, value.size(1)):
            expected = f"[{adj.num_nodes}, heads{', channels' if name == 'value' else ''}]"
            raise ValueError(f"{name} has shape {list(x.shape)}, expected {expected} with the same heads for a {adj}")
    if adj.room:
        raise ValueError("softmax='outgoing' is not for graphs that torch traces: it is there to reproduce the paper")
    seed = draw_seed(dropout_p) if seed is None else seed
    # Weights of edges play no part, so what is kept serves graphs with any weights.
    scores, back = (score_source, score_target), adj._once("reversed", lambda: adj._with_weight(None).flipped())
    if factor is not None or not adj.num_nodes or not is_native(value, *scores):
        factor = None if factor is None else factor[adj.position]
        return reference.outgoing_attention(
            value, *scores, back.rowptr, back.col, negative_slope, dropout_p, seed, factor
        )
    nodes, heads, channels = value.shape
    layout = Layout(heads, channels, value.dtype)
    rows = pack(value.reshape(nodes, -1), layout)
    padded = (F.pad(score, (0, layout.padded - heads)) for score in scores)
    structure = (back.rowptr, back.col, back.colptr, back.row, back.position)
    out = native.outgoing_attention(rows, *padded, *structure, heads, channels, negative_slope, dropout_p, seed)
    return unpack(out, layout).view(nodes, heads, channels)
