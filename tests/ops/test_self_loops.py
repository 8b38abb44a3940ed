"""Self-loops of a graph: one per node."""

import torch

from graph_helpers import edges_of, weights_of
from justjump.ops import Adjacency


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
