"""The sparse form of a layer: heads of whole cache lines, in the standard layout, without what dropout takes."""

import math

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from justjump import ops
from justjump.nn import DNAConv
from justjump.ops import native, reference
from justjump.ops.adjacency import Adjacency
from layer_helpers import check as check_layer
from layer_helpers import run, tensors
from native_helpers import edge_weights, make_graph, views

if not native.available():
    pytest.skip(native.why_not(), allow_module_level=True)

# Heads, channels a head, groups; sparse in float32 and float64.
SIZES = [
    (2, 16, 2),
    (3, 16, 3),
    (5, 16, 10),
    (8, 16, 8),
    (8, 16, 16),
    (16, 16, 32),
    (17, 16, 17),
    (4, 32, 8),
    (2, 48, 4),
]


def is_sparse(
    heads: int, channels: int, groups: int, p: float = 0.8, edges: int = 100, dtype: torch.dtype = torch.float32
) -> bool:
    return ops.is_sparse(torch.zeros(1, heads * channels, dtype=dtype), groups, heads, edges, 4, p)


def check(adj, size, steps, dtype, p, **options):  # type: ignore[no-untyped-def]
    heads, channels, groups = size
    assert ops.is_sparse(torch.zeros(1, heads * channels, dtype=dtype), groups, heads, adj.num_edges, steps, p)
    check_layer(adj, size, steps, dtype, p, **options)


def test_which_layers_are_sparse() -> None:
    for size in SIZES:
        assert is_sparse(*size)
        assert is_sparse(*size, dtype=torch.float64)
    assert is_sparse(8, 8, 16, dtype=torch.float64)
    assert not is_sparse(8, 8, 16)  # heads of half a cache line
    assert not is_sparse(8, 16, 4)  # groups of two heads
    assert not is_sparse(8, 16, 32)  # groups of half a vector
    assert not is_sparse(1, 16, 1)
    assert not is_sparse(8, 16, 16, p=0.0)
    most = native.layer.KEPT_BYTES // (4 * 8 * 4)
    assert is_sparse(8, 16, 16, edges=most)
    assert not is_sparse(8, 16, 16, edges=most + 1)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sparse_layer(isa: str, size: tuple[int, int, int]) -> None:
    for number, name in enumerate(("one", "empty", "small", "hub")):
        for dtype in (torch.float32, torch.float64):
            options = {"wide": number % 2 == 1, "apart": number > 1}
            check(make_graph(name), size, 2, dtype, 0.8, relu=True, **options)
            for with_newest in (False, True):
                for bias in (True, False):
                    check(make_graph(name), size, 2, dtype, 0.4, bias=bias, with_newest=with_newest, **options)


def test_sparse_layer_of_many_steps(isa: str) -> None:
    for steps in range(1, 10):
        for p in (1e-9, 0.5, 0.95):
            check(make_graph("small"), (8, 8, 16), steps, torch.float64, p)
            check(make_graph("small"), (4, 16, 4), steps, torch.float32, p)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_sparse_layer(isa: str, data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 300))
    edges = data.draw(st.lists(st.tuples(*[st.integers(0, nodes - 1)] * 2), max_size=60))
    adj = Adjacency.build(torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T, num_nodes=nodes)
    heads, lines = data.draw(st.integers(2, 20)), data.draw(st.integers(1, 3))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    channels, half = lines * 64 // dtype.itemsize, data.draw(st.booleans())
    groups, p = heads * (2 * lines if half else 1), data.draw(st.sampled_from([0.01, 0.5, 0.9]))
    flags = {name: data.draw(st.booleans()) for name in ("bias", "with_newest", "relu", "wide", "apart")}
    check(adj, (heads, channels, groups), data.draw(st.integers(1, 5)), dtype, p, **flags)


def test_fewer_targets_than_sources(isa: str) -> None:
    """And rows any distance apart: the same numbers as with all targets."""
    adj, targets = make_graph("small"), 7
    history, newest, weights, biases, grad = tensors(adj.num_nodes, 8, 16, 16, 2, True, torch.float64)
    edge_weight = edge_weights(adj, torch.float64).detach()
    grad[targets:] = 0
    out, grads = run(adj, history, newest, weights, biases, edge_weight, 8, 0.5, 3, grad, False)
    edges = int(adj.rowptr[targets])
    by_source = torch.argsort(adj.col[:edges].long(), stable=True)
    colptr = torch.zeros(adj.num_nodes + 1, dtype=torch.int32)
    colptr[1:] = torch.bincount(adj.col[:edges].long(), minlength=adj.num_nodes).cumsum(0)
    csr = native.Csr(adj.rowptr[: targets + 1].contiguous(), adj.col[:edges].contiguous())
    csc = native.Csc(colptr, adj.target[:edges][by_source].int(), by_source.int())
    apart = torch.cat([history, history], dim=2)[..., : history.size(2)]
    assert not apart.is_contiguous()
    # One dropout mask: it depends on the number of the edge alone.
    layer = native.Layer([apart], newest[:targets], weights, biases, edge_weight[:edges], 8, 0.5, 3, packed=False)
    assert layer.sparse
    part, saved = native.layer_forward(layer, csr, csc)
    part_grads = native.layer_backward(layer, csr, csc, saved, grad[:targets].contiguous())
    torch.testing.assert_close(part, out[:targets], rtol=0, atol=1e-13)
    torch.testing.assert_close(part_grads[6], grads[6], rtol=0, atol=1e-12)
    torch.testing.assert_close(part_grads[7], grads[7][:targets], rtol=0, atol=1e-12)
    for a, b in zip(part_grads[:6], grads[:6], strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("bad", "groups"), [(math.nan, 4), (math.nan, 8), (math.inf, 4), (-math.inf, 4)])
def test_undefined_rows_spread_as_in_the_reference(isa: str, bad: float, groups: int) -> None:
    """A weight that dropout takes times NaN is NaN: forward must not skip it.

    Infinite numbers of a group within a head reach the score in another way in the folded forms.
    """
    adj, heads, channels = make_graph("small"), 4, 16
    for dtype in (torch.float32, torch.float64):
        history, _, weights, biases, _ = tensors(adj.num_nodes, heads, channels, groups, 3, True, dtype)
        history[4, 0, 5] = history[11, 2, 20] = bad
        edge_weight = torch.ones(adj.num_edges, dtype=dtype)
        layer = native.Layer([history], None, weights, biases, edge_weight, heads, 0.9, 3, packed=False)
        assert layer.sparse
        out, _ = native.layer_forward(layer, *views(adj))
        query, key, value = (
            reference.grouped_linear(x, w, b).view(*x.shape[:-1], heads, channels)
            for x, w, b in zip((history[:, -1], history, history), weights, biases, strict=True)
        )
        expected, _ = reference.dna_attention(query, key, value, adj.rowptr, adj.col, edge_weight, 0.9, 3)
        spread = ~torch.isfinite(expected.flatten(1))
        assert torch.equal(~torch.isfinite(out), spread)
        assert spread.any()
        assert not spread.all()


def test_extreme_scores(isa: str) -> None:
    adj = make_graph("small")
    for size in (1e4, 1e-30):
        history, _, weights, biases, _ = tensors(adj.num_nodes, 4, 16, 4, 3, False, torch.float32)
        history = history * size
        layer = native.Layer([history], None, weights, biases, torch.ones(adj.num_edges), 4, 0.5, 3, packed=False)
        assert layer.sparse
        out, _ = native.layer_forward(layer, *views(adj))
        wide = [x.double() for x in (history, *weights)]
        query, key, value = (
            reference.grouped_linear(x, w).view(*x.shape[:-1], 4, 16)
            for x, w in zip((wide[0][:, -1], wide[0], wide[0]), wide[1:], strict=True)
        )
        expected, _ = reference.dna_attention(
            query, key, value, adj.rowptr, adj.col, torch.ones(adj.num_edges).double(), 0.5, 3
        )
        # The largest score of a head takes all: rounding of scores of 1e8 moves nothing.
        assert torch.isfinite(out).all()
        torch.testing.assert_close(
            out.double(), expected.flatten(1), rtol=1e-4, atol=1e-4 * expected.abs().max().item()
        )


def random_layer() -> tuple[Adjacency, Tensor, ops.Projections, Tensor]:
    adj = make_graph("small")
    history, _, weights, biases, _ = tensors(adj.num_nodes, 2, 8, 4, 3, True, torch.float64)
    pairs = [x.requires_grad_() for pair in zip(weights, biases, strict=True) for x in pair]
    return adj, history.requires_grad_(), ops.Projections(*pairs), torch.rand(adj.num_edges, dtype=torch.float64)


def test_gradcheck() -> None:
    adj, history, projections, weight = random_layer()
    assert is_sparse(2, 8, 4, p=0.5, dtype=torch.float64)

    def layer(x: Tensor, *parts: Tensor) -> Tensor:
        return ops.dna_conv(None, [x], ops.Projections(*parts), adj, weight, 2, 0.5, torch.tensor(5))

    assert torch.autograd.gradcheck(layer, (history, *projections))


@pytest.mark.parametrize("relu", [False, True])
def test_custom_op_is_well_formed(relu: bool) -> None:
    adj, history, projections, weight = random_layer()
    structure = (adj.rowptr, adj.col, adj.colptr, adj.row, adj.position, weight, adj.order)
    arguments = (None, [history], *projections, *structure, 2, 0.5, torch.tensor(5), False, relu)
    torch.library.opcheck(torch.ops.justjump.dna_layer.default, arguments)


@pytest.mark.parametrize("options", [{}, {"window": 2}, {"window": 2, "keep_first": True}, {"bias": False}], ids=str)
def test_agrees_with_the_folded_form(options: dict[str, int | bool], monkeypatch: pytest.MonkeyPatch) -> None:
    adj, x = make_graph("small"), torch.randn(21, 4, 128)
    conv = DNAConv(128, heads=8, groups=16, dropout=0.8, **options)
    conv.multi_head.lin_k.weight.requires_grad_(False)
    results = []
    for kept in (native.layer.KEPT_BYTES, 0):
        monkeypatch.setattr(native.layer, "KEPT_BYTES", kept)
        leaf = x.clone().requires_grad_()
        torch.manual_seed(1)
        conv.zero_grad()
        conv(leaf, adj).square().sum().backward()
        results.append([leaf.grad, *(p.grad.clone() for p in conv.parameters() if p.grad is not None)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5 * b.abs().max().item())
        assert a.abs().max() > 0


def test_saved_tensors_may_come_back_as_copies() -> None:
    adj, conv = make_graph("small"), DNAConv(128, heads=8, groups=16, dropout=0.8)
    grads = []
    for back in (lambda x: x, lambda x: x.T.contiguous().T if x.dim() == 2 else x.clone()):
        x = torch.randn(21, 4, 128, generator=torch.Generator().manual_seed(1)).requires_grad_()
        torch.manual_seed(1)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, back):
            conv(x, adj).sum().backward()
        grads.append(x.grad)
    assert torch.equal(*grads)


@pytest.mark.parametrize("size", [(8, 16, 16), (8, 4, 16), (8, 16, 1)], ids=["sparse", "folded", "separate"])
def test_no_targets(size: tuple[int, int, int]) -> None:
    history, _, weights, biases, _ = tensors(5, *size, 2, True, torch.float32)
    width, none = history.size(2), torch.zeros(0, dtype=torch.int32)
    layer = native.Layer(
        [history], torch.zeros(0, width), weights, biases, torch.zeros(0), size[0], 0.5, 1, packed=False
    )
    csr, csc = (
        native.Csr(torch.zeros(1, dtype=torch.int32), none),
        native.Csc(torch.zeros(6, dtype=torch.int32), none, none),
    )
    out, saved = native.layer_forward(layer, csr, csc)
    assert out.shape == (0, width)
    for grad in native.layer_backward(layer, csr, csc, saved, torch.zeros(0, width)):
        assert not grad.any()


def test_changed_input_is_noticed() -> None:
    """Backward reads the caller's rows: torch must notice if they have changed."""
    adj, x = make_graph("small"), torch.randn(21, 4, 128, requires_grad=True)
    conv, rows = DNAConv(128, heads=8, groups=16, dropout=0.8), x * 1
    out = conv(rows, adj)
    with torch.no_grad():
        rows.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
