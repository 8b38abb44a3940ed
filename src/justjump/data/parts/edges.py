"""The edges to the nodes of one part, sorted for forward and for backward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from .layout import index_type


@dataclass(frozen=True, eq=False)
class PartEdges:
    """The rows of one part of the graph with self-loops, in local numbers.

    The part's own nodes are 0 .. n - 1, the halo follows in ascending order. The edges of a row are in the order of the
    *global* numbers of their sources, so they are a contiguous piece of the edges of the whole graph.

    Attributes:
        rowptr, col, weight: the edges by target, `[n + 1]`, `[e]` and `[e]` or None
        colptr, row, position: the edges by source, `[n + h + 1]`, `[e]` and their places by target `[e]`
        halo: global numbers of the sources of other parts, ascending, `[h]`
        degree: sum of the weights of each row, float32 `[n]`
        given_loops: number of nodes whose self-loop was in the data
        cut: number of edges from other parts
    """

    rowptr: np.ndarray
    col: np.ndarray
    weight: np.ndarray | None
    colptr: np.ndarray
    row: np.ndarray
    position: np.ndarray
    halo: np.ndarray
    degree: np.ndarray
    given_loops: int
    cut: int


def part_edges(
    source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, begin: int, end: int, num_nodes: int
) -> PartEdges:
    """Sort the edges to the nodes `begin .. end`, and give each of these nodes exactly one self-loop.

    The result is that of `ops.Adjacency.build(...).with_self_loops()`: an existing self-loop keeps its weight, of
    several the last one counts, and a new one weighs 1. Repeated edges stay.

    Args:
        source, target: global numbers, int64 `[e]`, in any order
        weight: float32 `[e]` or None
        begin, end: the range of the part
        num_nodes: N of the whole graph
    """
    nodes = end - begin
    loop = source == target
    own = np.arange(nodes, dtype=np.int64)
    has_loop = np.zeros(nodes, bool)
    has_loop[target[loop] - begin] = True
    key = np.concatenate([(target[~loop] - begin) * num_nodes + source[~loop], own * (num_nodes + 1) + begin])
    if weight is None:
        key.sort()
    else:
        of_loop = np.ones(nodes, np.float32)
        of_loop[target[loop] - begin] = weight[loop]  # of several, numpy keeps the last
        weight = np.concatenate([weight[~loop], of_loop])
        order = np.argsort(key, kind="stable")
        key, weight = key[order], weight[order]
        del order
    row, source = np.divmod(key, num_nodes)
    del key
    foreign = (source < begin) | (source >= end)
    halo, place = _ranked(source[foreign])
    index = index_type(nodes + len(halo), len(source))
    col = np.empty(len(source), index)
    col[~foreign] = source[~foreign] - begin
    col[foreign] = nodes + place
    del source
    rowptr = np.zeros(nodes + 1, index)
    np.cumsum(np.bincount(row, minlength=nodes), out=rowptr[1:])
    colptr, by_source, position = by_column(rowptr, col, nodes + len(halo))
    degree = np.zeros(nodes, np.float32)
    if weight is None:
        degree += np.diff(rowptr)
    else:
        np.add.at(degree, row, weight)  # one after another in float32, as torch adds them
    return PartEdges(
        rowptr, col, weight, colptr, by_source, position, halo, degree, int(has_loop.sum()), int(foreign.sum())
    )


def _ranked(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different values, ascending, and the place of each value `[k]` among them. Ten times as fast as np.unique.

    >>> [x.tolist() for x in _ranked(np.array([7, 2, 7]))]
    [[2, 7], [1, 0, 1]]
    """
    order = np.argsort(values)
    ascending = values[order]
    is_first = np.diff(ascending, prepend=-1) != 0
    place = np.empty(len(values), np.int64)
    place[order] = np.cumsum(is_first) - 1
    return ascending[is_first], place


def by_column(rowptr: np.ndarray, col: np.ndarray, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The entries of a matrix by column: pointer `[columns + 1]`, row `[e]` and place by row `[e]`, rows ascending.

    >>> [x.tolist() for x in by_column(np.array([0, 2, 3]), np.array([0, 2, 0]), 3)]
    [[0, 2, 2, 3], [0, 1, 0], [0, 2, 1]]
    """
    places = np.arange(len(col), dtype=col.dtype)
    found = csr_matrix((places, col, rowptr), shape=(len(rowptr) - 1, columns)).tocsc()
    return found.indptr, found.indices, found.data
