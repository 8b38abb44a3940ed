"""Sums by a fixed tree are the same bits whoever adds what."""

from itertools import pairwise

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from justjump.train.parts.tree import TreeSum, joined, tree_nodes


@given(st.integers(1, 40), st.data())
@settings(max_examples=60, deadline=None)
def test_any_ranges_give_the_same_bits(parts: int, data: st.DataObject) -> None:
    values = torch.randn(parts, 3)
    bounds = [0, *sorted(data.draw(st.lists(st.integers(0, parts), max_size=5))), parts]
    nodes, sums = [], []
    for begin, end in pairwise(bounds):
        tree = TreeSum(parts)
        for part in range(begin, end):
            tree.add(part, values[part])
        assert len(tree.sums) == len(tree_nodes(begin, end, parts))
        nodes += tree_nodes(begin, end, parts)
        sums += tree.sums
    alone = TreeSum(parts)
    for part in range(parts):
        alone.add(part, values[part])
    assert len(alone.sums) == 1
    assert torch.equal(joined(nodes, sums, parts), alone.sums[0])
    assert torch.allclose(alone.sums[0], values.sum(0), atol=1e-4)


def test_few_sums_are_kept() -> None:
    tree = TreeSum(1000)
    for part in range(1000):
        tree.add(part, torch.ones(()))
        assert len(tree.sums) <= 10
    assert tree.sums[0] == 1000
