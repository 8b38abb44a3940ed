"""Edges by the part of their target: an external sort, one part at a time in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..errors import DataError
from .numbering import Numbering


class Buckets:
    """A file per part, to which edges are appended while a table is read.

    An edge takes 8 bytes if node numbers fit into 32 bits, else 16, and 8 more for a weight.
    """

    def __init__(self, folder: Path, numbering: Numbering, weighted: bool, directed: bool) -> None:
        self.folder, self.numbering, self.directed = folder, numbering, directed
        ends = np.dtype("<u4") if len(numbering.new) <= 2**32 else np.dtype("<i8")
        fields = [("source", ends), ("target", ends)] + ([("weight", "<f8")] if weighted else [])
        self.dtype, self.weighted = np.dtype(fields), weighted

    def _path(self, part: int) -> Path:
        return self.folder / f"edges-{part:05}"

    def add(self, source: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> None:
        """Add edges between original numbers, int64 `[k]`, without self-loops; in both directions unless directed."""
        kept = source != target
        source, target = source[kept], target[kept]
        weight = None if weight is None else weight[kept]
        self._add(source, target, weight)
        if not self.directed:
            self._add(target, source, weight)

    def _add(self, source: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> None:
        part = self.numbering.part[target]
        order = np.argsort(part, kind="stable")
        edges = np.empty(len(order), self.dtype)
        edges["source"], edges["target"] = self.numbering.new[source[order]], self.numbering.new[target[order]]
        if weight is not None:
            edges["weight"] = weight[order]
        ends = np.searchsorted(part[order], np.arange(self.numbering.num_parts + 1))
        for number in np.flatnonzero(np.diff(ends)).tolist():
            with self._path(number).open("ab") as file:
                file.write(edges[ends[number] : ends[number + 1]].data)

    def take(
        self, part: int, conflict: Callable[[int, int], DataError]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The edges to the nodes of a part, each once, by target and source; their file is removed.

        Args:
            part: p
            conflict: makes the error about two weights of the edge between two new numbers
        """
        path, nodes = self._path(part), len(self.numbering.new)
        if not path.exists():
            none = np.zeros(0, np.int64)
            return none, none, np.zeros(0, np.float32) if self.weighted else None
        edges = np.fromfile(path, self.dtype)
        path.unlink()
        begin = int(self.numbering.ranges[part])
        key = (edges["target"].astype(np.int64) - begin) * nodes + edges["source"]
        if not self.weighted:
            del edges
            key.sort()
            key = key[np.diff(key, prepend=-1) != 0]
            return key % nodes, key // nodes + begin, None
        order = np.argsort(key, kind="stable")
        key, weight = key[order], edges["weight"][order]
        again = key[1:] == key[:-1]
        different = np.flatnonzero(again & (weight[1:] != weight[:-1]))
        if len(different):
            at = int(different[0])
            raise conflict(int(key[at] % nodes), int(key[at] // nodes) + begin)
        first_ones = np.concatenate([[True], ~again])
        key, weight = key[first_ones], weight[first_ones]
        return key % nodes, key // nodes + begin, weight.astype(np.float32)
