"""One part of a graph."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from ..masks import MASK_KEYS, Masks
from .checks import check_finite, check_halo, check_known, check_numbers, check_pointer
from .layout import arrays_of, folder_name
from .manifest import Manifest
from .npy import mapped


class Part:
    """The rows of the graph that one part owns, as memory-mapped arrays.

    In local numbers, the n nodes that the part owns come first; the h nodes of other parts that it reads, its *halo*,
    follow in the order of their global numbers, so those of one part are together. The edges to the own nodes are those
    of the graph with one self-loop per node, in the same order as there: edge i of the part is the edge
    `first_edge + i` of the graph, and non-zero i of sparse features is number `first_entry + i`.

    Changes of the arrays stay in this process.

    Attributes:
        number: p
        begin, end: the range of global numbers that the part owns
        num_nodes, num_halo, num_edges: n, h and e
        first_edge: global number of its first edge, counted by target with self-loops
        first_entry: global number of the first non-zero of its sparse features
    """

    def __init__(self, folder: Path, manifest: Manifest, number: int) -> None:
        self.folder, self.manifest, self.number = folder / folder_name(number), manifest, number
        self.sizes = manifest.parts[number].sizes
        self.begin, self.end = (int(bound) for bound in manifest.ranges[number : number + 2])
        self.num_nodes, self.num_halo, self.num_edges = self.sizes.nodes, self.sizes.halo, self.sizes.edges
        self.first_edge, self.first_entry = int(manifest.first_edges[number]), int(manifest.first_entries[number])
        self._arrays = arrays_of(manifest.shape, self.sizes)

    def __repr__(self) -> str:
        return (
            f"Part({self.number}: {self.num_nodes:,} nodes, {self.num_halo:,} of other parts, {self.num_edges:,} edges)"
        )

    def path(self, name: str) -> Path:
        """The file of an array."""
        return self.folder / f"{name}.npy"

    def _map(self, *names: str) -> tuple[np.ndarray, ...]:
        return tuple(mapped(self.path(name), *self._arrays[name]) for name in names)

    def _matrix(self, names: tuple[str, str], columns: int) -> tuple[np.ndarray, ...]:
        """Pointer and indices of a sparse matrix, checked."""
        pointer, index = self._map(*names)
        check_pointer(self.path(names[0]), pointer, len(index))
        check_numbers(self.path(names[1]), index, columns)
        return pointer, index

    @cached_property
    def _by_target(self) -> tuple[np.ndarray, ...]:
        return self._matrix(("rowptr", "col"), self.num_nodes + self.num_halo)

    @property
    def rowptr(self) -> np.ndarray:
        """`[n + 1]` where the edges of each own node begin, by target."""
        return self._by_target[0]

    @property
    def col(self) -> np.ndarray:
        """`[e]` local number of the source of each edge, in the order of the global numbers within a row."""
        return self._by_target[1]

    @cached_property
    def weight(self) -> np.ndarray | None:
        """float32 `[e]` of each edge by target, or None; self-loops that were added weigh 1."""
        if not self.manifest.weighted:
            return None
        (weight,) = self._map("weight")
        check_finite(self.path("weight"), weight, lowest=0)
        return weight

    @cached_property
    def _by_source(self) -> tuple[np.ndarray, ...]:
        colptr, row = self._matrix(("colptr", "row"), self.num_nodes)
        (position,) = self._map("position")
        check_numbers(self.path("position"), position, self.num_edges)
        return colptr, row, position

    @property
    def colptr(self) -> np.ndarray:
        """`[n + h + 1]` where the edges of each local source begin, by source."""
        return self._by_source[0]

    @property
    def row(self) -> np.ndarray:
        """`[e]` local number of the target of each edge by source, ascending for each source."""
        return self._by_source[1]

    @property
    def position(self) -> np.ndarray:
        """`[e]` place by target of each edge by source."""
        return self._by_source[2]

    @cached_property
    def degree(self) -> np.ndarray:
        """float32 `[n + h]` sum of the weights of the edges to each local node in the whole graph, with its self-loop.

        It is what `Adjacency.normalized` takes, so that a part finds the same weights as the whole graph.
        """
        (degree,) = self._map("degree")
        check_finite(self.path("degree"), degree, lowest=0)
        return degree

    @cached_property
    def _halo(self) -> tuple[np.ndarray, ...]:
        halo, pointer = self._map("halo", "halo_ptr")
        check_halo(self.path("halo"), halo, pointer, self.manifest.ranges, self.number)
        return halo, pointer

    @property
    def halo(self) -> np.ndarray:
        """int64 `[h]` global numbers of the nodes of other parts that this part reads, ascending."""
        return self._halo[0]

    def receive_from(self, part: int) -> slice:
        """Which rows of the halo another part owns; they have the local numbers `n + start .. n + stop`."""
        return slice(*self._halo[1][part : part + 2].tolist())

    @cached_property
    def _sends(self) -> tuple[np.ndarray, ...]:
        return self._matrix(("send_ptr", "send"), self.num_nodes)

    def send_to(self, part: int) -> np.ndarray:
        """int64: local numbers of the own nodes that another part reads, in the order of its halo."""
        pointer, send = self._sends
        return send[pointer[part] : pointer[part + 1]]

    @property
    def interior(self) -> np.ndarray:
        """bool `[n]`: the own nodes that read no other part."""
        foreign = np.zeros(self.num_edges + 1, np.int64)
        np.cumsum(self.col >= self.num_nodes, out=foreign[1:])
        return foreign[self.rowptr[1:]] == foreign[self.rowptr[:-1]]

    @cached_property
    def features(self) -> csr_matrix | np.ndarray:
        """float32 `[n, F]`, a `csr_matrix` or an array, as the preprocessing of the manifest made them."""
        if not self.manifest.sparse:
            return self._map("features")[0]
        pointer, index = self._matrix(("features_rowptr", "features_col"), self.manifest.num_features)
        shape = self.num_nodes, self.manifest.num_features
        return csr_matrix((*self._map("features_weight"), index, pointer), shape=shape)

    @cached_property
    def features_by_column(self) -> tuple[np.ndarray, ...]:
        """Sparse features by column: pointer `[F + 1]`, row and place in `features`, as of `ops.SparseMatrix`."""
        pointer, row = self._matrix(("features_colptr", "features_row"), self.num_nodes)
        (position,) = self._map("features_position")
        check_numbers(self.path("features_position"), position, self.sizes.entries)
        return pointer, row, position

    @cached_property
    def labels(self) -> np.ndarray:
        """`[n]` or `[n, K]`, as of a `Graph`."""
        (labels,) = self._map("labels")
        if self.manifest.task == "multiclass":
            check_numbers(self.path("labels"), labels, len(self.manifest.class_names), lowest=-1)
        else:
            check_known(self.path("labels"), labels, self.manifest.task)
        return labels

    @cached_property
    def masks(self) -> Masks | None:
        """Which nodes are for training, validation and test, bool `[n]` each, if the data names them."""
        if not self.manifest.masks:
            return None
        train, val, test = self._map(*MASK_KEYS)
        return train, val, test

    @cached_property
    def original(self) -> np.ndarray:
        """int64 `[n]` number of each own node in the data that was partitioned, counted from 0."""
        (original,) = self._map("original")
        check_numbers(self.path("original"), original, self.manifest.num_nodes)
        return original

    @cached_property
    def _names(self) -> tuple[np.ndarray, ...]:
        text, pointer = self._map("names", "names_ptr")
        check_pointer(self.path("names_ptr"), pointer, len(text))
        return text, pointer

    def names(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Names of the own nodes `start .. stop` in local numbers; nodes without names are called by their numbers."""
        stop = self.num_nodes if stop is None else stop
        if not self.manifest.names:
            return [str(number) for number in self.original[start:stop].tolist()]
        text, pointer = self._names
        ends = pointer[start : stop + 1].tolist()
        whole = text[ends[0] : ends[-1]].tobytes()
        return [whole[a - ends[0] : b - ends[0]].decode("utf-8", "replace") for a, b in pairwise(ends)]

    def check(self) -> None:
        """Raise a `DataError` unless everything in the part can be used."""
        for name in ("rowptr", "weight", "colptr", "degree", "halo", "_sends", "features", "labels", "original"):
            getattr(self, name)
        if self.manifest.sparse:
            _ = self.features_by_column
        if self.manifest.names:
            _ = self._names
