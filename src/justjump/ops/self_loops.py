"""Self-loops of a graph."""

from __future__ import annotations

import torch
from torch import Tensor

from justjump.ops.matrix import SparseMatrix, sort_entries


def add_self_loops(edges: SparseMatrix) -> tuple[Tensor, Tensor, Tensor]:
    """``rowptr`` ``[N + 1]`` and ``col`` of the edges with exactly one self-loop per node, and where each comes from.

    The last is the number of the edge that the weight is taken from; E stands for the weight of a new loop.
    """
    loop = edges.col == edges.target
    nodes = torch.arange(edges.shape[1], device=edges.device)
    # Where a node has several loops, the last one counts, as in PyG.
    where = loop.nonzero()[:, 0]
    last = torch.full_like(nodes, -1).scatter_reduce(0, edges.target[where].long(), where, "amax")
    source = torch.cat([(~loop).nonzero()[:, 0], torch.where(last < 0, edges.num_entries, last)])
    col = torch.cat([edges.col[~loop].long(), nodes])
    rowptr, order = sort_entries(edges.shape, torch.cat([edges.target[~loop].long(), nodes]), col)
    return rowptr, col[order], source[order]
