"""Neighbourhoods."""

import networkx as nx
import numpy as np
import pytest

from helpers import random_graph
from justjump.analysis import neighbourhood
from justjump.analysis.hops import balls, whole_graph
from justjump.data import Graph, load
from justjump.ops import Adjacency


def test_distances_are_those_of_networkx() -> None:
    cora = load("cora")
    graph = nx.Graph(cora.edge_index.T.tolist())
    for node in (0, 1358, 2707):
        found = neighbourhood(cora, node, hops=3)
        expected = nx.single_source_shortest_path_length(graph, node, cutoff=3)
        assert dict(zip(found.nodes.tolist(), found.hops.tolist(), strict=True)) == expected
        assert found.nodes[0] == node
        assert (np.diff(found.hops) >= 0).all()
        inside = graph.subgraph(expected)
        edges = {frozenset(pair) for pair in found.nodes[found.edge_index].T.tolist()}
        assert edges == {frozenset(pair) for pair in inside.edges}


def test_a_limit_keeps_the_nearest() -> None:
    cora = load("cora")
    whole, some = neighbourhood(cora, 1358, hops=2), neighbourhood(cora, 1358, hops=2, limit=20)
    assert some.truncated
    assert not whole.truncated
    assert np.array_equal(some.nodes, whole.nodes[:20])
    assert some.edge_index.max() < 20


def test_edges_lead_to_the_node() -> None:
    path = Graph(np.array([[0, 1, 2], [1, 2, 3]]), np.eye(4), np.zeros(4, int), ("a",))  # 0 -> 1 -> 2 -> 3
    assert neighbourhood(path, 2, hops=5).nodes.tolist() == [2, 1, 0]
    assert neighbourhood(path, 0, hops=5).nodes.tolist() == [0]


def test_balls_of_many_nodes_are_those_of_each() -> None:
    adj = Adjacency.build(random_graph(30, 50), num_nodes=30)
    rowptr, col = adj.rowptr.numpy(), adj.col.numpy()
    starts = np.array([3, 3, 29, 7])
    together = balls(rowptr, col, starts, hops=3)
    for number, start in enumerate(starts):
        alone = balls(rowptr, col, np.array([start]), hops=3)
        own = together.start == number
        assert np.array_equal(together.nodes[own], alone.nodes)
        assert np.array_equal(together.hops[own], alone.hops)
    pairs = together.start * 30 + together.nodes
    assert np.array_equal(together.place[pairs], np.arange(len(pairs)))


def test_an_unknown_node_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no node -1: the graph has 2708 nodes"):
        neighbourhood(load("cora"), -1, hops=1)


def test_a_whole_graph_has_all_its_nodes_and_no_others() -> None:
    edges = np.array([[0, 1, 3, 5], [1, 2, 4, 6]])  # 0 -> 1 -> 2, and 3 -> 4 beside it; 5 -> 6 is another graph
    batch = np.array([0, 0, 0, 0, 0, 1, 1])
    graph = Graph(edges, np.eye(7), np.array([0, 1]), ("a", "b"), batch=batch)
    found = whole_graph(graph, 2)
    assert found.nodes.tolist() == [2, 1, 0, 3, 4]
    assert found.hops.tolist() == [0, 1, 2, 3, 3]
    assert found.nodes[found.edge_index].T.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert not found.truncated
    some = whole_graph(graph, 2, limit=2)
    assert some.nodes.tolist() == [2, 1]
    assert some.truncated
