"""GCNConv against PyG's."""

import pytest
import torch
import torch_geometric.nn as pyg

from helpers import assert_same, gradients, random_graph
from justjump.nn import GCNConv

NODES = 11


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_pyg(dtype: torch.dtype, weighted: bool) -> None:
    ours, theirs = GCNConv(6, 8).to(dtype), pyg.GCNConv(6, 8).to(dtype)
    assert ours.bias is not None
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.lin.weight[0].T)
        ours.bias.normal_()
        theirs.bias.copy_(ours.bias)
    x = torch.randn(NODES, 6, dtype=dtype, requires_grad=True)
    edge_index = random_graph(NODES, 40, isolated=2)
    extra = [torch.rand(40, dtype=dtype, requires_grad=True)] if weighted else []
    a, b = ours(x, edge_index, *extra), theirs(x, edge_index, *extra)
    assert_same(a, b)
    gw, *ours_grads = gradients(a, [ours.lin.weight, x, ours.bias, *extra])
    hw, *theirs_grads = gradients(b, [theirs.lin.weight, x, theirs.bias, *extra])
    for p, q in zip([gw[0].T, *ours_grads], [hw, *theirs_grads], strict=True):
        assert_same(p, q)


def test_groups_keep_channels_apart() -> None:
    conv, x = GCNConv(8, 8, groups=4), torch.randn(NODES, 8, requires_grad=True)
    (grad,) = torch.autograd.grad(conv(x, random_graph(NODES, 40))[:, :2].sum(), x)
    assert grad[:, :2].abs().sum() > 0
    assert not grad[:, 2:].any()
    assert conv.lin.weight.numel() == 8 * 8 // 4
    assert repr(conv) == "GCNConv(8, 8, groups=4)"


def test_without_bias() -> None:
    conv = GCNConv(8, 8, bias=False)
    assert [name for name, _ in conv.named_parameters()] == ["lin.weight"]
    assert not conv(torch.zeros(NODES, 8), random_graph(NODES, 40)).any()
