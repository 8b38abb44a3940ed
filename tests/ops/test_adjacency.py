"""The graph: every accepted form, every edge case, every refused input."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from torch import Tensor

from graph_helpers import edges_of, weighted, weights_of
from helpers import random_graph, simple_graph
from justjump.ops import Adjacency, spmm
from specification import GraphSpec, graphs


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
        (torch.zeros(2, 1, dtype=torch.int64), None, -3, "num_nodes=-3 is no number of nodes: give 0 or more"),
        (torch.zeros(2, 1, dtype=torch.int64), None, 3.5, "num_nodes=3.5 is no number of nodes"),
        (torch.tensor([[0], [2**62]]), None, None, "holds 4611686018427387904.* takes .* GB, but only .* without gaps"),
        (torch.tensor([[0], [2**63 - 1]]), None, None, "takes .* GB, but only .* without gaps"),
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
