"""METIS ends the process if its input is wrong: no graph may make it so."""

import sys
from pathlib import Path

import numpy as np
import pytest

from justjump.data import DataError, Graph
from justjump.data.parts.metis import metis_parts

RING = np.stack([np.arange(12), (np.arange(12) + 1) % 12])
STAR = np.stack([np.arange(1, 40), np.zeros(39, int)])
GRAPHS = {
    "no edges": (np.zeros((2, 0), int), 9),
    "self-loops alone": (np.array([[0, 1, 2], [0, 1, 2]]), 3),
    "one node": (np.zeros((2, 0), int), 1),
    "one edge, repeated": (np.array([[0, 0, 0], [1, 1, 1]]), 5),
    "a directed ring": (RING, 12),
    "a hub": (STAR, 40),
    "a hub and nobody else": (STAR, 100),
    "two components": (np.concatenate([RING, RING + 12], axis=1), 24),
    "all joined": (np.stack(np.meshgrid(np.arange(9), np.arange(9))).reshape(2, -1), 9),
    "130 times the same edge": (np.tile([[0], [1]], 130), 2),
}


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 9, 30])
@pytest.mark.parametrize("name", GRAPHS)
def test_any_graph_gets_parts(name: str, parts: int) -> None:
    edges, nodes = GRAPHS[name]
    found = metis_parts(edges, nodes, parts, seed=0)
    assert found.shape == (nodes,)
    assert 0 <= found.min() <= found.max() < parts
    assert np.array_equal(found, metis_parts(edges, nodes, parts, seed=0))


def test_random_graphs_get_parts() -> None:
    random = np.random.RandomState(0)
    for _ in range(150):
        nodes, parts = random.randint(1, 30), random.randint(1, 12)
        found = metis_parts(random.randint(0, nodes, (2, random.randint(0, 60))), nodes, parts, seed=0)
        assert 0 <= found.min() <= found.max() < parts


def test_nodes_without_edges_even_out_the_parts() -> None:
    found = metis_parts(np.concatenate([RING, RING + 12], axis=1), 300, 3, seed=0)
    assert np.bincount(found).max() <= 104
    assert np.bincount(metis_parts(np.zeros((2, 0), int), 9, 3, seed=0)).tolist() == [3, 3, 3]


def test_two_cliques_are_not_cut() -> None:
    clique = GRAPHS["all joined"][0]
    found = metis_parts(np.concatenate([clique, clique + 9, [[0], [9]]], axis=1), 18, 2, seed=0)
    assert len(set(found[:9])) == len(set(found[9:])) == 1
    assert found[0] != found[9]


def test_without_pymetis_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    graph = Graph(RING, np.eye(12), np.zeros(12, int), ("a",))
    with pytest.raises(DataError, match=r"pip install 'justjump\[parts\]', or choose method='hash'"):
        graph.partition(2, tmp_path / "parts")
    assert len(graph.partition(2, tmp_path / "parts", "hash")) == 2
