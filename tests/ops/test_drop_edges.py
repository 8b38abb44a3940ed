"""DropEdge: which edges are left, and what follows from them."""

import pytest
import torch

from helpers import random_graph
from justjump.ops import Adjacency, drop_edges
from justjump.ops.dropout.reference import dropout_mask


def test_each_edge_stays_or_goes_as_the_mask_says() -> None:
    adj, seed = Adjacency.build(random_graph(20, 90), torch.rand(90) + 0.1), torch.tensor(7)
    kept = dropout_mask(seed, torch.arange(90), 1, 1, 0.4).flatten() | (adj.col == adj.target)
    part = drop_edges(adj, 0.4, seed)
    assert adj.weight is not None
    assert part.weight is not None
    assert torch.equal(part.edge_index, adj.edge_index[:, kept])
    assert torch.equal(part.weight, adj.weight[kept])
    assert torch.equal(part.edge_id, adj.edge_id[kept])
    assert 30 < part.num_edges < 75


def test_self_loops_stay_and_weights_are_normalised_anew() -> None:
    adj = Adjacency.build(random_graph(20, 90), num_nodes=20).with_self_loops()
    part = drop_edges(adj, 0.9, torch.tensor(1))
    assert part.with_self_loops() is part
    again = Adjacency.build(part.edge_index, num_nodes=20).with_self_loops().normalized("gcn")
    found = part.normalized("gcn")
    assert again.weight is not None
    assert found.weight is not None
    assert torch.equal(found.weight, again.weight)
    with pytest.raises(ValueError, match="normalised already: drop edges first"):
        drop_edges(found, 0.5)


def test_toward_some_nodes() -> None:
    adj, seed = Adjacency.build(random_graph(20, 90), num_nodes=20), torch.tensor(3)
    part, sliced = drop_edges(adj, 0.5, seed), drop_edges(adj.toward([4, 1]), 0.5, seed)
    assert sliced.nodes is not None
    assert sliced.nodes.tolist() == [4, 1]
    assert torch.equal(sliced.whole.edge_index, part.edge_index)
    assert torch.equal(sliced.edge_index, part.toward([4, 1]).edge_index)
