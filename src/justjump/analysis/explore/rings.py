"""Positions of a neighbourhood's nodes: one ring per hop, each node near the one that it is connected to."""

import numpy as np

RING = 110.0  # distance of two rings
SPACE = 30.0  # distance of two nodes on a ring
WIDEST = np.pi  # largest sector of one node: edges of a wider one would cross the centre


def ring_positions(hops: np.ndarray, edge_index: np.ndarray) -> np.ndarray:
    """Positions ``[n, 2]`` of nodes that are ``hops`` ``[n]`` steps from the centre.

    ``edge_index`` ``[2, e]`` holds edges among them, as positions in ``hops``, in any direction. The sector of a node
    is proportional to the number of leaves below it. A crowded ring is drawn as several rings.

    >>> ring_positions(np.array([0, 1, 1]), np.array([[0, 0], [1, 2]])).round()[:, 0]
    array([   0.,  110., -110.])
    """
    parent = _parents(hops, edge_index)
    parent[1:][parent[1:] < 0] = 0  # nodes that no path connects with the centre stand around it
    order = np.argsort(hops, kind="stable")
    leaves = np.ones(len(hops))
    for node in order[::-1]:
        children = parent == node
        if children.any():
            leaves[node] = leaves[children].sum()

    start, width, angle = np.zeros(len(hops)), np.full(len(hops), 2 * np.pi), np.zeros(len(hops))
    used = np.zeros(len(hops))  # angle of each node's sector that its children have taken
    for node in order[1:]:
        above = parent[node]
        width[node] = width[above] * leaves[node] / leaves[above]
        start[node] = start[above] + used[above]
        used[above] += width[node]
        angle[node] = start[node] + width[node] / 2
        if width[node] > WIDEST:
            start[node], width[node] = angle[node] - WIDEST / 2, WIDEST

    radius = np.zeros(len(hops))
    outermost = 0.0
    for hop in range(1, int(hops.max(initial=0)) + 1):
        ring = np.flatnonzero(hops == hop)
        ring = ring[np.argsort(angle[ring], kind="stable")]
        inner = outermost + RING
        rows = int(np.ceil(SPACE / (inner * width[ring].min()))) if len(ring) else 1
        radius[ring] = inner + SPACE * (np.arange(len(ring)) % rows)
        outermost = inner + SPACE * (rows - 1)
    return np.stack([radius * np.sin(angle), -radius * np.cos(angle)], axis=1)


def _parents(hops: np.ndarray, edge_index: np.ndarray) -> np.ndarray:
    """For each node, a neighbour that is one hop nearer to the centre ``[n]``; -1 for the centre."""
    parent = np.full(len(hops), -1)
    for a, b in (edge_index, edge_index[::-1]):
        nearer = hops[a] == hops[b] - 1
        parent[b[nearer]] = a[nearer]
    return parent
