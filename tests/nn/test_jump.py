"""Jumping knowledge against PyG's, and the updates against their equations."""

import pytest
import torch
import torch_geometric.nn as pyg

from helpers import assert_same, gradients
from justjump.nn import GRUUpdate, SkipUpdate, jumping_knowledge
from justjump.nn.config import Jump
from justjump.nn.jump import InitialUpdate, ResidualUpdate, norm_module, update_module


@pytest.mark.parametrize(("jump", "mode"), [("concat", "cat"), ("pool", "max"), ("lstm", "lstm")])
def test_jumping_knowledge_equals_pyg(jump: Jump, mode: str) -> None:
    ours, theirs = jumping_knowledge(jump, 6, 3), pyg.JumpingKnowledge(mode, 6, 3)
    assert ours is not None
    theirs.load_state_dict(ours.state_dict())
    xs = [torch.randn(5, 6, requires_grad=True) for _ in range(3)]
    a, b = ours(xs), theirs(xs)
    assert_same(a, b)
    for p, q in zip(gradients(a, xs), gradients(b, xs), strict=True):
        assert_same(p, q)


def test_updates_are_their_equations() -> None:
    former, new = torch.randn(2, 5, 4)
    skip = SkipUpdate(4)
    assert_same(skip(former, new), new + former @ skip.lin.weight.T)
    gru = GRUUpdate(4)
    reset, keep, candidate = gru.cell.weight_ih.chunk(3)
    reset_h, keep_h, candidate_h = gru.cell.weight_hh.chunk(3)
    b, b_h = gru.cell.bias_ih.chunk(3), gru.cell.bias_hh.chunk(3)
    r = torch.sigmoid(new @ reset.T + b[0] + former @ reset_h.T + b_h[0])
    z = torch.sigmoid(new @ keep.T + b[1] + former @ keep_h.T + b_h[1])
    n = torch.tanh(new @ candidate.T + b[2] + r * (former @ candidate_h.T + b_h[2]))
    assert_same(gru(former, new), (1 - z) * n + z * former)
    assert_same(ResidualUpdate()(former, new), former + new)
    assert_same(InitialUpdate(0.3)(former, new), 0.7 * new + 0.3 * former)


def test_none_and_unknown_names() -> None:
    assert jumping_knowledge("none", 4, 2) is None
    assert update_module("none", 4) is None
    assert norm_module("none", 4) is None
    with pytest.raises(ValueError, match="jump='sum' is unknown: choose 'none', 'concat', 'pool' or 'lstm'"):
        jumping_knowledge("sum", 4, 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="update='add' is unknown: choose one of none, skip, gru, residual, initial"):
        update_module("add", 4)  # type: ignore[arg-type]
