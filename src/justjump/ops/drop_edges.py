"""DropEdge: training on a random part of the edges."""

from __future__ import annotations

import torch
from torch import Tensor

from justjump.ops.adjacency import Adjacency
from justjump.ops.dropout import draw_seed
from justjump.ops.dropout.reference import dropout_mask
from justjump.ops.matrix import pointer


def drop_edges(adj: Adjacency, p: float, seed: Tensor | None = None) -> Adjacency:
    """The graph without each of its edges with probability p (DropEdge; Rong et al., 2020).

    Self-loops stay, and normalised weights follow for what is left. Which edges these are is a function of the seed and
    of their positions.

    Args:
        adj: a graph whose weights are not normalised yet, whole or taken toward some nodes
        seed: drawn from torch's generator by default

    >>> adj = Adjacency.build(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> drop_edges(adj, 0.5, torch.tensor(3)).num_edges < 4
    True
    """
    whole = adj.whole
    if whole.aggregate is not None:
        raise ValueError("the weights of the graph are normalised already: drop edges first")
    seed = draw_seed(p) if seed is None else seed
    edges = torch.arange(whole.num_edges, device=whole.device)
    kept = (dropout_mask(seed, edges, 1, 1, p).flatten() | (whole.col == whole.target)).nonzero()[:, 0]
    rowptr = pointer(whole.target[kept].long(), whole.shape[0])
    weight = None if whole.weight is None else whole.weight[kept]
    part = Adjacency._trusted(whole.shape, rowptr, whole.col[kept], weight)
    part._looped, part._structure["edge_id"] = whole._looped, whole.edge_id[kept]
    return part if adj.nodes is None else part.toward(adj.nodes)
