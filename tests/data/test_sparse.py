"""Checked sparse matrices and clean edge lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from justjump.data import DataError
from justjump.data.sparse import WeightConflictError, canonical, checked_csr, simplify


def test_canonical_is_a_sorted_copy_without_duplicates_and_zeros() -> None:
    matrix = csr_matrix((np.array([1.0, 2, 3, 0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3))
    found = canonical(matrix)
    assert (found.indices.tolist(), found.data.tolist(), found.dtype) == ([0, 2], [2, 4], np.float32)
    assert matrix.nnz == 4, "the original stays as it is"


CSR: dict[str, Any] = {
    "data": np.ones(3),
    "indices": np.array([0, 2, 1]),
    "indptr": np.array([0, 2, 3]),
    "shape": np.array([2, 3]),
}


def test_consistent_arrays_make_a_matrix() -> None:
    assert checked_csr(**CSR, what="adj").toarray().tolist() == [[1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": np.ones((3, 1))}, "adj_data must be a list of numbers"),
        ({"indices": np.array([0, 3, 1])}, r"adj_indices must lie in 0\.\.2, got 3"),
        ({"indptr": np.array([0, 2, 1])}, "adj_indptr must rise"),
        ({"indptr": np.array([0, 3])}, "adj_indptr must have 3 entries for adj_shape 2 x 3, got 2"),
        ({"shape": np.array([2.0, 3.0])}, "adj_shape must be a list of integers"),
        ({"shape": np.array([2, 2**31])}, "adj_shape must be two sizes below"),
    ],
)
def test_inconsistent_arrays_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        checked_csr(**CSR | change, what="adj")


@given(
    edges=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30),
    directed=st.booleans(),
    weighted=st.booleans(),
)
def test_each_edge_once_without_loops(edges: list[tuple[int, int]], directed: bool, weighted: bool) -> None:
    edge_index = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    weight = (edge_index.sum(axis=0) + 0.5) if weighted else None  # the same in both directions
    found, found_weight = simplify(edge_index, 7, weight, directed)
    expected = {(a, b) for a, b in edges if a != b}
    expected |= set() if directed else {(b, a) for a, b in expected}
    assert list(map(tuple, found.T.tolist())) == sorted(expected)
    assert (found_weight is None) == (weight is None)
    assert found_weight is None or found_weight.tolist() == (found.sum(axis=0) + 0.5).tolist()


def test_a_conflict_names_both_entries() -> None:
    edges, weight = np.array([[0, 1, 2], [1, 0, 2]]), np.array([0.5, 2.0, 1.0])
    with pytest.raises(WeightConflictError, match=r"entries 0 and 1 .* 0.5 and 2.*directed=True") as caught:
        simplify(edges, 3, weight)
    assert (caught.value.first, caught.value.second, caught.value.weights) == (0, 1, (0.5, 2.0))
    assert simplify(edges, 3, weight, directed=True)[1].tolist() == [0.5, 2.0]  # type: ignore[union-attr]
