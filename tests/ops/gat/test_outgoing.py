"""Attention over outgoing edges, beside the obvious loop."""

import contextlib

import pytest
import torch
from torch import Tensor

from helpers import assert_same, gradients, random_graph
from justjump import ops
from justjump.nn import GATConv
from justjump.ops import Adjacency


def obvious(value: Tensor, source: Tensor, target: Tensor, adj: Adjacency, slope: float) -> Tensor:
    out = value * 0
    edges = list(zip(adj.col.tolist(), adj.target.tolist(), strict=True))
    for w in range(value.size(0)):
        own = [v for u, v in edges if u == w]
        if not own:
            continue
        scores = torch.nn.functional.leaky_relu(source[w] + target[own], slope)
        for weight, v in zip(torch.softmax(scores, dim=0), own, strict=True):
            out = out.index_add(0, torch.tensor([v]), (weight[:, None] * value[w])[None])
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("nodes", "edges", "heads", "channels"), [(7, 20, 3, 5), (5, 0, 1, 1), (9, 40, 8, 2)])
@pytest.mark.parametrize("loops", [True, False])
def test_agrees_with_the_obvious_loop(
    dtype: torch.dtype, nodes: int, edges: int, heads: int, channels: int, loops: bool
) -> None:
    adj = Adjacency.build(random_graph(nodes, edges), num_nodes=nodes)
    adj = adj.with_self_loops() if loops else adj
    torch.manual_seed(0)
    shapes = ((nodes, heads, channels), (nodes, heads), (nodes, heads))
    inputs = [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]
    value, source, target = inputs
    ours = ops.outgoing_attention(value, source, target, adj, 0.2)
    theirs = obvious(value, source, target, adj, 0.2)
    assert_same(ours, theirs)
    for a, b in zip(gradients(ours, inputs), gradients(theirs, inputs), strict=True):
        assert_same(a, b)
    with ops.without_native():
        assert_same(ops.outgoing_attention(value, source, target, adj, 0.2), theirs)


def test_a_last_layer_toward_some_nodes_sees_all_edges() -> None:
    torch.manual_seed(0)
    adj = Adjacency.build(random_graph(12, 50), num_nodes=12)
    conv = GATConv(6, 3, heads=2, softmax="outgoing")
    x = torch.randn(12, 6)
    rows = torch.tensor([3, 1])
    assert torch.equal(conv(x, adj.toward(rows))[rows], conv(x, adj)[rows])
    assert not torch.allclose(conv(x, adj), GATConv.forward(_as_incoming(conv), x, adj))


def _as_incoming(conv: GATConv) -> GATConv:
    other = GATConv(6, 3, heads=2)
    other.load_state_dict(conv.state_dict())
    return other


def test_dropout_is_on_the_weights() -> None:
    torch.manual_seed(0)
    adj = Adjacency.build(random_graph(6, 30, isolated=0), num_nodes=6).with_self_loops()
    value, score = torch.ones(6, 2, 3), torch.zeros(6, 2)
    kept = ops.outgoing_attention(value, score, score, adj, 0.2)
    mean = torch.stack([ops.outgoing_attention(value, score, score, adj, 0.2, 0.5) for _ in range(2000)]).mean(0)
    torch.testing.assert_close(mean, kept, atol=0.05, rtol=0)


@pytest.mark.parametrize("kernels", [True, False])
def test_factors_and_weights_of_edges(kernels: bool) -> None:
    """A factor is of the weight of its edge; what a graph was normalised for plays no part."""
    torch.manual_seed(0)
    adj = Adjacency.build(random_graph(9, 40), num_nodes=9).with_self_loops()
    value, source, target = torch.randn(9, 2, 3), torch.randn(9, 2), torch.randn(9, 2)
    plain = ops.outgoing_attention(value, source, target, adj)
    with contextlib.nullcontext() if kernels else ops.without_native():
        assert_same(ops.outgoing_attention(value, source, target, adj.normalized("gcn", torch.float32)), plain)
        factor = torch.zeros(adj.num_edges)
        factor[5] = 2.0
        alone = ops.outgoing_attention(value, source, target, adj, factor=factor)
    w, v = int(adj.col[5]), int(adj.target[5])
    of_source = torch.nn.functional.leaky_relu(source[w] + target[adj.target[adj.col == w].long()], 0.2)
    place = int((adj.target[adj.col == w] == v).nonzero()[0])
    expected = torch.zeros_like(value)
    expected[v] = 2 * torch.softmax(of_source, dim=0)[place][:, None] * value[w]
    assert_same(alone, expected)


def test_a_part_of_a_graph_is_refused() -> None:
    graph = Adjacency.build(random_graph(6, 30), num_nodes=6)
    part = Adjacency._trusted((2, 6), graph.rowptr[:3], graph.col[: int(graph.rowptr[2])])
    with pytest.raises(ValueError, match="needs all edges of the graph: leave out mini-batches"):
        ops.outgoing_attention(torch.ones(6, 1, 1), torch.ones(6, 1), torch.ones(2, 1), part)


@pytest.mark.parametrize("rows", [(4, 2), (9, 2), (6, 3), (6, 2, 1)])
def test_scores_of_another_shape_are_refused(rows: tuple[int, ...]) -> None:
    graph = Adjacency.build(random_graph(6, 30), num_nodes=6)
    value, score, wrong = torch.ones(6, 2, 3), torch.ones(6, 2), torch.ones(rows)
    for name, scores in (("score_source", (wrong, score)), ("score_target", (score, wrong))):
        with pytest.raises(ValueError, match=rf"{name} has shape \[.*\], expected \[6, heads\]"):
            ops.outgoing_attention(value, *scores, graph)


def test_a_traced_graph_is_refused() -> None:
    conv, x = GATConv(6, 3, heads=2, softmax="outgoing"), torch.randn(6, 6)
    with pytest.raises(Exception, match="softmax='outgoing' is not for graphs that torch traces"):
        torch.export.export(conv, (x, random_graph(6, 30)))
