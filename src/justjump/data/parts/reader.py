"""A graph in parts, read from its folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from ..errors import DataError
from ..graph import Graph
from ..masks import Masks
from .layout import MANIFEST, arrays_of, folder_name
from .manifest import Manifest, check_arrays
from .npy import check_array
from .part import Part
from .put_together import graph_of
from .writer import file_digest


def open_parts(folder: str | Path, verify: bool = True) -> Parts:
    """Open a graph that `Graph.partition`, `partition_tables` or `justjump partition` wrote.

    It always checks that all files exist and have the right sizes and types. The indices of a part are checked when its
    arrays are first used. What is wrong raises a `DataError` of one sentence.

    Args:
        folder: with `manifest.json`.
        verify: also read all files now, check all indices, and compare the SHA-256 of each file. Leave it out for a
            huge graph that was verified before.
    """
    folder = Path(folder)
    manifest = Manifest.read(folder)
    check_arrays(manifest)
    for number, entry in enumerate(manifest.parts):
        for name, (dtype, shape) in arrays_of(manifest.shape, entry.sizes).items():
            check_array(folder / folder_name(number) / f"{name}.npy", dtype, shape)
    parts = Parts(folder, manifest)
    if verify:
        parts.verify()
    return parts


def is_parts(folder: str | Path) -> bool:
    """Whether a folder looks like a graph in parts, perhaps a damaged one."""
    return any((Path(folder) / name).exists() for name in (MANIFEST, folder_name(0)))


class Parts:
    """A graph in parts: `len(parts)` of them, `parts[p]` is one.

    Nodes have new numbers, so that part p owns `manifest.ranges[p] .. manifest.ranges[p + 1]`. Every node has exactly
    one self-loop. The features are as networks take them.

    >>> import tempfile
    >>> from justjump import data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = data.load("cora").partition(4, Path(folder, "parts"), method="hash")
    ...     print(parts)
    ...     print(parts[1])
    Parts('cora': 4 parts, 2,708 nodes, 13,264 edges, 4,606 boundary rows)
    Part(1: 695 nodes, 1,180 of other parts, 3,388 edges)
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest

    def __len__(self) -> int:
        return self.manifest.num_parts

    def __getitem__(self, part: int) -> Part:
        """One part. Its arrays are mapped when they are first used, and as long as the part is kept."""
        if not -len(self) <= part < len(self):
            raise IndexError(f"there is no part {part}: the graph has {len(self)} parts")
        return Part(self.folder, self.manifest, int(part) % len(self))

    def __iter__(self) -> Iterator[Part]:
        return (self[part] for part in range(len(self)))

    def __repr__(self) -> str:
        it = self.manifest
        return (
            f"Parts({it.name!r}: {len(self)} parts, {it.num_nodes:,} nodes, {it.num_edges:,} edges, "
            f"{it.num_halo:,} boundary rows)"
        )

    def verify(self) -> None:
        """Raise a `DataError` unless all indices are in range and all files have the SHA-256 of the manifest."""
        for part in self:
            for name, expected in self.manifest.parts[part.number].sha256.items():
                path = part.path(name)
                if file_digest(path) != expected:
                    raise DataError(f"{path} was altered: its SHA-256 is not that of the manifest: copy it again")
            part.check()

    def collect(self, name: Literal["labels", "original", "degree"]) -> np.ndarray:
        """What all parts say about their own nodes, in the order of the new numbers: `[N, ...]`.

        To bring values of this order back to that of the data: `back[parts.collect("original")] = values`.
        """
        return np.concatenate([getattr(part, name)[: part.num_nodes] for part in self])

    def collect_masks(self) -> Masks | None:
        """Which nodes are for training, validation and test, bool `[N]` each, if the data names them."""
        if not self.manifest.masks:
            return None
        masks = [part.masks for part in self if part.masks is not None]
        train, val, test = (np.concatenate(mask) for mask in zip(*masks, strict=True))
        return train, val, test

    def to_graph(self) -> Graph:
        """The whole graph in memory, with the new numbers of the nodes.

        Its features are as the preprocessing made them. Self-loops that were added are left out.
        """
        return graph_of(self)
