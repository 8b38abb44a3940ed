"""The obvious version itself, against its equations written out."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers import assert_same
from justjump.ops.dna.reference import dna_attention, restricted_softmax
from specification import edge_weights, graph, random


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=8))
def test_restricted_softmax_is_its_equation(scores: list[float]) -> None:
    total = 1 + sum(map(math.exp, scores))
    expected = torch.tensor([math.exp(x) / total for x in scores], dtype=torch.float64)
    assert_same(restricted_softmax(torch.tensor(scores, dtype=torch.float64)), expected)


def test_restricted_softmax_stays_finite_at_extreme_scores() -> None:
    x = torch.tensor([[1e4, -1e4], [-1e4, -1e4], [1e4, 1e4]], requires_grad=True)
    out = restricted_softmax(x)
    assert_same(out, torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 0.5]]))
    (grad,) = torch.autograd.grad(out.sum(), x)
    assert torch.isfinite(grad).all()


def test_restricted_softmax_of_nothing() -> None:
    assert restricted_softmax(torch.ones(3, 0)).shape == (3, 0)


def test_restricted_softmax_gradient() -> None:
    assert torch.autograd.gradcheck(restricted_softmax, (random(4, 3).requires_grad_(),))


@pytest.mark.parametrize("name", ["one", "small"])
def test_attention_is_its_equation(name: str) -> None:
    adj, steps, heads, channels = graph(name), 3, 2, 4
    query = random(adj.num_nodes, heads, channels, seed=1)
    key, value = random(2, adj.num_nodes, steps, heads, channels, seed=2)
    weight = edge_weights(adj.num_edges, torch.float64)
    expected = torch.zeros_like(query)
    for e in range(adj.num_edges):
        v, w = int(adj.target[e]), int(adj.col[e])
        for h in range(heads):
            scores = [math.exp(query[v, h] @ key[w, t, h] / math.sqrt(channels)) for t in range(steps)]
            for t in range(steps):
                expected[v, h] += weight[e] * scores[t] / (1 + sum(scores)) * value[w, t, h]
    out, attention = dna_attention(query, key, value, adj.rowptr, adj.col, weight)
    assert_same(out, expected)
    assert attention.shape == (adj.num_edges, steps, heads)
