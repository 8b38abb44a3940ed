"""New numbers for the nodes, so that each part owns a contiguous range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Numbering:
    """The nodes by part; within a part they keep their original order.

    Attributes:
        part: int16 `[N]`, the part of each node by its original number
        ranges: int64 `[P + 1]`, part p owns the new numbers `ranges[p] .. ranges[p + 1]`
        new: int64 `[N]`, the new number of each original one

    >>> numbering = Numbering.of(np.array([1, 0, 1, 0]), 3)
    >>> numbering.new.tolist(), numbering.ranges.tolist(), numbering.original(1).tolist()
    ([2, 0, 3, 1], [0, 2, 4, 4], [0, 2])
    """

    part: np.ndarray
    ranges: np.ndarray
    new: np.ndarray

    @classmethod
    def of(cls, part: np.ndarray, num_parts: int) -> Numbering:
        """From the part of each node."""
        part = part.astype(np.int16, copy=False)  # numpy sorts these in linear time
        ranges = np.zeros(num_parts + 1, np.int64)
        np.cumsum(np.bincount(part, minlength=num_parts), out=ranges[1:])
        new = np.empty(len(part), np.int64)
        new[np.argsort(part, kind="stable")] = np.arange(len(part))
        return cls(part, ranges, new)

    @property
    def num_parts(self) -> int:
        return len(self.ranges) - 1

    def original(self, part: int) -> np.ndarray:
        """The original numbers of the nodes of a part, in the order of their new ones: int64 `[n]`."""
        return np.flatnonzero(self.part == part)
