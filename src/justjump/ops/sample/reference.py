"""Neighbour sampling, the obvious way: the oracle for the native sampler."""

from collections.abc import Sequence

import numpy as np

MASK64 = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    """A bijection of 64-bit words that flips each output bit with probability 1/2 (the end of splitmix64)."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def absorb(key: int, *numbers: int) -> int:
    """A key that depends on a former one and on numbers.

    >>> absorb(0, 1, 2) != absorb(0, 2, 1)
    True
    """
    for number in numbers:
        key = mix(((key ^ (number & MASK64)) + GOLDEN) & MASK64)
    return key


def below(key: int, draw: int, n: int) -> int:
    """Draw number ``draw`` of a key: one of 0 .. n - 1."""
    return (mix((key + (draw + 1) * GOLDEN) & MASK64) * n) >> 64


def pick(key: int, n: int, fanout: int, replace: bool) -> list[int]:
    """Which of n edges are taken, ascending: a pure function of the key.

    Without replacement by Floyd's algorithm: each subset of ``fanout`` edges is as likely as any other.

    >>> pick(0, 3, 5, replace=False), len(pick(0, 3, 5, replace=True)), pick(0, 3, -1, replace=True)
    ([0, 1, 2], 5, [0, 1, 2])
    """
    if fanout < 0 or n == 0 or (not replace and n <= fanout):
        return list(range(n))
    if replace:
        return sorted(below(key, i, n) for i in range(fanout))
    taken: set[int] = set()
    for i, last in enumerate(range(n - fanout, n)):
        chosen = below(key, i, last + 1)
        taken.add(last if chosen in taken else chosen)
    return sorted(taken)


def sample(
    rowptr: np.ndarray,
    col: np.ndarray,
    always: np.ndarray | None,
    seeds: Sequence[int],
    fanout: Sequence[int],
    replace: bool,
    key: int,
) -> tuple[list[int], list[int], list[int], list[int], list[int], list[int]]:
    """Nodes, rowptr, local columns, edges, and the numbers of new nodes and of edges per hop.

    A node's edges in hop h are :func:`pick` of the key of (key, h, node). ``always[v]`` is an edge of row v that is
    taken in addition to the others.
    """
    nodes = list(seeds)
    place: dict[int, int] = {}
    for number, v in enumerate(seeds):
        place.setdefault(v, number)
    pointer, new_nodes = [0], [len(nodes)]
    local: list[int] = []
    edges: list[int] = []
    new_edges: list[int] = []
    first = 0
    for hop, size in enumerate(fanout):
        last = len(nodes)
        for v in nodes[first:last]:
            row = list(range(rowptr[v], rowptr[v + 1]))
            kept = [] if always is None or not row else [int(always[v])]
            others = [e for e in row if e not in kept]
            taken = pick(absorb(key, hop, v), len(others), size, replace)
            for e in sorted([others[i] for i in taken] + kept):
                w = int(col[e])
                if w not in place:
                    place[w] = len(nodes)
                    nodes.append(w)
                local.append(place[w])
                edges.append(e)
            pointer.append(len(edges))
        first = last
        new_nodes.append(len(nodes) - last)
        new_edges.append(len(edges) - sum(new_edges))
    return nodes, pointer, local, edges, new_nodes, new_edges
