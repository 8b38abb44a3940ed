"""Working through edges in blocks, so that no operation holds a tensor of all edges times all channels."""

from collections.abc import Iterator

BLOCK_ELEMENTS = 2**22


def edge_blocks(edges: int, elements_per_edge: int) -> Iterator[slice]:
    """Slices of edges of which each needs about ``BLOCK_ELEMENTS`` numbers; one empty slice where there is no edge.

    >>> list(edge_blocks(5, 2**21))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, BLOCK_ELEMENTS // max(1, elements_per_edge))
    for start in range(0, max(1, edges), step):
        yield slice(start, min(start + step, edges))
