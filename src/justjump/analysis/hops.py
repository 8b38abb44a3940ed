"""The nodes around a node, by their distance in hops."""

from typing import NamedTuple

import numpy as np

from justjump.data import Graph


class Neighbourhood(NamedTuple):
    """The nodes around one node, nearest first; nodes of the same distance are ordered by number.

    Attributes:
        nodes: ``[n]`` numbers in the graph; the first is the node itself
        hops: ``[n]`` distance of each node
        edge_index: ``[2, e]`` (sources, targets) of the edges among them, as positions in ``nodes``
        truncated: whether ``limit`` left out some nodes
    """

    nodes: np.ndarray
    hops: np.ndarray
    edge_index: np.ndarray
    truncated: bool


class Balls(NamedTuple):
    """The nodes within K hops of several start nodes: P pairs (start, node), nearest first.

    Attributes:
        start: ``[P]`` position of the pair's start node in the list of start nodes
        nodes: ``[P]`` the pair's node
        sizes: ``[K + 1]`` number of pairs that are at most k hops apart; these come first
        place: ``[starts * N]`` position of the pair (start, node) at ``start * N + node``
    """

    start: np.ndarray
    nodes: np.ndarray
    sizes: list[int]
    place: np.ndarray

    @property
    def hops(self) -> np.ndarray:
        """``[P]`` distance of each pair."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.sizes, prepend=0))


def neighbourhood(graph: Graph, node: int, hops: int, limit: int | None = None) -> Neighbourhood:
    """The nodes from which ``node`` can be reached in at most ``hops`` hops, and the edges among them.

    Args:
        graph: the graph
        node: its number
        hops: the largest distance
        limit: largest number of nodes; the nearest ones are taken

    >>> from justjump.data import load
    >>> neighbourhood(load("cora"), node=0, hops=1).nodes
    array([  0,   8,  14, 258, 435, 544])
    """
    check_node(node, graph.num_nodes)
    source, target = graph.edge_index
    order = np.lexsort((source, target))
    rowptr = np.searchsorted(target[order], np.arange(graph.num_nodes + 1))
    ball = balls(rowptr, source[order], np.array([node]), hops)
    nearest = ball.nodes if limit is None else ball.nodes[: max(1, limit)]
    place = np.full(graph.num_nodes, -1)
    place[nearest] = np.arange(len(nearest))
    inside = (place[source] >= 0) & (place[target] >= 0)
    return Neighbourhood(
        nearest, ball.hops[: len(nearest)], place[graph.edge_index[:, inside]], truncated=len(nearest) < len(ball.nodes)
    )


def whole_graph(graph: Graph, node: int, limit: int | None = None) -> Neighbourhood:
    """All nodes of the graph, one of several, that a node belongs to; those that do not reach the node come last."""
    assert graph.batch is not None
    nodes = np.flatnonzero(graph.batch == graph.batch[node])
    near = neighbourhood(graph, node, hops=len(nodes) - 1)
    apart = np.setdiff1d(nodes, near.nodes)
    found = np.concatenate([near.nodes, apart])[: len(nodes) if limit is None else max(1, limit)]
    hops = np.concatenate([near.hops, np.full(len(apart), near.hops.max() + 1)])[: len(found)]
    place = np.full(graph.num_nodes, -1)
    place[found] = np.arange(len(found))
    inside = (place[graph.edge_index] >= 0).all(axis=0)
    return Neighbourhood(found, hops, place[graph.edge_index[:, inside]], truncated=len(found) < len(nodes))


def balls(rowptr: np.ndarray, col: np.ndarray, starts: np.ndarray, hops: int) -> Balls:
    """Breadth-first search from several nodes at once, against the direction of the edges.

    Args:
        rowptr, col: ``[N + 1], [E]`` the sources of each node's incoming edges
        starts: ``[S]`` nodes to start from
        hops: K
    """
    nodes = len(rowptr) - 1
    place = np.full(len(starts) * nodes, -1, dtype=np.int32)
    frontier = np.arange(len(starts)) * nodes + starts  # pairs as start * N + node
    found, sizes = [frontier], [len(frontier)]
    place[frontier] = np.arange(len(frontier))
    for _ in range(hops):
        owner, node = np.divmod(frontier, nodes)
        edges, degree = incoming(rowptr, node)
        reached = np.unique(np.repeat(owner, degree) * nodes + col[edges])
        frontier = reached[place[reached] < 0]
        place[frontier] = np.arange(sizes[-1], sizes[-1] + len(frontier))
        found.append(frontier)
        sizes.append(sizes[-1] + len(frontier))
    return Balls(*np.divmod(np.concatenate(found), nodes), sizes, place)


def incoming(rowptr: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the edges into some nodes, one node after the other, and the number of edges per node."""
    degree = rowptr[nodes + 1] - rowptr[nodes]
    first = rowptr[nodes] - np.cumsum(degree) + degree
    return np.repeat(first, degree) + np.arange(degree.sum()), degree


def check_node(node: int, num_nodes: int) -> None:
    if not 0 <= node < num_nodes:
        raise ValueError(f"there is no node {node}: the graph has {num_nodes} nodes, 0 to {num_nodes - 1}")
