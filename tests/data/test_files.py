"""A graph from a file or a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers import array_features
from justjump.data import DataError, load, read_graph


def test_a_folder_holds_tables_and_a_file_arrays(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,label,x\na,0,1\nb,1,2\nc,,3\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    ones, indices, indptr = np.ones(2), np.array([1, 2]), np.array([0, 1, 2, 2])
    arrays = {"adj_data": ones, "adj_indices": indices, "adj_indptr": indptr, "adj_shape": np.array([3, 3])}
    features = np.array([[1.0], [2], [3]])
    np.savez(tmp_path / "graph.npz", attr_matrix=features, labels=np.array([0, 1, -1]), **arrays)  # type: ignore[arg-type]
    for directed in (False, True):
        graphs = [read_graph(path, directed) for path in (tmp_path, str(tmp_path / "graph.npz"))]
        for graph in graphs:
            assert graph.edge_index.T.tolist() == ([[0, 1], [1, 2]] if directed else [[0, 1], [1, 0], [1, 2], [2, 1]])
            assert array_features(graph).tolist() == features.tolist()
            assert graph.labels.tolist() == [0, 1, -1]


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist: a graph is"):
        read_graph(tmp_path / "none.npz")
    (tmp_path / "graph.txt").touch()
    with pytest.raises(DataError, match=r"expected an \.npz file"):
        read_graph(tmp_path / "graph.txt")
    (tmp_path / "nodes.parquet").touch()
    with pytest.raises(DataError, match=r"nodes.parquet is one table of a graph: name the folder that holds those of"):
        read_graph(tmp_path / "nodes.parquet")


def test_a_graph_in_parts_is_another_thing(tmp_path: Path) -> None:
    load("cora").partition(2, tmp_path / "parts", method="hash")
    with pytest.raises(DataError, match=r"parts is a graph in parts: open it with data\.open_parts"):
        read_graph(tmp_path / "parts")
