"""Networks to build on: DNA, GCN and GAT in the manner of PyG's models, with groups."""

from typing import Any

from torch import Tensor

from justjump.nn.dna_conv import DNAConv
from justjump.nn.gat_conv import GATConv
from justjump.nn.gcn_conv import GCNConv
from justjump.nn.sizes import check_count, check_sizes
from justjump.nn.stack import Stack
from justjump.ops import Adjacency, Aggregate, History, SparseMatrix
from justjump.ops.dropout import dropout_threshold


class DNA(Stack):
    r"""Dynamic neighborhood aggregation in several layers: each edge attends to all former representations.

    A linear map brings the features to :math:`h^{(0)}`, and the output of layer t joins the history as :math:`h^{(t)}`.
    ``dropout`` acts on :math:`h^{(0)}` and before the last linear map, as in the paper, not between the layers: they
    have ``attention_dropout``. Without ``out_channels`` and ``jk``, the output is that of the last layer, without norm
    and activation; else norm and activation follow the last layer, too, and then a linear map.

    Args:
        heads: attention heads
        groups: groups of the projections
        attention_dropout: probability of dropping an attention weight
        window, keep_first, bias, aggregate, qk_norm: as in :class:`DNAConv`
        options: all arguments of :class:`Stack <justjump.nn.stack.Stack>`

    Shapes:
        ``[N, in_channels] -> [N, out_channels]``, or ``[N, hidden_channels]`` without ``out_channels``

    >>> import torch
    >>> model = DNA(5, hidden_channels=16, num_layers=3, out_channels=2, heads=4, groups=8, norm="layer_norm")
    >>> model(torch.randn(4, 5), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape
    torch.Size([4, 2])
    """

    projects_features = True

    def init_conv(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        groups: int = 1,
        attention_dropout: float = 0.0,
        window: int | None = None,
        keep_first: bool = False,
        bias: bool = True,
        aggregate: Aggregate = "gcn",
        qk_norm: bool = False,
    ) -> DNAConv:
        check_sizes(out_channels, heads, groups, "hidden_channels")
        dropout_threshold(attention_dropout, "attention_dropout")
        options: Any = {
            "window": window,
            "keep_first": keep_first,
            "bias": bias,
            "aggregate": aggregate,
            "qk_norm": qk_norm,
        }
        return DNAConv(out_channels, heads=heads, groups=groups, dropout=attention_dropout, **options)

    def representations(self, x: Tensor | SparseMatrix, adj: Adjacency, **context: Any) -> History:
        """The projected features h(0) and what follows from each layer, but for a last one that is the output."""
        h = self.lin_in(x)
        history = History.start(self.dropout(h if self.act is None else self.act(h)))
        for t in range(1, self.num_layers + 1 - self.is_open):
            self.layer(t, history, self.part(t, adj), **context)
        return history

    def outputs(self, x: Tensor | SparseMatrix, adj: Adjacency, **context: Any) -> list[Tensor]:
        adj = self.prepared(adj, self.lin_in.weight.dtype)
        history = self.representations(x, adj, **context)
        if self.is_open:
            h = self.convs[-1](history, adj)
            return [h if adj.nodes is None else h[adj.nodes]]
        history = history[1 if hasattr(self, "jk") else self.num_layers :].take(adj.nodes)
        return [history[t] for t in range(len(history))]


class GCN(Stack):
    """PyG's ``GCN`` with groups: dropout, norm and activation follow every layer but one that is the output.

    Args:
        groups: groups of the projections, but for the first layer, and the one that maps to ``out_channels``
        bias: add a learned vector in each layer
        options: all arguments of :class:`Stack <justjump.nn.stack.Stack>`

    >>> import torch
    >>> GCN(5, hidden_channels=16, num_layers=2, groups=4, jk="cat")(torch.randn(3, 5), torch.tensor([[0], [1]])).shape
    torch.Size([3, 16])
    """

    def init_conv(self, in_channels: int, out_channels: int, groups: int = 1, bias: bool = True) -> GCNConv:
        check_sizes(self.hidden_channels, 1, groups, "hidden_channels")
        return GCNConv(in_channels, out_channels, groups, bias)


class GAT(Stack):
    """PyG's ``GAT`` with groups. Edge weights play no part.

    Args:
        heads: attention heads; concatenated, but for the layer that maps to ``out_channels``, where they are averaged
        groups: groups of the projections, but for the first layer, and the one that maps to ``out_channels``
        concat: concatenate the heads; if False, average them in all layers
        attention_dropout: probability of dropping an attention weight; that of ``dropout`` by default
        negative_slope, bias: as in :class:`GATConv`
        options: all arguments of :class:`Stack <justjump.nn.stack.Stack>`

    >>> import torch
    >>> model = GAT(5, hidden_channels=16, num_layers=2, out_channels=3, heads=4)
    >>> model(torch.randn(3, 5), torch.tensor([[0], [1]])).shape
    torch.Size([3, 3])
    """

    supports_edge_weight = False

    def init_conv(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        groups: int = 1,
        concat: bool = True,
        attention_dropout: float | None = None,
        negative_slope: float = 0.2,
        bias: bool = True,
    ) -> GATConv:
        check_count("heads", heads)
        concat = concat and not self._maps_to_output
        if concat:
            check_sizes(out_channels, heads, groups, "hidden_channels")
        dropout = self.dropout.p if attention_dropout is None else attention_dropout
        dropout_threshold(dropout, "attention_dropout")
        channels = out_channels // heads if concat else out_channels
        return GATConv(in_channels, channels, heads, groups, negative_slope, dropout, bias, concat=concat)
