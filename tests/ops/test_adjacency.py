"""The graph: every accepted form, every edge case, every refused input."""

import gc
import weakref
from typing import Any, get_args

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from torch import Tensor
from torch_geometric.nn.conv.gcn_conv import gcn_norm as pyg_gcn_norm

from helpers import assert_same, gradients, random_graph, simple_graph
from justjump.ops import Adjacency, Aggregate, History, dna_conv, native, spmm
from justjump.ops.adjacency import gcn_norm
from specification import GraphSpec, graph, graphs

AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)


def edges_of(adj: Adjacency) -> list[tuple[int, ...]]:
    return sorted(map(tuple, adj.edge_index.T.tolist()))


def weights_of(adj: Adjacency) -> Tensor:
    assert adj.weight is not None
    return adj.weight


def weighted() -> Adjacency:
    return Adjacency.build(random_graph(9, 30), torch.rand(30, dtype=torch.float64), 9)


@given(graphs())
def test_csr_and_csc_hold_the_given_edges(spec: GraphSpec) -> None:
    assert isinstance(spec, tuple)
    nodes, pairs = spec
    edge_index = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    adj = Adjacency.build(edge_index, num_nodes=nodes)
    assert edges_of(adj) == sorted(pairs)
    assert adj.rowptr[0] == 0
    assert adj.rowptr[-1] == adj.colptr[-1] == len(pairs)
    assert torch.equal(adj.rowptr.diff().long(), torch.bincount(edge_index[1], minlength=nodes))
    assert torch.equal(adj.colptr.diff().long(), torch.bincount(edge_index[0], minlength=nodes))
    # CSC position p leads back to the same edge in CSR
    position = adj.position.long()
    assert torch.equal(adj.target[position], adj.row)
    source = torch.arange(nodes).repeat_interleave(adj.colptr.diff())
    assert torch.equal(adj.col[position].long(), source)


def test_any_order_of_edges_gives_the_same_structure() -> None:
    edge_index = simple_graph(20, 80)
    weight, order = torch.rand(edge_index.size(1)), torch.randperm(edge_index.size(1))
    a = Adjacency.build(edge_index, weight, 20)
    b = Adjacency.build(edge_index[:, order].int(), weight[order], 20)
    assert torch.equal(a.rowptr, b.rowptr)
    assert torch.equal(a.col, b.col)
    assert torch.equal(weights_of(a), weights_of(b))


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta state")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_matrix_forms_agree_with_edge_index() -> None:
    edge_index = simple_graph(6, 14)
    dense = torch.zeros(6, 6, dtype=torch.float64)
    dense[edge_index[1], edge_index[0]] = torch.rand(edge_index.size(1), dtype=torch.float64)
    coo, sparse = dense.to_sparse_coo(), scipy.sparse.coo_matrix(dense.numpy())
    forms: list[Any] = [coo, coo.to_sparse_csr(), coo.to_sparse_csc(), sparse, sparse.tocsr(), sparse.tocsc()]
    for form in forms:
        adj = Adjacency.build(form, num_nodes=6)
        assert edges_of(adj) == sorted(map(tuple, edge_index.T.tolist()))
        assert torch.equal(adj.to_dense(), dense)
    assert Adjacency.build(adj) is adj
    assert weights_of(Adjacency.build(scipy.sparse.eye(3, dtype=np.int64))).dtype == torch.float32


@pytest.mark.parametrize(
    ("edge_index", "weight", "nodes", "message"),
    [
        (torch.tensor([[0, 5], [1, 0]]), None, 3, "holds node 5, but there are 3 nodes"),
        (torch.tensor([[0, -1], [1, 0]]), None, 3, "holds node -1"),
        (torch.zeros(3, 4, dtype=torch.int64), None, 3, r"shape \[3, 4\], expected \[2, num_edges\]"),
        (torch.zeros(2, 4), None, 3, "dtype torch.float32"),
        (torch.zeros(2, 4, dtype=torch.int64), torch.ones(3), 3, r"shape \[3\], expected \[4\]"),
        (torch.zeros(2, 1, dtype=torch.int64), torch.ones(1, dtype=torch.int64), 3, "dtype torch.int64"),
        (torch.zeros(2, 2, dtype=torch.int64), torch.tensor([1.0, -2.0]), 3, r"edge_weight\[1\] is -2.0"),
        (torch.zeros(2, 2, dtype=torch.int64), torch.tensor([float("nan"), 1.0]), 3, r"edge_weight\[0\] is nan"),
        (torch.eye(3)[:2].to_sparse(), None, 3, r"shape \[2, 3\], expected a square one"),
        (torch.eye(3).to_sparse(), None, 4, "the graph has 3 nodes, but x has 4 rows"),
        (torch.eye(3).to_sparse(), torch.ones(3), 3, "holds its own weights"),
        ("cora", None, 3, "not str"),
        (torch.zeros(2, 2, dtype=torch.int64), 3, 3, r"edge_weight is 3, expected a tensor"),
        (np.zeros((2, 3)), None, 3, "not ndarray"),
    ],
)
def test_bad_graphs_are_refused(edge_index: Any, weight: Tensor | None, nodes: int, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Adjacency.build(edge_index, weight, nodes)


def test_degenerate_graphs() -> None:
    none = torch.empty(2, 0, dtype=torch.int64)
    assert Adjacency.build(none, num_nodes=3).num_edges == 0
    assert Adjacency.build(none, num_nodes=3).normalized("gcn").num_edges == 0
    assert Adjacency.build(none, num_nodes=0).with_self_loops().normalized("mean").num_nodes == 0
    assert Adjacency.build(none).num_nodes == 0
    one = Adjacency.build(none, num_nodes=1).with_self_loops()
    assert weights_of(one.normalized("gcn")).tolist() == [1.0]


def test_self_loops() -> None:
    edge_index = torch.tensor([[0, 0, 1, 2, 2], [0, 1, 0, 2, 2]])
    weight = torch.tensor([5.0, 1.0, 1.0, 3.0, 4.0])
    adj = Adjacency.build(edge_index, weight, 4)
    looped = adj.with_self_loops()
    assert edges_of(looped) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (3, 3)]
    assert looped.to_dense().diagonal().tolist() == [5.0, 1.0, 4.0, 1.0]  # of two loops, the last counts
    assert looped.with_self_loops() is looped
    assert adj.with_self_loops() is looped


def test_self_loops_of_learned_weights_get_gradients() -> None:
    edge_index = torch.tensor([[0, 0, 1, 2, 2], [0, 1, 0, 2, 2]])
    weight = torch.tensor([5.0, 1.0, 1.0, 3.0, 4.0], requires_grad=True)
    for _ in range(2):  # nothing is kept from one step to the next
        adj = Adjacency.build(edge_index, weight, 4)
        out = adj.with_self_loops().to_dense().sum()
        (grad,) = torch.autograd.grad(out, weight, retain_graph=True)
        assert grad.tolist() == [1.0, 1.0, 1.0, 0.0, 1.0]
        (grad,) = torch.autograd.grad(weights_of(adj.with_self_loops().normalized("mean")).square().sum(), weight)
        assert grad.isfinite().all()
        assert grad[0] != 0


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_normalized_is_a_graph(aggregate: Aggregate) -> None:
    adj = weighted()
    normal = adj.normalized(aggregate, torch.float64)
    assert isinstance(normal, Adjacency)
    assert normal.aggregate == aggregate
    assert adj.aggregate is None
    assert edges_of(normal) == edges_of(adj)
    assert normal.target is adj.target
    assert normal.normalized(aggregate, torch.float64) is normal
    assert adj.normalized(aggregate, torch.float64) is normal
    assert normal.with_self_loops() is normal
    single = normal.normalized(aggregate)
    assert weights_of(single).dtype == torch.float32
    assert single.aggregate == aggregate
    for other in set(AGGREGATES) - {aggregate}:
        with pytest.raises(ValueError, match=f"normalised for aggregate='{aggregate}', not '{other}'"):
            normal.normalized(other)


def test_normalized_weights() -> None:
    adj = weighted()
    assert torch.equal(weights_of(adj.normalized("sum", torch.float64)), weights_of(adj))
    degree = adj.to_dense().sum(1)
    assert_same(adj.normalized("mean", torch.float64).to_dense().sum(1), (degree > 0).double())
    with pytest.raises(ValueError, match="aggregate='max' is unknown"):
        adj.normalized("max")  # type: ignore[arg-type]


@pytest.mark.parametrize("with_weight", [False, True])
def test_gcn_norm_equals_pyg(with_weight: bool) -> None:
    edge_index = random_graph(9, 30)
    weight = torch.rand(30, dtype=torch.float64) if with_weight else None
    theirs_index, theirs = pyg_gcn_norm(edge_index, weight, 9, dtype=torch.float64)
    expected = torch.zeros(9, 9, dtype=torch.float64)
    expected.index_put_((theirs_index[1], theirs_index[0]), theirs, accumulate=True)
    adj = Adjacency.build(edge_index, weight, 9).with_self_loops()
    assert_same(adj.normalized("gcn", torch.float64).to_dense(), expected)


def test_gcn_norm_gradient_is_finite_for_a_node_without_weight() -> None:
    weight = torch.tensor([0.0, 2.0], requires_grad=True)
    out = gcn_norm(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), weight)
    assert torch.isfinite(torch.autograd.grad(out.sum(), weight)[0]).all()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_evaluation_first_does_not_spoil_training(mode: Any) -> None:
    weight = torch.rand(20, requires_grad=True)
    x = torch.randn(7, 4, requires_grad=True)
    for chosen in (weight, None):
        adj = Adjacency.build(random_graph(7, 20), chosen, 7)

        def product(adj: Adjacency = adj) -> Tensor:
            return spmm(adj.with_self_loops().normalized("gcn"), x) + spmm(adj.flipped(), x)

        with mode():
            product()
            part = adj.toward([1, 2])
        (product() + spmm(part, x)).sum().backward()
    assert weight.grad is not None
    assert weight.grad.any()


def test_flipped_reverses_every_edge() -> None:
    adj = weighted()
    assert torch.equal(adj.flipped().to_dense(), adj.to_dense().T)
    assert adj.flipped() is adj.flipped()
    assert adj.normalized("sum", torch.float64).flipped().aggregate == "sum"
    with pytest.raises(ValueError, match="normalised for aggregate='gcn': reverse it, then normalise it"):
        adj.normalized("gcn").flipped()
    learned = Adjacency(adj.rowptr, adj.col, weights_of(adj).requires_grad_())
    assert torch.autograd.grad(learned.flipped().to_dense().sum(), weights_of(learned))[0].all()


def test_to_another_device() -> None:
    adj = weighted().normalized("gcn")
    assert adj.to("cpu") is adj
    moved = adj.to("meta")
    assert (moved.device.type, moved.aggregate, moved.num_edges) == ("meta", "gcn", adj.num_edges)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("nodes", [[4, 1], [5, 5, 0], []], ids=str)
def test_a_slice_commutes_with_loops_and_normalisation(nodes: list[int], grad: bool) -> None:
    plain = weighted()
    adj = Adjacency(plain.rowptr, plain.col, weights_of(plain).requires_grad_(grad))
    part = adj.toward(nodes)
    assert part.whole is adj
    assert part.nodes is not None
    assert part.nodes.tolist() == nodes
    assert edges_of(part) == [(s, t) for s, t in edges_of(adj) if t in nodes]
    assert repr(part) == f"Adjacency(num_nodes=9, num_edges={part.num_edges}, toward={len(nodes)})"
    for aggregate in AGGREGATES:
        looped = adj.with_self_loops()
        first = adj.toward(nodes).with_self_loops().normalized(aggregate, torch.float64)
        last = looped.normalized(aggregate, torch.float64).toward(nodes)
        for same in (first, looped.toward(nodes).normalized(aggregate, torch.float64)):
            assert torch.equal(same.to_dense(), last.to_dense())
            assert same.aggregate == last.aggregate == aggregate
            assert same.with_self_loops() is same
            assert same.normalized(aggregate, torch.float64) is same
        if grad and nodes:
            a, b = (torch.autograd.grad(x.to_dense().square().sum(), weights_of(adj))[0] for x in (first, last))
            assert_same(a, b)
    assert edges_of(part.to("cpu")) == edges_of(part)
    with pytest.raises(ValueError, match="reverse the whole graph"):
        part.flipped()


def test_slices_as_numbers_list_or_mask() -> None:
    adj = graph((3, ((0, 1), (2, 1))))
    for nodes in ([2, 0], torch.tensor([2, 0], dtype=torch.int32)):
        wanted = adj.toward(nodes).nodes
        assert wanted is not None
        assert wanted.tolist() == [2, 0]
    masked = adj.toward(torch.tensor([True, False, True])).nodes
    assert masked is not None
    assert masked.tolist() == [0, 2]


@pytest.mark.parametrize("nodes", [torch.tensor([1.0]), torch.tensor(1), torch.tensor([True]), [[0, 1]]])
def test_slices_of_another_form_are_refused(nodes: Any) -> None:
    with pytest.raises(ValueError, match=r"expected node numbers \[n\] or a mask \[3\]"):
        graph((3, ((0, 1), (2, 1)))).toward(nodes)


@pytest.mark.parametrize("node", [-1, 3])
def test_slices_out_of_range_are_refused(node: int) -> None:
    with pytest.raises(ValueError, match=f"nodes holds node {node}, but there are 3 nodes"):
        graph((3, ((0, 1), (2, 1)))).toward([node])


@pytest.mark.parametrize(
    ("rowptr", "col", "message"),
    [
        ([0, 1, 2], [0, 2], "col holds 2, expected numbers from 0 to 1"),
        ([0, 1, 2], [0, -1], "col holds -1"),
        ([0, 2, 1], [0, 1], "rowptr must ascend from 0 to the number of entries, 2"),
        ([0, 3, 2], [0, 1], "rowptr must ascend"),
        ([1, 1, 2], [0, 1], "rowptr must ascend"),
        ([0, 1, 3], [0, 1], "rowptr must ascend"),
    ],
)
def test_the_constructor_validates(rowptr: list[int], col: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Adjacency(torch.tensor(rowptr), torch.tensor(col))


def test_the_constructor_validates_lengths_and_kinds() -> None:
    rowptr, col = torch.tensor([0, 1, 2]), torch.tensor([0, 1])
    assert Adjacency(rowptr, col, torch.ones(2)).num_nodes == 2
    with pytest.raises(ValueError, match=r"weight has shape \[3\], expected \[2\]"):
        Adjacency(rowptr, col, torch.ones(3))
    with pytest.raises(ValueError, match=r"rowptr is torch.float32 of shape \[3\], expected a vector of integers"):
        Adjacency(rowptr.float(), col)
    with pytest.raises(ValueError, match=r"col is torch.int64 of shape \[1, 2\]"):
        Adjacency(rowptr, col[None])
    with pytest.raises(ValueError, match="rowptr holds 0 numbers, expected one per row and one more"):
        Adjacency(torch.tensor([], dtype=torch.int64), torch.tensor([], dtype=torch.int64))


def test_a_graph_is_freed_without_the_collector() -> None:
    """What is computed of a graph and kept with it refers to no graph that refers back."""
    gc.collect()
    gc.disable()
    try:
        adj = weighted()
        looped = adj.with_self_loops()
        normal = looped.normalized("gcn")
        part = normal.toward([1])
        _ = (adj.flipped(), adj.order, adj.colptr, adj.weight_by_column, normal.weight_by_column, part.normalized())
        part = adj.toward([1, 2]).with_self_loops().normalized("mean")
        refs = [weakref.ref(x) for x in (adj, looped, normal, part)]
        del adj, looped, normal, part, _
        # The last edge_index and its sorting were temporary, too.
        assert [ref() for ref in refs] == [None] * 4
    finally:
        gc.enable()


@pytest.mark.skipif(not native.available(), reason=native.why_not())
def test_slice_of_a_graph_with_wide_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice may have narrower indices than its graph, whose order of nodes it takes."""
    from justjump.nn import DNAConv

    monkeypatch.setattr("justjump.ops.matrix.INT32_MAX", 45)
    adj = Adjacency.build(random_graph(10, 40), num_nodes=10).with_self_loops().normalized("gcn", torch.float64)
    part = adj.toward([1, 2])
    assert (adj.col.dtype, part.col.dtype) == (torch.int64, torch.int32)
    conv, x = DNAConv(16, 4, 2).double(), torch.randn(10, 2, 16, dtype=torch.float64, requires_grad=True)
    a, b = (dna_conv(History(x), conv.multi_head.projections, graph, 4)[1:3] for graph in (part, adj))
    assert_same(a, b)
    assert_same(gradients(a, [x])[0], gradients(b, [x])[0])


def test_a_slice_of_a_slice_is_a_slice_of_the_whole() -> None:
    adj = Adjacency.build(random_graph(9, 30), num_nodes=9)
    again = adj.toward([1, 2]).toward([5])
    assert again.whole is adj
    assert torch.equal(again.to_dense(), adj.toward([5]).to_dense())


def test_a_graph_does_not_change() -> None:
    rowptr, col = torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([1, 0], dtype=torch.int32)
    adj = Adjacency(rowptr, col)
    col.fill_(10**9)
    assert adj.col.tolist() == [1, 0]
    for name in ("rowptr", "col", "weight"):
        with pytest.raises(AttributeError):
            setattr(adj, name, col)


@pytest.mark.parametrize("weight", [[float("nan"), 1.0], [-1.0, 1.0], [1, 1]])
def test_the_constructor_checks_weights(weight: list[float]) -> None:
    with pytest.raises((ValueError, TypeError), match="edge_weight"):
        Adjacency(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.tensor(weight))


@pytest.mark.parametrize("size", [0, 1, 8])
def test_factors_of_another_length_are_refused(size: int) -> None:
    adj = Adjacency.build(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    with pytest.raises(ValueError, match=rf"factor has shape \[{size}\], expected \[4\], one per edge"):
        adj.scaled(torch.ones(size))
