from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csc_matrix, csr_array, csr_matrix

from helpers import VALID, array_features
from justjump.data import Graph


def test_counts_and_types() -> None:
    graph = Graph(**VALID)
    assert (graph.num_nodes, graph.num_features, graph.num_classes) == (3, 3, 2)
    assert graph.edge_index.dtype == np.int64
    assert graph.labels.dtype == np.int64
    assert array_features(graph).dtype == np.float32
    assert graph.is_undirected
    assert graph.num_edges == 2  # 0 - 1, and the self-loop, which stands there twice


def test_directed_graph_counts_its_columns() -> None:
    graph = Graph(**VALID | {"edge_index": np.array([[0, 1, 1], [1, 0, 2]])})
    assert not graph.is_undirected
    assert graph.num_edges == 3


def test_no_edges_and_one_node() -> None:
    graph = Graph(np.empty((2, 0), dtype=int), np.ones((1, 1)), np.array([-1]), ())
    assert graph.num_edges == 0
    assert graph.is_undirected
    assert repr(graph) == "Graph('graph': 1 nodes, 0 edges, 1 features, 0 classes)"


@pytest.mark.parametrize("form", [csr_matrix, csc_matrix, coo_matrix, csr_array])
def test_sparse_features_become_canonical_csr(form: Any) -> None:
    matrix = coo_matrix(([1.0, 2.0, 0.0, 5.0], ([0, 0, 1, 2], [2, 2, 0, 1])), shape=(3, 4))
    graph = Graph(**VALID | {"features": form(matrix)})
    assert isinstance(graph.features, csr_matrix)
    assert graph.features.has_canonical_format
    assert graph.features.data.tolist() == [3, 5]
    assert graph.features.dtype == np.float32


def test_inputs_are_not_changed() -> None:
    matrix = csr_matrix(([1.0, 0.0], ([0, 1], [2, 0])), shape=(3, 4))
    features = np.eye(3, dtype=np.float64)
    Graph(**VALID | {"features": matrix})
    Graph(**VALID | {"features": features})
    assert matrix.nnz == 2
    assert features.dtype == np.float64
