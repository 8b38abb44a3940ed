"""The fused native operations against the oracle, and as citizens of torch."""

import math

import pytest
import torch
from torch import Tensor

from helpers import assert_same, gradients, random_graph
from justjump import ops
from justjump.nn import DNAConv, GATConv, GCNConv, ModelConfig, NodeClassifier
from justjump.ops import Adjacency, Projections, native, reference

NODES = 13


def leaf(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, dtype=dtype, requires_grad=True)


def projections(channels: int, groups: int, bias: bool, dtype: torch.dtype) -> Projections:
    block = channels // groups
    parts = []
    for _ in range(3):
        weight = (torch.randn(groups, block, block, dtype=dtype) / math.sqrt(block)).requires_grad_()
        parts += [weight, leaf(channels, dtype=dtype) if bias else None]
    return Projections(*parts)


@pytest.fixture(params=[0, native.layer.KEPT_BYTES], ids=["scores-twice", "scores-kept"])
def _scores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native.layer, "KEPT_BYTES", request.param)


def oracle(newest: Tensor, attended: list[Tensor], p: Projections, adj: Adjacency, weight: Tensor, heads: int, *drop):  # type: ignore[no-untyped-def]
    channels = newest.size(1) // heads
    history = torch.stack(attended, 1)
    query = reference.grouped_linear(newest, p.query, p.query_bias).view(-1, heads, channels)
    key = reference.grouped_linear(history, p.key, p.key_bias).view(len(newest), -1, heads, channels)
    value = reference.grouped_linear(history, p.value, p.value_bias).view(key.shape)
    out, _ = reference.dna_attention(query, key, value, adj.rowptr, adj.col, weight, *drop)
    return out.flatten(1)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize(
    ("channels", "heads", "groups"),
    [(16, 4, 8), (16, 4, 2), (15, 3, 3), (15, 3, 15), (15, 3, 1), (5, 1, 5), (32, 16, 16), (32, 16, 1), (8, 8, 4)],
)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.usefixtures("_scores")
def test_dna_layer(
    dtype: torch.dtype, tolerance: float, channels: int, heads: int, groups: int, bias: bool, steps: int
) -> None:
    adj = Adjacency.build(random_graph(NODES, 60, isolated=2), num_nodes=NODES)
    history = [leaf(NODES, channels, dtype=dtype) for _ in range(steps)]
    p = projections(channels, groups, bias, dtype)
    weight = torch.rand(60, dtype=dtype)
    weight[::7] = 0
    drop = (0.4, torch.tensor(11))
    ours = ops.dna_conv(None, history, p, adj, weight, heads, *drop)
    theirs = oracle(history[-1], history, p, adj, weight, heads, *drop)
    assert_same(ours, theirs, tolerance)
    inputs = [*history, *(part for part in p if part is not None)]
    for a, b in zip(gradients(ours, inputs), gradients(theirs, inputs), strict=True):
        assert_same(a, b, tolerance)


@pytest.mark.parametrize("groups", [1, 8])
def test_dna_layer_query_outside_the_window(groups: int) -> None:
    adj = Adjacency.build(random_graph(NODES, 60), num_nodes=NODES)
    newest, first = leaf(NODES, 8), leaf(NODES, 8)
    p, weight = projections(8, groups, True, torch.float64), torch.rand(60, dtype=torch.float64)
    ours = ops.dna_conv(newest, [first], p, adj, weight, heads=4)
    theirs = oracle(newest, [first], p, adj, weight, 4)
    for a, b in zip(gradients(ours, [newest, first]), gradients(theirs, [newest, first]), strict=True):
        assert_same(a, b, 1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_extreme_scores_stay_finite_and_right(sign: int) -> None:
    adj = Adjacency.build(random_graph(NODES, 60), num_nodes=NODES)
    history = [leaf(NODES, 8, dtype=torch.float32) for _ in range(3)]
    p = projections(8, 8, True, torch.float32)
    with torch.no_grad():
        p.query_bias.fill_(sign * 1e4 * math.sqrt(2))
        p.key_bias.fill_(1.0)
    weight = torch.rand(60)
    ours = ops.dna_conv(None, history, p, adj, weight, heads=4)
    theirs = oracle(history[-1], history, p, adj, weight, 4)
    assert torch.isfinite(ours).all()
    assert_same(ours, theirs, 1e-4)
    for a, b in zip(gradients(ours, history), gradients(theirs, history), strict=True):
        assert torch.isfinite(a).all()
        assert_same(a, b, 1e-3)


@pytest.mark.parametrize(("heads", "channels"), [(1, 5), (3, 4), (8, 2)])
def test_gat_attention(heads: int, channels: int) -> None:
    adj = Adjacency.build(random_graph(NODES, 60, isolated=2), num_nodes=NODES)
    inputs = [leaf(NODES, heads, channels), leaf(NODES, heads), leaf(NODES, heads)]
    seed = torch.tensor(3)
    ours = ops.gat_attention(*inputs, adj, 0.2, 0.5, seed)
    theirs, _ = reference.gat_attention(*inputs, adj.rowptr, adj.col, 0.2, 0.5, seed)
    assert_same(ours, theirs, 1e-12)
    for a, b in zip(gradients(ours, inputs), gradients(theirs, inputs), strict=True):
        assert_same(a, b, 1e-12)


@pytest.mark.parametrize("shape", [(6, 24), (2, 3, 24)])
@pytest.mark.parametrize("groups", [2, 3, 24])
def test_grouped_linear(shape: tuple[int, ...], groups: int) -> None:
    inputs = [leaf(*shape), leaf(groups, 24 // groups, 24 // groups), leaf(24)]
    ours, theirs = ops.grouped_linear(*inputs), reference.grouped_linear(*inputs)
    assert_same(ours, theirs, 1e-12)
    for a, b in zip(gradients(ours, inputs), gradients(theirs, inputs), strict=True):
        assert_same(a, b, 1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dropout_is_the_reference_mask(dtype: torch.dtype) -> None:
    x, seed = leaf(50, 33, dtype=dtype), torch.tensor(77)
    ours = torch.ops.justjump.dropout(x, 0.3, seed)
    theirs = reference.dropout(x[:, None], 0.3, seed)[:, 0]
    assert_same(ours, theirs, 1e-6)
    assert_same(*gradients(ours, [x]), *gradients(theirs, [x]), 1e-6)
    ours = torch.ops.justjump.relu_dropout(x, 0.3, seed)
    theirs = reference.dropout(torch.relu(x)[:, None], 0.3, seed)[:, 0]
    assert_same(ours, theirs, 1e-6)
    assert_same(*gradients(ours, [x]), *gradients(theirs, [x]), 1e-6)


def layer_arguments(heads: int, groups: int, packed: bool, newest: bool, relu: bool) -> tuple[object, ...]:
    adj = Adjacency.build(random_graph(NODES, 60), num_nodes=NODES)
    rows = [torch.randn(NODES, 8, dtype=torch.float64) for _ in range(3)]
    rows = [(native.pack(x, heads) if packed else x).requires_grad_() for x in rows]
    asks = rows.pop() if newest else None
    weight = torch.rand(60, dtype=torch.float64)
    structure = (adj.rowptr, adj.col, adj.colptr, adj.row, adj.position, weight, adj.order)
    options = (heads, 0.3, torch.tensor(4), packed, relu)
    return (asks, rows, *projections(8, groups, True, torch.float64), *structure, *options)


@pytest.mark.parametrize("groups", [1, 8])
def test_dna_layer_history_in_one_tensor(groups: int) -> None:
    adj = Adjacency.build(random_graph(NODES, 60), num_nodes=NODES)
    first, rest = leaf(NODES, 8), leaf(NODES, 3, 8)
    p, weight = projections(8, groups, True, torch.float64), torch.rand(60, dtype=torch.float64)
    ours = ops.dna_conv(None, [first, rest], p, adj, weight, heads=4)
    theirs = oracle(rest[:, -1], [first, *rest.unbind(1)], p, adj, weight, 4)
    assert_same(ours, theirs, 1e-12)
    for a, b in zip(gradients(ours, [first, rest]), gradients(theirs, [first, rest]), strict=True):
        assert_same(a, b, 1e-12)


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("newest", "relu"), [(False, True), (True, False)])
def test_dna_layer_is_a_well_formed_custom_op(groups: int, packed: bool, newest: bool, relu: bool) -> None:
    arguments = layer_arguments(4, groups, packed, newest, relu)
    torch.library.opcheck(torch.ops.justjump.dna_layer.default, arguments)


def test_other_custom_ops_are_well_formed() -> None:
    adj = Adjacency.build(random_graph(NODES, 60), num_nodes=NODES)
    x, seed = leaf(NODES, 8), torch.tensor(1)
    torch.library.opcheck(torch.ops.justjump.pack.default, (x, 4))
    torch.library.opcheck(torch.ops.justjump.unpack.default, (leaf(NODES, 8), 4, 2))
    torch.library.opcheck(torch.ops.justjump.dropout.default, (x, 0.5, seed))
    torch.library.opcheck(torch.ops.justjump.relu_dropout.default, (x, 0.5, seed))
    torch.library.opcheck(torch.ops.justjump.packed_linear.default, (leaf(NODES, 8), leaf(4, 2, 2), leaf(8), 4))
    structure = (adj.rowptr, adj.col, adj.colptr, adj.row, adj.position)
    scores = (leaf(NODES, 4), leaf(NODES, 4))
    arguments = (leaf(NODES, 8), *scores, *structure, 4, 2, 0.2, 0.5, seed)
    torch.library.opcheck(torch.ops.justjump.gat_attention.default, arguments)


@pytest.mark.parametrize("layer", [DNAConv(8, 4, 4), DNAConv(8, 4, 1), GATConv(8, 2, 4, 4), GCNConv(8, 8, 4)])
def test_gradcheck_of_layers(layer: torch.nn.Module) -> None:
    layer = layer.double()
    adj = Adjacency.build(random_graph(5, 12), num_nodes=5)
    shape = (5, 2, 8) if isinstance(layer, DNAConv) else (5, 8)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x, adj), (leaf(*shape), *layer.parameters()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("model", ["dna", "gcn", "gat"])
def test_compile_and_export(model: str) -> None:
    adj = Adjacency.build(random_graph(NODES, 60), num_nodes=NODES).with_self_loops()
    adj.normalized("gcn")
    net = NodeClassifier(ModelConfig(model, 2, 16, 4, 4), 6, 3).eval()
    x = torch.randn(NODES, 6)
    expected = net(x, adj)
    compiled = torch.compile(lambda x: net(x, adj), fullgraph=True, backend="aot_eager")
    assert_same(compiled(x), expected)
    grads = [gradients(f(x), list(net.parameters())) for f in (compiled, lambda x: net(x, adj))]
    for a, b in zip(*grads, strict=True):
        assert_same(a, b)

    class Closed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x, adj)

    exported = torch.export.export(Closed(), (x,))
    assert_same(exported.module()(x), expected)
