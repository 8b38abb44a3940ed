"""How far influence spreads, and over how many nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from justjump.analysis.jacobian import Influence

HELD = 0.9


def effective_receptive_field(share: np.ndarray) -> int:
    """The fewest nodes that together hold 90 % of the influence; 0 if no node has any.

    >>> effective_receptive_field(np.array([0.5, 0.1, 0.4]))
    2
    """
    held = np.cumsum(np.sort(share)[::-1])
    return int(np.searchsorted(held, HELD * held[-1] * (1 - 1e-12)) + 1) if held[-1] > 0 else 0


@dataclass(frozen=True, eq=False)
class ReceptiveFields:
    """The receptive fields of many nodes.

    Attributes:
        by_hop: ``[n, T + 1]`` share of the influence on each node that comes from each distance
        field: ``[n]`` :func:`effective_receptive_field` of each node
        reach: ``[n]`` number of nodes within T hops
    """

    by_hop: np.ndarray
    field: np.ndarray
    reach: np.ndarray

    @classmethod
    def of(cls, influences: Iterable[Influence], layers: int) -> ReceptiveFields:
        """Sum up influences one by one."""
        by_hop, field, reach = [], [], []
        for found in influences:
            by_hop.append(np.bincount(found.hops, found.share, minlength=layers + 1))
            field.append(effective_receptive_field(found.share))
            reach.append(len(found.nodes))
        return cls(np.array(by_hop).reshape(-1, layers + 1), np.array(field), np.array(reach))

    @classmethod
    def joined(cls, blocks: Sequence[ReceptiveFields]) -> ReceptiveFields:
        """The fields of all blocks, one after the other."""
        names = ("by_hop", "field", "reach")
        return cls(*(np.concatenate([getattr(block, name) for block in blocks]) for name in names))
