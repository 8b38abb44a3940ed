"""Mini-batches that a network trains on."""

from typing import Any

import pytest
import torch

from helpers import assert_same, gradients, random_graph
from justjump.data import load
from justjump.loader import Batches
from justjump.nn import ModelConfig, NodeClassifier
from justjump.ops import Adjacency, SparseMatrix
from justjump.train import prepare

NO_DROPOUT: dict[str, Any] = {"dropout": 0.0, "input_dropout": 0.0, "attention_dropout": 0.0}


@pytest.mark.parametrize("model", ["dna", "gcn", "gat"])
@pytest.mark.parametrize("options", [{}, {"jump": "concat"}, {"update": "gru"}, {"jump": "lstm", "jump_input": False}])
def test_all_neighbours_give_the_rows_of_the_whole_graph(model: Any, options: dict[str, Any]) -> None:
    """Outputs and the gradients of all weights."""
    config = ModelConfig(model, layers=3, hidden=16, heads=4, groups=4, **NO_DROPOUT, **options)
    edge_index = random_graph(80, 250, isolated=5)
    adj = Adjacency.build(edge_index, torch.rand(250), 80)
    x, nodes = torch.randn(80, 6), torch.tensor([79, 3, 41, 0, 22])
    network = NodeClassifier(config, 6, 3)
    batch = next(Batches(x, adj, nodes, 5, [-1] * 3, shuffle=False).epoch(0))
    whole, part = network(x, adj)[nodes], network(batch.x, batch.hops)
    assert_same(part, whole)
    weights = list(network.parameters())
    for ours, theirs in zip(gradients(part, weights), gradients(whole, weights), strict=True):
        assert_same(ours, theirs)


def test_sparse_features_and_a_window() -> None:
    inputs = prepare(load("cora"))
    config = ModelConfig(layers=3, hidden=16, heads=4, groups=4, window=2, keep_first=True, **NO_DROPOUT)
    network = NodeClassifier(config, inputs.x.shape[1], 7)
    whole = network(inputs.x, inputs.adj)
    batches = Batches(inputs.x, inputs.adj, torch.arange(0, 2708, 90), 16, [-1] * 3, labels=inputs.labels)
    for batch in batches.epoch(2):
        assert isinstance(batch.x, SparseMatrix)
        assert batch.labels is not None
        own = batch.nodes[: batch.size]
        assert torch.equal(batch.labels, inputs.labels[own])
        assert_same(network(batch.x, batch.hops), whole[own])


def test_an_epoch_has_every_node_once() -> None:
    adj, nodes = Adjacency.build(random_graph(50, 200), num_nodes=50), torch.arange(0, 50, 2)
    batches = Batches(torch.eye(50), adj, nodes, 10, [3, 3], seed=1)
    epochs = [[batch.nodes.tolist() for batch in batches.epoch(number)] for number in (0, 1, 0)]
    assert epochs[0] == epochs[2] != epochs[1]
    assert len(batches) == 3
    sizes = [batch.size for batch in batches.epoch(0)]
    assert sizes == [10, 10, 5]
    own = [node for found, size in zip(epochs[0], sizes, strict=True) for node in found[:size]]
    assert sorted(own) == nodes.tolist()


def test_double_precision() -> None:
    adj = Adjacency.build(random_graph(30, 90), num_nodes=30)
    config = ModelConfig(layers=2, hidden=8, heads=2, groups=2, **NO_DROPOUT)
    network, x = NodeClassifier(config, 4, 2).double(), torch.randn(30, 4, dtype=torch.float64)
    batch = Batches(x, adj, torch.arange(30), 30, [-1, -1]).of(torch.tensor([4, 9]))
    assert_same(network(batch.x, batch.hops), network(x, adj)[[4, 9]])


def test_batches_that_do_not_fit_are_refused() -> None:
    adj, x = Adjacency.build(random_graph(9, 20), num_nodes=9), torch.randn(9, 4)
    with pytest.raises(ValueError, match="batch_size=0 must be at least 1"):
        Batches(x, adj, torch.arange(9), 0, [1])
    batch = Batches(x, adj, torch.arange(9), 3, [1]).of(torch.tensor([1]))
    network = NodeClassifier(ModelConfig("gcn", layers=2, hidden=8, groups=2), 4, 2)
    with pytest.raises(ValueError, match="the batch has 1 hops, but the network has 2 layers"):
        network(batch.x, batch.hops)
    network = NodeClassifier(ModelConfig("gcn", layers=1, hidden=8, groups=2), 4, 2)
    with pytest.raises(ValueError, match="but x has 9 rows"):
        network(x, batch.hops)
