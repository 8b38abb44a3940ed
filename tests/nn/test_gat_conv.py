"""GATConv against PyG's."""

import pytest
import torch
import torch_geometric.nn as pyg

from helpers import assert_same, gradients, random_graph
from justjump.nn import GATConv

NODES = 11


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("heads", [1, 3, 8])
def test_equals_pyg(dtype: torch.dtype, heads: int) -> None:
    ours, theirs = GATConv(6, 5, heads).to(dtype), pyg.GATConv(6, 5, heads).to(dtype)
    assert ours.bias is not None
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.lin.weight[0].T)
        theirs.att_src.copy_(ours.att_src)
        theirs.att_dst.copy_(ours.att_dst)
    x = torch.randn(NODES, 6, dtype=dtype, requires_grad=True)
    edge_index = random_graph(NODES, 40, isolated=2)
    a, b = ours(x, edge_index), theirs(x, edge_index)
    assert_same(a, b)
    gw, *ours_grads = gradients(a, [ours.lin.weight, x, ours.att_src, ours.att_dst, ours.bias])
    hw, *theirs_grads = gradients(b, [theirs.lin.weight, x, theirs.att_src, theirs.att_dst, theirs.bias])
    for p, q in zip([gw[0].T, *ours_grads], [hw, *theirs_grads], strict=True):
        assert_same(p, q)


def test_groups_keep_channels_apart() -> None:
    conv, x = GATConv(8, 2, heads=4, groups=4), torch.randn(NODES, 8, requires_grad=True)
    (grad,) = torch.autograd.grad(conv(x, random_graph(NODES, 40))[:, :2].sum(), x)
    assert grad[:, :2].abs().sum() > 0
    assert not grad[:, 2:].any()
    assert conv.lin.weight.numel() == 8 * 8 // 4
    assert repr(conv) == "GATConv(8, 8, heads=4, groups=4)"


def test_a_graph_without_nodes() -> None:
    conv = GATConv(8, 2, heads=4, groups=2)
    out = conv(torch.zeros(0, 8), torch.zeros(2, 0, dtype=torch.int64))
    assert out.shape == (0, 8)
    out.sum().backward()


@pytest.mark.slow
def test_dropout_has_the_right_mean() -> None:
    conv, edge_index = GATConv(6, 2, heads=2, dropout=0.5).double(), random_graph(NODES, 40)
    x = torch.randn(NODES, 6).double()
    with torch.no_grad():
        samples = torch.stack([conv(x, edge_index) for _ in range(2000)])
        expected = conv.eval()(x, edge_index)
    deviation = (samples.mean(0) - expected).abs() / (samples.std(0) / 2000**0.5 + 1e-12)
    assert deviation.max() < 5


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"groups=3 does not divide heads \* out_channels=8"):
        GATConv(8, 2, heads=4, groups=3)
    with pytest.raises(ValueError, match=r"dropout=1.0 is not in \[0, 1\)"):
        GATConv(8, 2, dropout=1.0)


def test_heads_may_be_averaged() -> None:
    joined, averaged = GATConv(6, 4, heads=3).double(), GATConv(6, 4, heads=3, concat=False).double()
    averaged.load_state_dict({**joined.state_dict(), "bias": torch.randn(4)})
    x, edge_index = torch.randn(NODES, 6, dtype=torch.float64), random_graph(NODES, 40)
    expected = joined(x, edge_index).view(NODES, 3, 4).mean(1) + averaged.bias
    assert_same(averaged(x, edge_index), expected)
