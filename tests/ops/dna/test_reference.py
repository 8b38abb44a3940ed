"""The obvious version itself, against its equations written out."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers import assert_same
from justjump.ops.dna.reference import dna_attention, restricted_softmax, unit_length
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


def test_unit_length_of_a_vector_and_of_zero() -> None:
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-30, 0.0]], dtype=torch.float64, requires_grad=True)
    unit = unit_length(x)
    expected = torch.tensor([[0.6, 0.8], [0.0, 0.0], [1e-27, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(unit, expected, rtol=1e-7, atol=0)
    (grad,) = torch.autograd.grad(unit, x, torch.ones_like(x))
    assert_same(grad[1:], torch.full((2, 2), 1000.0, dtype=torch.float64))
    assert torch.autograd.gradcheck(unit_length, (random(4, 3).requires_grad_(),))


def test_scores_of_unit_vectors_are_cosines() -> None:
    adj, query = graph("small"), random(21, 2, 4, seed=1)
    key, value = random(2, 21, 3, 2, 4, seed=2)
    scale, bias = torch.tensor([0.5, 7.0], dtype=torch.float64), random(3, 2, seed=3)
    edges = (adj.rowptr, adj.col, edge_weights(adj.num_edges, torch.float64))
    _, attention = dna_attention(query, key, value, *edges, step_bias=bias, qk_scale=scale)
    cosine = torch.cosine_similarity(query[adj.target][:, None], key[adj.col], dim=-1)
    torch.testing.assert_close(attention, restricted_softmax(scale * cosine + bias, dim=1), rtol=1e-4, atol=1e-6)
