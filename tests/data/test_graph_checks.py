from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from helpers import VALID
from justjump.data import DataError, Graph


def _broken_csr(indices: list[int]) -> csr_matrix:
    matrix = csr_matrix(np.eye(3))
    matrix.indices = np.array(indices, dtype=np.int32)
    return matrix


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edge_index": np.array([[0, 3], [1, 0]])}, r"edge_index must lie in 0\.\.2 .*got 3"),
        ({"edge_index": np.array([[0, -1], [1, 0]])}, r"edge_index must lie in 0\.\.2 .*got -1"),
        ({"edge_index": np.array([[0.0], [1.0]])}, "edge_index must hold integers, got float64"),
        ({"edge_index": np.array([[2**64 - 1], [1]], dtype=np.uint64)}, r"edge_index must hold numbers below 2\^63"),
        ({"edge_index": np.array([0, 1])}, r"edge_index must have shape \[2, E\], got \[2\]"),
        ({"edge_index": np.array([[0, 1]] * 3)}, r"edge_index must have shape \[2, E\], got \[3, 2\]: transpose it"),
        ({"features": np.array([[1.0, np.nan], [1, -np.inf], [0, 0]])}, "node 1 has infinity in column 1"),
        ({"features": np.array([[1.0], [1e300], [0]])}, r"node 1 has 1e\+300 in column 0"),
        ({"features": csr_matrix(np.array([[1.0], [0], [np.inf]]))}, "node 2 has infinity in column 0"),
        ({"features": csr_matrix(np.array([[1.0], [np.nan], [0]]))}, "node 1 has NaN .* not in a sparse matrix"),
        ({"features": np.full((3, 1), np.inf), "feature_names": ("age",)}, "node 0 has infinity in the column 'age'"),
        ({"features": np.array([["a"], ["b"], ["c"]])}, "features must be real numbers"),
        ({"features": np.ones(3)}, "features must have shape"),
        ({"features": np.ones((3, 0))}, "identity matrix"),
        ({"features": _broken_csr([0, 1, 9])}, "not a valid sparse matrix"),
        ({"features": _broken_csr([0, -1, 2])}, "not a valid sparse matrix"),
        ({"labels": np.array([0, 1])}, r"labels must have shape \[3\]"),
        ({"labels": np.array([0, 1, 2])}, r"labels must lie in -1\.\.1 \(2 classes.*got 2"),
        ({"labels": np.array([0, 1, -4])}, "numbers of classes, counted from 0, or -1 for unknown, got -4"),
        ({"labels": np.array([0, 1, -2])}, "got -2"),
        ({"labels": np.array([0, 1, 2**64 - 1], dtype=np.uint64)}, "got 18446744073709551615"),
        ({"labels": np.array([0.5, 1, 1])}, "labels must hold integers"),
        ({"class_names": ("a", "a")}, "must differ, but 'a' is there 2 times"),
        ({"edge_weight": np.ones(3)}, "edge_weight must be 4 numbers"),
        ({"edge_weight": np.array([1, 1, -1, 1.0])}, "edge 2 has -1"),
        ({"edge_weight": np.array([1, np.nan, 1, 1])}, "edge 1 has nan"),
        ({"node_names": ("a",)}, "each of 3 nodes, got 1"),
        ({"feature_names": ("a", "b")}, "each of 3 features, got 2 names"),
        ({"batch": np.array([1, 0, 0])}, "ascending order"),
        ({"batch": np.array([0, 1, 3])}, r"batch must lie in 0\.\.2 .*got 3"),
        ({"masks": (np.ones(2, bool),) * 3}, r"train mask must be bool of shape \[3\]"),
    ],
)
def test_errors_name_the_value(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        Graph(**VALID | change)
    assert "\n" not in str(caught.value)
