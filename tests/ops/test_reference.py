"""The oracle itself, against its equations written out."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn.conv.gcn_conv import gcn_norm as pyg_gcn_norm

from helpers import assert_same, random_graph
from justjump.ops import Adjacency, reference


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=8))
def test_restricted_softmax_is_its_equation(scores: list[float]) -> None:
    total = 1 + sum(map(math.exp, scores))
    expected = torch.tensor([math.exp(x) / total for x in scores], dtype=torch.float64)
    assert_same(reference.restricted_softmax(torch.tensor(scores, dtype=torch.float64)), expected, 1e-12)


def test_restricted_softmax_stays_finite_at_extreme_scores() -> None:
    x = torch.tensor([[1e4, -1e4], [-1e4, -1e4], [1e4, 1e4]], requires_grad=True)
    out = reference.restricted_softmax(x)
    torch.testing.assert_close(out, torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 0.5]]))
    out.sum().backward()
    assert torch.isfinite(x.grad).all()


def test_restricted_softmax_gradient() -> None:
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(reference.restricted_softmax, (x,))


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_grouped_linear_is_a_block_diagonal_matrix(groups: int) -> None:
    x, weight, bias = torch.randn(2, 3, 8), torch.randn(groups, 8 // groups, 12 // groups), torch.randn(12)
    expected = x @ torch.block_diag(*weight) + bias
    assert_same(reference.grouped_linear(x, weight, bias), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_gcn_norm_equals_pyg(weighted: bool) -> None:
    edge_index = random_graph(9, 30)
    weight = torch.rand(30, dtype=torch.float64) if weighted else None
    theirs_index, theirs = pyg_gcn_norm(edge_index, weight, 9, dtype=torch.float64)
    adj = Adjacency.build(edge_index, weight, 9).with_self_loops()
    dense = torch.zeros(9, 9, dtype=torch.float64)
    expected = dense.index_put((theirs_index[1], theirs_index[0]), theirs, accumulate=True)
    ours = adj.normalized("gcn", torch.float64)
    assert_same(dense.index_put((adj.target, adj.col), ours, accumulate=True), expected, 1e-12)


def test_gcn_norm_gradient_is_finite_for_a_node_without_weight() -> None:
    rowptr, col = torch.tensor([0, 1, 2]), torch.tensor([1, 0])
    weight = torch.tensor([0.0, 2.0], requires_grad=True)
    reference.gcn_norm(rowptr, col, weight).sum().backward()
    assert torch.isfinite(weight.grad).all()


def test_dna_attention_is_its_equation() -> None:
    nodes, steps, heads, channels = 5, 3, 2, 4
    adj = Adjacency.build(random_graph(nodes, 12), num_nodes=nodes)
    query = torch.randn(nodes, heads, channels, dtype=torch.float64)
    key, value = torch.randn(2, nodes, steps, heads, channels, dtype=torch.float64)
    weight = torch.rand(adj.num_edges, dtype=torch.float64)
    expected = torch.zeros_like(query)
    for e in range(adj.num_edges):
        v, w = int(adj.target[e]), int(adj.col[e])
        for h in range(heads):
            scores = [math.exp(query[v, h] @ key[w, t, h] / math.sqrt(channels)) for t in range(steps)]
            for t in range(steps):
                expected[v, h] += weight[e] * scores[t] / (1 + sum(scores)) * value[w, t, h]
    out, attention = reference.dna_attention(query, key, value, adj.rowptr, adj.col, weight)
    assert_same(out, expected, 1e-12)
    assert attention.shape == (adj.num_edges, steps, heads)


def test_dropout_mask_is_its_definition_in_plain_integers() -> None:
    def mix(h: int) -> int:
        h ^= h >> 16
        h = h * 0x7FEB352D % 2**32
        h ^= h >> 15
        h = h * 0x846CA68B % 2**32
        return h ^ (h >> 16)

    seed, p = 0x0123_4567_89AB_CDEF, 0.3
    rows = torch.tensor([0, 1, 77, 2**32 + 5])
    mask = reference.dropout_mask(seed, rows, steps=3, heads=5, p=p)
    for i, row in enumerate(rows.tolist()):
        key = mix(mix(mix(mix(seed % 2**32) ^ (seed >> 32)) ^ (row % 2**32)) ^ (row >> 32))
        for t in range(3):
            for head in range(5):
                bits = mix(key ^ ((t * 0x9E3779B9 + head * 0x85EBCA77) % 2**32))
                assert mask[i, t, head] == (bits >= round(p * 2**32))


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
def test_dropout_mask_keeps_its_share_along_every_axis(p: float) -> None:
    edges, steps, heads = 20_000, 4, 8
    keep = reference.dropout_mask(42, torch.arange(edges), steps, heads, p).double()
    for axis in ((0,), (0, 1), (0, 2)):
        count = keep.numel() / keep.mean(axis).numel()
        allowed = 5 * math.sqrt(p * (1 - p) / count)
        assert (keep.mean(axis) - (1 - p)).abs().max() < allowed
    # neighbours along each axis, and two seeds, are uncorrelated
    other = reference.dropout_mask(43, torch.arange(edges), steps, heads, p).double()
    pairs = [(keep[1:], keep[:-1]), (keep[:, 1:], keep[:, :-1]), (keep[..., 1:], keep[..., :-1]), (keep, other)]
    for a, b in pairs:
        covariance = (a * b).mean() - a.mean() * b.mean()
        assert abs(covariance) < 5 * p * (1 - p) / math.sqrt(a.numel())


@pytest.mark.parametrize("p", [-0.1, 1.0, math.nan])
def test_dropout_rate_out_of_range(p: float) -> None:
    with pytest.raises(ValueError, match="dropout="):
        reference.dropout_threshold(p)
