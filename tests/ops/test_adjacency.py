"""The graph structure: every accepted form, every edge case, every refused input."""

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers import random_graph, simple_graph
from justjump import ops
from justjump.ops import Adjacency


def edges_of(adj: Adjacency) -> list[tuple[int, int]]:
    return sorted(map(tuple, adj.edge_index.T.tolist()))


@given(st.integers(1, 8), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30))
def test_csr_and_csc_hold_the_given_edges(nodes: int, pairs: list[tuple[int, int]]) -> None:
    pairs = [(s % nodes, t % nodes) for s, t in pairs]
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
    weight = torch.rand(edge_index.size(1))
    order = torch.randperm(edge_index.size(1))
    a = Adjacency.build(edge_index, weight, 20)
    b = Adjacency.build(edge_index[:, order].int(), weight[order], 20)
    assert torch.equal(a.rowptr, b.rowptr)
    assert torch.equal(a.col, b.col)
    assert torch.equal(a.weight, b.weight)


def adjacency_forms() -> list[object]:
    edge_index = simple_graph(6, 14)
    weight = torch.rand(edge_index.size(1), dtype=torch.float64)
    dense = torch.zeros(6, 6, dtype=torch.float64)
    dense[edge_index[1], edge_index[0]] = weight
    coo = dense.to_sparse_coo()
    scipy_coo = scipy.sparse.coo_matrix(dense.numpy())
    return [coo, coo.to_sparse_csr(), coo.to_sparse_csc(), scipy_coo, scipy_coo.tocsr(), scipy_coo.tocsc()]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
@pytest.mark.filterwarnings("ignore:Sparse CSC tensor support is in beta state")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_matrix_forms_agree_with_edge_index() -> None:
    edge_index = simple_graph(6, 14)
    for form in adjacency_forms():
        adj = Adjacency.build(form, num_nodes=6)
        assert edges_of(adj) == sorted(map(tuple, edge_index.T.tolist()))
        dense = form.to_dense() if isinstance(form, torch.Tensor) else torch.from_numpy(form.toarray())
        assert torch.equal(adj.to_dense(), dense)


def test_self_loops() -> None:
    edge_index = torch.tensor([[0, 0, 1, 2, 2], [0, 1, 0, 2, 2]])
    weight = torch.tensor([5.0, 1.0, 1.0, 3.0, 4.0])
    looped = Adjacency.build(edge_index, weight, 4).with_self_loops()
    assert edges_of(looped) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (3, 3)]
    assert looped.to_dense().diagonal().tolist() == [5.0, 1.0, 4.0, 1.0]  # of two loops, the last counts
    assert looped.with_self_loops() is looped


def test_degenerate_graphs() -> None:
    none = torch.empty(2, 0, dtype=torch.int64)
    assert Adjacency.build(none, num_nodes=3).num_edges == 0
    assert Adjacency.build(none, num_nodes=3).normalized("gcn").shape == (0,)
    assert Adjacency.build(none, num_nodes=0).num_nodes == 0
    assert Adjacency.build(none).num_nodes == 0
    one = Adjacency.build(none, num_nodes=1).with_self_loops()
    assert one.normalized("gcn").tolist() == [1.0]


def test_normalized_weights() -> None:
    adj = Adjacency.build(random_graph(7, 20), torch.rand(20), 7)
    assert torch.equal(adj.normalized("sum"), adj.weight)
    mean = torch.zeros(7).index_add(0, adj.target, adj.normalized("mean"))
    degree = torch.zeros(7).index_add(0, adj.target, adj.weight)
    torch.testing.assert_close(mean, (degree > 0).float())
    assert adj.normalized("gcn") is adj.normalized("gcn")
    assert adj.normalized("gcn", torch.float64).dtype == torch.float64


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_evaluation_first_does_not_spoil_training(mode: type) -> None:
    weight = torch.rand(20, requires_grad=True)
    learned, fixed = (Adjacency.build(random_graph(7, 20), w, 7) for w in (weight, None))
    x = torch.randn(7, 4, requires_grad=True)
    with mode():
        for adj in (learned, fixed):
            ops.spmm(adj.with_self_loops(), x, adj.with_self_loops().normalized("gcn"))
    for adj in (learned, fixed):
        ops.spmm(adj.with_self_loops(), x, adj.with_self_loops().normalized("gcn")).sum().backward()
    assert weight.grad.abs().sum() > 0


def test_flipped_reverses_every_edge() -> None:
    adj = Adjacency.build(random_graph(7, 20), torch.rand(20), 7)
    assert torch.equal(adj.flipped().to_dense(), adj.to_dense().T)


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
def test_bad_graphs_are_refused(edge_index: object, weight: torch.Tensor | None, nodes: int, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Adjacency.build(edge_index, weight, nodes)


def test_unknown_aggregate_is_refused() -> None:
    with pytest.raises(ValueError, match="aggregate='max'"):
        Adjacency.build(random_graph(4, 6)).normalized("max")


def test_targets_keep_their_edges_and_the_weights_of_the_whole() -> None:
    adj = Adjacency.build(random_graph(9, 30), torch.rand(30), 9).with_self_loops()
    targets = adj.toward(torch.tensor([4, 1]))
    assert edges_of(targets) == [(s, t) for s, t in edges_of(adj) if t in (1, 4)]
    wanted = (adj.target == 1) | (adj.target == 4)
    for aggregate in ("gcn", "mean", "sum"):
        assert torch.equal(targets.normalized(aggregate), adj.normalized(aggregate)[wanted])
    assert targets.with_self_loops() is targets
    assert edges_of(targets.to("cpu")) == edges_of(targets)
    with pytest.raises(ValueError, match="reverse the whole graph"):
        targets.flipped()


def test_targets_of_a_graph_without_loops_get_them() -> None:
    adj = Adjacency.build(torch.tensor([[0, 2], [1, 1]]), num_nodes=3)
    looped = adj.toward(torch.tensor([1])).with_self_loops()
    assert edges_of(looped) == [(0, 1), (1, 1), (2, 1)]


def test_targets_as_numbers_list_or_mask() -> None:
    adj = Adjacency.build(torch.tensor([[0, 2], [1, 1]]), num_nodes=3)
    assert adj.toward([2, 0]).nodes.tolist() == [2, 0]
    assert adj.toward([]).num_edges == 0
    assert adj.toward(torch.tensor([True, False, True])).nodes.tolist() == [0, 2]


@pytest.mark.parametrize("nodes", [torch.tensor([1.0]), torch.tensor(1), torch.tensor([True]), [[0, 1]]])
def test_targets_of_another_form_are_refused(nodes: object) -> None:
    adj = Adjacency.build(torch.tensor([[0, 2], [1, 1]]), num_nodes=3)
    with pytest.raises(ValueError, match=r"expected node numbers \[n\] or a mask \[3\]"):
        adj.toward(nodes)


@pytest.mark.parametrize("node", [-1, 3])
def test_targets_out_of_range_are_refused(node: int) -> None:
    adj = Adjacency.build(torch.tensor([[0, 2], [1, 1]]), num_nodes=3)
    with pytest.raises(ValueError, match="there are 3 nodes"):
        adj.toward(torch.tensor([node]))
