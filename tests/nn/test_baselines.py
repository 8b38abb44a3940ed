"""GCN, GAT and jumping knowledge against PyG's layers."""

import pytest
import torch
import torch_geometric.nn as pyg

from helpers import assert_same, gradients, random_graph
from justjump.nn import GATConv, GCNConv, GroupedLinear, GRUUpdate, SkipUpdate, jumping_knowledge

NODES = 11


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_gcn_equals_pyg(dtype: torch.dtype, weighted: bool) -> None:
    ours, theirs = GCNConv(6, 8).to(dtype), pyg.GCNConv(6, 8).to(dtype)
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.lin.weight[0].T)
        ours.bias.normal_()
        theirs.bias.copy_(ours.bias)
    x = torch.randn(NODES, 6, dtype=dtype, requires_grad=True)
    edge_index = random_graph(NODES, 40, isolated=2)
    weight = torch.rand(40, dtype=dtype, requires_grad=True) if weighted else None
    a, b = ours(x, edge_index, weight), theirs(x, edge_index, weight)
    assert_same(a, b)
    extra = [weight] if weighted else []
    (gx, gw, gb, *ge) = gradients(a, [x, ours.lin.weight, ours.bias, *extra])
    (hx, hw, hb, *he) = gradients(b, [x, theirs.lin.weight, theirs.bias, *extra])
    for p, q in zip([gx, gw[0].T, gb, *ge], [hx, hw, hb, *he], strict=True):
        assert_same(p, q)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("heads", [1, 3, 8])
def test_gat_equals_pyg(dtype: torch.dtype, heads: int) -> None:
    ours, theirs = GATConv(6, 5, heads).to(dtype), pyg.GATConv(6, 5, heads).to(dtype)
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.lin.weight[0].T)
        theirs.att_src.copy_(ours.att_src)
        theirs.att_dst.copy_(ours.att_dst)
    x = torch.randn(NODES, 6, dtype=dtype, requires_grad=True)
    edge_index = random_graph(NODES, 40, isolated=2)
    a, b = ours(x, edge_index), theirs(x, edge_index)
    assert_same(a, b)
    (gx, gw, *grest) = gradients(a, [x, ours.lin.weight, ours.att_src, ours.att_dst, ours.bias])
    (hx, hw, *hrest) = gradients(b, [x, theirs.lin.weight, theirs.att_src, theirs.att_dst, theirs.bias])
    for p, q in zip([gx, gw[0].T, *grest], [hx, hw, *hrest], strict=True):
        assert_same(p, q)


def test_groups_keep_channels_apart() -> None:
    edge_index = random_graph(NODES, 40)
    for conv in (GCNConv(8, 8, groups=4), GATConv(8, 2, heads=4, groups=4)):
        x = torch.randn(NODES, 8, requires_grad=True)
        (grad,) = torch.autograd.grad(conv(x, edge_index)[:, :2].sum(), x)
        assert grad[:, :2].abs().sum() > 0
        assert torch.equal(grad[:, 2:], torch.zeros(NODES, 6))
        assert conv.lin.weight.numel() == 8 * 8 // 4


def test_gat_dropout_has_the_right_mean() -> None:
    conv, edge_index = GATConv(6, 2, heads=2, dropout=0.5).double(), random_graph(NODES, 40)
    x = torch.randn(NODES, 6).double()
    with torch.no_grad():
        samples = torch.stack([conv(x, edge_index) for _ in range(2000)])
        expected = conv.eval()(x, edge_index)
    deviation = (samples.mean(0) - expected).abs() / (samples.std(0) / 2000**0.5 + 1e-12)
    assert deviation.max() < 5


@pytest.mark.parametrize(("jump", "mode"), [("concat", "cat"), ("pool", "max"), ("lstm", "lstm")])
def test_jumping_knowledge_equals_pyg(jump: str, mode: str) -> None:
    ours, theirs = jumping_knowledge(jump, 6, 3), pyg.JumpingKnowledge(mode, 6, 3)
    theirs.load_state_dict(ours.state_dict())
    xs = [torch.randn(5, 6, requires_grad=True) for _ in range(3)]
    a, b = ours(xs), theirs(xs)
    assert_same(a, b)
    for p, q in zip(gradients(a, xs), gradients(b, xs), strict=True):
        assert_same(p, q)


def test_updates_are_their_equations() -> None:
    former, new = torch.randn(2, 5, 4)
    skip = SkipUpdate(4)
    assert_same(skip(former, new), new + former @ skip.lin.weight.T)
    gru = GRUUpdate(4)
    reset, keep, candidate = gru.cell.weight_ih.chunk(3)
    reset_h, keep_h, candidate_h = gru.cell.weight_hh.chunk(3)
    b, b_h = gru.cell.bias_ih.chunk(3), gru.cell.bias_hh.chunk(3)
    r = torch.sigmoid(new @ reset.T + b[0] + former @ reset_h.T + b_h[0])
    z = torch.sigmoid(new @ keep.T + b[1] + former @ keep_h.T + b_h[1])
    n = torch.tanh(new @ candidate.T + b[2] + r * (former @ candidate_h.T + b_h[2]))
    assert_same(gru(former, new), (1 - z) * n + z * former)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="jump='sum' is unknown"):
        jumping_knowledge("sum", 4, 2)
    with pytest.raises(ValueError, match="groups=3 does not divide in_channels=8"):
        GroupedLinear(8, 9, groups=3)
    with pytest.raises(ValueError, match="groups=3 does not divide channels=8"):
        GATConv(8, 2, heads=4, groups=3)
