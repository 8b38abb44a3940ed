"""Weights of edges, normalised for one way to aggregate."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from justjump.ops.matrix import SparseMatrix
from justjump.ops.segments import edge_targets, segment_sum

Aggregate = Literal["gcn", "mean", "sum"]


def check_aggregate(aggregate: str) -> None:
    if aggregate not in get_args(Aggregate):
        raise ValueError(f"aggregate={aggregate!r} is unknown: choose 'gcn', 'mean' or 'sum'")


def normalized_weight(edges: SparseMatrix, weight: Tensor, aggregate: Aggregate) -> Tensor:
    """The weights of edges: symmetric (gcn), by in-degree (mean) or as they are (sum). ``[E] -> [E]``"""
    if aggregate == "gcn":
        return gcn_norm(edges.rowptr, edges.col, weight, edges.target)
    if aggregate == "mean":
        degree = segment_sum(weight, edges.rowptr, edges.target)
        return weight / torch.where(degree > 0, degree, 1)[edges.target]
    return weight


def gcn_norm(rowptr: Tensor, col: Tensor, weight: Tensor, target: Tensor | None = None) -> Tensor:
    r"""Symmetrically normalised edge weights, for a graph that already holds its self-loops.

    .. math:: \hat{w}_{v,w} = w_{v,w} / \sqrt{\hat{d}_v \hat{d}_w}, \quad \hat{d}_v = \sum_w w_{v,w}

    A node of degree 0 gets weight 0. ``[E] -> [E]``
    """
    target = edge_targets(rowptr, weight.numel()) if target is None else target
    return gcn_scaled(weight, segment_sum(weight, rowptr, target), target, col)


def gcn_scaled(weight: Tensor, degree: Tensor, target: Tensor, col: Tensor) -> Tensor:
    """The weights of :func:`gcn_norm`, given the degree of each node. ``[E], [M], [E], [E] -> [E]``"""
    # The masked value must not pass through pow: its gradient is inf * 0 there.
    scale = torch.where(degree > 0, degree, 1).pow(-0.5) * (degree > 0)
    return scale[target] * weight * scale[col]
