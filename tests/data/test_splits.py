from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from justjump.data import DataError, Graph, load, random_split, read_graph, split_from_masks

FRACTIONS = [(0.2, 0.2, 0.6), (0.6, 0.2, 0.2), (1 / 3, 1 / 3, 1 / 3), (0.5, 0.25, 0.25), (0.29, 0.57, 0.14)]


@given(
    labels=st.lists(st.integers(-1, 6), min_size=20, max_size=300).filter(lambda ls: sum(la >= 0 for la in ls) >= 10),
    seed=st.integers(0, 2**32 - 1),
    fractions=st.sampled_from(FRACTIONS),
    stratified=st.booleans(),
)
def test_parts_are_disjoint_exact_and_cover(
    labels: list[int], seed: int, fractions: tuple[float, float, float], stratified: bool
) -> None:
    array = np.array(labels)
    split = random_split(array, seed, fractions, stratified)
    parts = [split.train, split.val, split.test]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.flatnonzero(array >= 0))
    count = (array >= 0).sum()
    for part, fraction in zip(parts, fractions, strict=True):
        assert part.dtype == np.int64
        assert (np.diff(part) > 0).all()
        assert abs(len(part) - fraction * count) <= 1
        if stratified:
            for label in np.unique(array[array >= 0]):
                share = fraction * (array == label).sum()
                assert abs((array[part] == label).sum() - share) <= 2.5
    again = random_split(array, seed, fractions, stratified)
    assert all(np.array_equal(a, b) for a, b in zip(parts, [again.train, again.val, again.test], strict=True))


@given(permutation=st.permutations(range(40)), seed=st.integers(0, 1000))
def test_stratified_and_plain_sizes_agree(permutation: list[int], seed: int) -> None:
    labels = np.array(permutation) % 3
    plain, stratified = (random_split(labels, seed, stratified=choice) for choice in (False, True))
    assert (len(plain.train), len(plain.val)) == (len(stratified.train), len(stratified.val)) == (8, 8)


def test_splits_of_cora_are_frozen() -> None:
    labels = load("cora").labels
    split = random_split(labels, seed=0)
    assert (len(split.train), len(split.val), len(split.test)) == (542, 542, 1624)
    assert split.train[:8].tolist() == [9, 10, 14, 15, 22, 23, 27, 33]
    assert random_split(labels, seed=0, stratified=False).train[:8].tolist() == [4, 9, 10, 14, 15, 22, 23, 27]
    assert not np.array_equal(random_split(labels, seed=1).train, split.train)


def test_every_node_is_equally_likely() -> None:
    labels = np.repeat([0, 1], [10, 40])
    for stratified in (False, True):
        counts = np.zeros(50)
        for seed in range(1000):
            counts[random_split(labels, seed, stratified=stratified).train] += 1
        assert abs(counts - 200).max() < 65  # five standard deviations


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5, None, True, "1"])
def test_bad_seed(seed: Any) -> None:
    with pytest.raises(DataError, match=r"seed must be an integer in 0\.\.2\^32-1, got"):
        random_split(np.zeros(10, int), seed)


@pytest.mark.parametrize("fractions", [(0.5, 0.6, 0.2), (0.5, 0.5), (-0.2, 0.6, 0.6), (float("nan"), 0.5, 0.5)])
def test_bad_fractions(fractions: Any) -> None:
    with pytest.raises(DataError, match="fractions must be three numbers"):
        random_split(np.zeros(10, int), 0, fractions)


def test_too_few_nodes() -> None:
    with pytest.raises(DataError, match=r"2 labelled nodes are too few for a share of 0.2 train nodes"):
        random_split(np.array([0, 1, -1, -1, -1]), 0)
    with pytest.raises(DataError, match="0 labelled nodes"):
        random_split(np.full(5, -1), 0)
    assert len(random_split(np.zeros(4, int), 0, (0.5, 0.5, 0)).test) == 0


def test_labels_of_the_wrong_kind() -> None:
    with pytest.raises(DataError, match="labels must be a list of integers, got float64"):
        random_split(np.zeros(5), 0)


def _graph(masks: Any, labels: list[int]) -> Graph:
    return Graph(np.empty((2, 0), int), np.eye(4), np.array(labels), ("0",), masks=masks, node_names=tuple("abcd"))


def test_split_from_masks() -> None:
    train, val, test, none = np.eye(4, dtype=bool)
    for split in (split_from_masks(_graph((train, val, test), [0, 0, 0, -1])), split_from_masks((train, val, test))):
        assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0], [1], [2])
    assert split_from_masks((train, val, none & False)).test.tolist() == []


@pytest.mark.parametrize(
    ("masks", "labels", "message"),
    [
        (None, [0] * 4, "no masks"),
        (([1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]), [0] * 4, "node 0 is in train and val"),
        (([1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]), [0] * 4, "the val mask is empty"),
        (([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]), [0, 0, -1, 0], "node c is in a mask but has no label"),
    ],
)
def test_bad_masks(masks: Any, labels: list[int], message: str) -> None:
    masks = masks and tuple(np.array(mask, dtype=bool) for mask in masks)
    with pytest.raises(DataError, match=message):
        split_from_masks(_graph(masks, labels))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("a,x,train,1\nb,y,test,2\n", "the column 'split' of .*nodes.csv names no val nodes: name some, or remove it"),
        ("a,x,train,1\nb,y,val,2\nc,,test,3\n", "node c has a role in the column 'split' of .*nodes.csv but no label"),
    ],
)
def test_a_column_with_roles_is_named(lines: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,label,split,age\n" + lines)
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    with pytest.raises(DataError, match=message) as caught:
        split_from_masks(read_graph(tmp_path))
    assert "mask" not in str(caught.value)


def test_masks_that_are_not_masks() -> None:
    with pytest.raises(DataError, match="three bool arrays of one length"):
        split_from_masks([np.zeros(3, int)] * 3)
    with pytest.raises(DataError, match="three bool arrays of one length"):
        split_from_masks([np.zeros(n, bool) for n in (3, 3, 4)])
