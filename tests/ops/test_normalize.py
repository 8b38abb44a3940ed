"""Normalised weights of edges, beside those of PyTorch Geometric."""

import pytest
import torch
from torch_geometric.nn.conv.gcn_conv import gcn_norm as pyg_gcn_norm

from graph_helpers import AGGREGATES, edges_of, weighted, weights_of
from helpers import assert_same, random_graph
from justjump.ops import Adjacency, Aggregate
from justjump.ops.adjacency import gcn_norm


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
