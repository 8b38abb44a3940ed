"""Operations with and without torch's dispatcher."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from helpers import assert_same, random_graph
from justjump import ops
from justjump.nn import DNAConv, GATConv, GCNConv, GroupedLinear
from justjump.ops import Adjacency, native

pytestmark = pytest.mark.skipif(not native.available(), reason="without the kernels these are torch's own operations")


def graph(nodes: int = 10) -> Adjacency:
    return Adjacency.build(random_graph(nodes, 40), num_nodes=nodes)


@pytest.mark.parametrize(
    "layer", [GCNConv(16, 16, groups=4), GATConv(16, 4, heads=4), GroupedLinear(16, 16, 4)], ids=type
)
def test_second_gradients_are_refused_not_wrong(layer: torch.nn.Module) -> None:
    x = torch.randn(10, 16, requires_grad=True)
    out = layer(x) if isinstance(layer, GroupedLinear) else layer(x, graph())
    with pytest.raises(RuntimeError):
        torch.autograd.grad(torch.autograd.grad(out.pow(2).sum(), x, create_graph=True)[0].pow(2).sum(), x)


def test_second_gradients_of_linear_operations() -> None:
    x = torch.randn(10, 16, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: ops.unpack(ops.pack(x.sin(), 4), 4, 4), (x,))
    assert torch.autograd.gradgradcheck(lambda x: ops.spmm(graph(), x.sin()), (x,))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*torch.jit.*:DeprecationWarning")
def test_a_traced_function_records_the_operations() -> None:
    linear, x, y = GroupedLinear(16, 16, 4), torch.randn(5, 16), torch.randn(5, 16)
    traced = make_fx(linear)(x)
    assert "justjump" in traced.code
    assert_same(traced(y), linear(y), 1e-6)
    assert_same(torch.jit.trace(linear, x)(y), linear(y), 1e-6)


def test_a_layer_takes_tensors_as_they_lie() -> None:
    adj, conv = graph(), DNAConv(16, 4, 2)
    x = torch.randn(10, 3, 16)
    expected = conv(x, adj)
    negative = torch._neg_view(-x)
    assert_same(conv(negative, adj), expected, 1e-6)
    assert torch.equal(ops.pack(negative[:, 0], 4), ops.pack(x[:, 0], 4))
    head = conv.multi_head
    weights = [w.detach().mT.contiguous().mT if w.dim() == 3 else w for w in head.projections]
    weight = adj.with_self_loops().normalized("gcn")
    out = ops.dna_conv(None, [x], ops.Projections(*weights), adj.with_self_loops(), weight, 4)
    assert_same(out, expected, 1e-6)


def test_packed_rows_in_columns() -> None:
    adj, conv = graph(), DNAConv(16, 4, 2)
    rows = ops.pack(torch.randn(10, 16), 4)
    strange = rows.T.contiguous().T.requires_grad_()
    plain = rows.clone().requires_grad_()
    for x in (strange, plain):
        conv([x], adj, packed=True).sum().backward()
    assert torch.equal(strange.grad, plain.grad)


def test_packed_rows_where_they_do_not_serve() -> None:
    adj, x = graph(), [ops.pack(torch.randn(10, 16), 4)]
    with pytest.raises(ValueError, match="packed rows go with neither"):
        DNAConv(16, 4, 2)(x, adj, packed=True, return_attention=True)
    with pytest.raises(ValueError, match="packed rows go with neither"):
        DNAConv(16, 4, 2, update=torch.nn.Linear(16, 16))(x, adj, packed=True)
    weight = torch.rand(40, requires_grad=True)
    with pytest.raises(ValueError, match="no edge weights that need a gradient"):
        DNAConv(16, 4, 2)(x, adj.edge_index, weight, packed=True)


def test_targets_of_a_graph_with_wide_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("justjump.ops.sparse.INT32_MAX", 45)
    adj = graph().with_self_loops()
    assert adj.col.dtype == torch.int64
    targets = adj.toward([1, 2])
    assert targets.col.dtype == torch.int32
    conv, x = DNAConv(16, 4, 2), torch.randn(10, 2, 16)
    assert_same(conv(x, targets)[1:3], conv(x, adj)[1:3], 1e-6)


def test_what_is_made_in_inference_mode_serves_training() -> None:
    adj = graph().with_self_loops()
    with torch.inference_mode():
        targets = adj.toward([1, 2])
    x = torch.randn(10, 2, 16, requires_grad=True)
    DNAConv(16, 4, 2)(x, targets)[targets.nodes].sum().backward()
    assert x.grad is not None


def test_entries_out_of_range_are_refused() -> None:
    for row, col, message in (
        ([0, 1], [1, 7], "col holds 7"),
        ([0, 3], [1, 1], "row holds 3"),
        ([0], [-1], "col holds -1"),
    ):
        with pytest.raises(ValueError, match=message):
            ops.SparseMatrix.from_entries((3, 3), torch.tensor(row), torch.tensor(col))


def test_spmm_refuses_what_it_cannot_multiply() -> None:
    adj = graph()
    with pytest.raises(TypeError, match="x has dtype torch.int64, expected a floating point type"):
        ops.spmm(adj, torch.ones(10, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"weight has shape \[1\], expected \[40\]"):
        ops.spmm(adj, torch.ones(10, 2), torch.ones(1))


def test_rows_are_a_matrix() -> None:
    for function in (ops.dropout, ops.relu_dropout):
        with pytest.raises(ValueError, match=r"x has shape \[3\], expected \[rows, channels\]"):
            function(torch.ones(3), 0.5)
    assert ops.pack(torch.ones(0, 2, 8), 4).shape == (0, 2, 16)
