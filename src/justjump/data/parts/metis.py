"""Parts with few edges between them, by METIS."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from ..errors import DataError

# A node costs a layer about as much time as so many edges (ARCHITECTURE.md): parts should take equal time.
_EDGES_PER_NODE = 50


def metis_parts(edge_index: np.ndarray, num_nodes: int, parts: int, seed: int) -> np.ndarray:
    """The part of each node, int16 `[N]`: parts of about equal work with few edges between them.

    METIS ends the process if its input is wrong, so it gets a symmetric graph without self-loops and repeated edges, in
    which every node has an edge. Nodes without one go where there is least.

    Args:
        edge_index: int64 `[2, E]`
        num_nodes: N
        parts: P
        seed: of METIS
    """
    try:
        import pymetis
    except ImportError as error:
        raise DataError(
            "method='metis' needs pymetis: pip install 'justjump[parts]', or choose method='hash'"
        ) from error
    graph = _symmetric(edge_index, num_nodes)
    degree = np.diff(graph.indptr)
    joined = np.flatnonzero(degree)
    work = _EDGES_PER_NODE + degree.astype(np.int64)
    part = np.empty(num_nodes, np.int16)
    if parts == 1 or len(joined) <= parts:  # METIS wants more nodes than parts
        part[joined] = np.arange(len(joined)) % parts
    else:
        graph = graph[joined][:, joined]
        adjacency = pymetis.CSRAdjacency(graph.indptr.astype(np.int64), graph.indices.astype(np.int64))
        options = pymetis.Options(seed=seed)
        found = pymetis.part_graph(parts, adjacency, vweights=work[joined], options=options)
        part[joined] = np.asarray(found.vertex_part)
    _deal(part, np.flatnonzero(degree == 0), np.bincount(part[joined], work[joined], minlength=parts))
    return part


def _symmetric(edge_index: np.ndarray, num_nodes: int) -> csr_matrix:
    """The pattern of the graph in both directions, without self-loops; repeated edges count once."""
    source, target = edge_index[:, edge_index[0] != edge_index[1]]
    ones = np.ones(len(source), np.int8)
    graph = coo_matrix((ones, (source, target)), shape=(num_nodes, num_nodes)).tocsr()
    graph.data[:] = 1  # what was repeated has been added up
    graph = graph + graph.T
    graph.sort_indices()
    return graph


def _deal(part: np.ndarray, alone: np.ndarray, load: np.ndarray) -> None:
    """Give nodes of equal work to the parts with the least load, up to a common level."""
    load = (load // _EDGES_PER_NODE).astype(np.int64)
    low, high = int(load.min()), int(load.min()) + len(alone)  # at the level `high`, there is room for all
    while low < high:
        middle = (low + high) // 2
        if np.maximum(middle - load, 0).sum() < len(alone):
            low = middle + 1
        else:
            high = middle
    filled = np.cumsum(np.maximum(low - load, 0))
    part[alone] = np.searchsorted(filled, np.arange(len(alone)), side="right")
