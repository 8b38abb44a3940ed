"""Where the nodes of a neighbourhood are drawn: on rings, one a hop, each node near the one that it hangs on."""

import numpy as np

RING = 110.0  # between two rings
SPACE = 30.0  # between two nodes on a ring
WIDEST = np.pi  # sector of what hangs on one node; a wider one would lead edges across the centre


def ring_positions(hops: np.ndarray, edge_index: np.ndarray) -> np.ndarray:
    """Positions ``[n, 2]`` of nodes that are ``hops`` ``[n]`` steps from the centre.

    ``edge_index`` ``[2, e]`` joins them by their places in ``hops``, in either direction. A node gets a sector of the
    circle as large as the share of leaves that hang on it. A crowded ring is drawn as several.

    >>> ring_positions(np.array([0, 1, 1]), np.array([[0, 0], [1, 2]])).round()[:, 0]
    array([   0.,  110., -110.])
    """
    parent = _parents(hops, edge_index)
    order = np.argsort(hops, kind="stable")
    leaves = np.ones(len(hops))
    for node in order[::-1]:
        children = parent == node
        if children.any():
            leaves[node] = leaves[children].sum()

    start, width, angle = np.zeros(len(hops)), np.full(len(hops), 2 * np.pi), np.zeros(len(hops))
    used = np.zeros(len(hops))  # part of each node's sector that its children have taken
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
    """For each node one that is joined to it and a hop nearer to the centre ``[n]``; -1 for the centre."""
    parent = np.full(len(hops), -1)
    for a, b in (edge_index, edge_index[::-1]):
        nearer = hops[a] == hops[b] - 1
        parent[b[nearer]] = a[nearer]
    return parent
