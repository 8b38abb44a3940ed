"""The distribution of attention weights, counted block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from justjump.analysis.attention import AttentionBlock, attended, attention_blocks, check_dna, checked_layer
from justjump.nn import NodeClassifier
from justjump.train import Inputs

By = Literal["all", "layer", "head", "class"]
# Number of bins that weights are counted in: quantiles are exact to within half of 1 / BINS.
BINS = 4096
QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)


@dataclass(frozen=True)
class Box:
    """The distribution of the shares that edges give to one representation, or to none.

    Attributes:
        layer: counted from 1
        head, label: the head (counted from 0) or the target's class that it is restricted to, or None
        given_to: the number s of the representation h(s), or None for the refused share
        count: number of weights
        low, q1, median, q3, high: quantiles 1, 25, 50, 75 and 99 %
    """

    layer: int
    head: int | None
    label: int | None
    given_to: int | None
    count: int
    mean: float
    low: float
    q1: float
    median: float
    q3: float
    high: float
    largest: float


def attention_statistics(
    model: NodeClassifier, inputs: Inputs, by: By = "all", layer: int | None = None, classes: int = 0
) -> list[Box]:
    """Distributions of the weights of one layer (by default the last), or of every layer.

    Args:
        model: a DNA network
        inputs: the graph
        by: one distribution for all edges and heads of the layer (``"all"``), for each ``"head"``, for each
            ``"class"`` of target nodes (those without a label are left out), or for each ``"layer"``
        layer: counted from 1
        classes: number of classes
    """
    if by == "layer":
        layers = range(1, model.config.layers + 1)
        return [box for t in layers for box in attention_statistics(model, inputs, "all", t)]
    check_dna(model)
    layer = checked_layer(model, layer)
    counts = Counts.of(model, layer, by, classes)
    for block in attention_blocks(model, inputs, layer):
        counts.add_block(by, block, inputs.labels)
    return boxes_of(model, layer, by, counts)


def boxes_of(model: NodeClassifier, layer: int, by: By, counts: Counts) -> list[Box]:
    """The distributions of one layer, given all that was counted."""
    found = []
    for group_number in range(len(counts.bins)):
        where: dict[str, Any] = {
            "layer": layer,
            "head": group_number if by == "head" else None,
            "label": group_number if by == "class" else None,
        }
        for place, step in enumerate([*attended(model, layer), None]):
            if counts.total(group_number, place):
                found.append(Box(**where, given_to=step, **counts.summary(group_number, place)))
    return found


def _groups(by: By, block: AttentionBlock, labels: Tensor) -> Tensor:
    """The distribution that each weight of a block belongs to, -1 for none. ``[e, H]``"""
    edges, heads = block.refused.shape
    if by == "class":
        return labels[block.target.long()][:, None].expand(edges, heads)
    return torch.arange(heads).expand(edges, heads) if by == "head" else torch.zeros(edges, heads, dtype=torch.long)


class Counts:
    """A histogram of weights for each group and place: the representations in their order, and the refused share."""

    def __init__(self, groups: int, places: int) -> None:
        self.bins = np.zeros((groups, places, BINS), dtype=np.int64)
        self.sum = np.zeros((groups, places))
        self.max = np.zeros((groups, places))

    @classmethod
    def of(cls, model: NodeClassifier, layer: int, by: By, classes: int) -> Counts:
        """For a layer of a network."""
        groups = {"all": 1, "layer": 1, "head": model.config.heads, "class": classes}[by]
        return cls(groups, len(attended(model, layer)) + 1)

    def add_block(self, by: By, block: AttentionBlock, labels: Tensor) -> None:
        """Count the weights of some edges. ``labels`` ``[N]`` are those of all nodes that targets may be."""
        share = torch.cat([block.weight, block.refused[:, None]], dim=1)  # [e, t + 1, H]
        group = _groups(by, block, labels)  # [e, H]
        known = group >= 0
        for s in range(share.size(1)):
            self.add(s, group[known], share[:, s][known])

    def join(self, other: Counts) -> None:
        """Add what another one has counted."""
        self.bins += other.bins
        self.sum += other.sum
        self.max = np.maximum(self.max, other.max)

    def add(self, place: int, group: Tensor, share: Tensor) -> None:
        groups = len(self.bins)
        share = share.double().clamp(0, 1)
        key = group * BINS + (share * BINS).long().clamp(max=BINS - 1)
        self.bins[:, place] += torch.bincount(key, minlength=groups * BINS).view(groups, BINS).numpy()
        self.sum[:, place] += torch.bincount(group, share, minlength=groups).numpy()
        top = torch.zeros(groups, dtype=torch.double).scatter_reduce(0, group, share, "amax")
        self.max[:, place] = np.maximum(self.max[:, place], top.numpy())

    def total(self, group: int, place: int) -> int:
        return int(self.bins[group, place].sum())

    def summary(self, group: int, place: int) -> dict[str, Any]:
        total, below = self.total(group, place), np.cumsum(self.bins[group, place])
        middle = (np.searchsorted(below, np.array(QUANTILES) * total) + 0.5) / BINS
        names = ("low", "q1", "median", "q3", "high")
        return {
            "count": total,
            "mean": float(self.sum[group, place] / total),
            **dict(zip(names, middle.tolist(), strict=True)),
            "largest": float(self.max[group, place]),
        }
