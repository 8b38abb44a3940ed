"""Writes the folders of the parts and the manifest. What is read from memory and what is streamed both end here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from ..labels import Labels
from ..masks import MASK_KEYS, Masks
from ..preprocess import Preprocessing
from .edges import PartEdges, by_column
from .layout import Shape, Sizes, arrays_of, folder_name, index_type
from .manifest import Manifest, PartEntry
from .npy import ArrayFile, mapped, write_array
from .numbering import Numbering

_LONG, _FLOAT = np.dtype("<i8"), np.dtype("<f4")
_BLOCK = 2**22  # bytes that are hashed at a time


@dataclass(frozen=True, eq=False)
class NodeRows:
    """Some nodes in their original order, with what is written about each.

    Attributes:
        features: float32 `[k, F]`, sparse or dense like those of all nodes
        labels: `[k]` or `[k, K]`
        masks: three bool arrays `[k]`, or None
        names: `[k]`, or None
    """

    features: csr_matrix | np.ndarray
    labels: np.ndarray
    masks: Masks | None
    names: Sequence[str] | None


class PartsWriter:
    """The folder of a graph in parts while it is written: edges part by part, nodes in pieces, then `finish`.

    It keeps O(nodes) numbers in memory: the degrees, and the numbering that it is given.
    """

    def __init__(self, folder: Path, numbering: Numbering, shape: Shape) -> None:
        self.folder, self.numbering, self.shape = folder, numbering, shape
        self.degree = np.zeros(len(numbering.new), np.float32)  # by new number
        self.edges = [0] * shape.num_parts
        self.cut = [0] * shape.num_parts
        self.halo = [0] * shape.num_parts
        self.given_loops = 0
        self.sends = np.zeros((shape.num_parts, shape.num_parts), np.int64)  # rows that part p sends to part q
        self.send_files = [ArrayFile(self._part(part) / "send.npy", _LONG) for part in range(shape.num_parts)]
        self.nodes = [_NodeFiles(self._part(part), shape) for part in range(shape.num_parts)]

    def _part(self, part: int) -> Path:
        path = self.folder / folder_name(part)
        path.mkdir(exist_ok=True)
        return path

    def add_edges(self, part: int, edges: PartEdges) -> None:
        """Write the edges of one part, and what the other parts send to it. Parts come one after another."""
        folder, index = self._part(part), edges.col.dtype
        for name in ("rowptr", "col", "colptr", "row", "position"):
            write_array(folder / f"{name}.npy", getattr(edges, name), index)
        if edges.weight is not None:
            write_array(folder / "weight.npy", edges.weight, _FLOAT)
        ranges = self.numbering.ranges
        write_array(folder / "halo.npy", edges.halo, _LONG)
        ends = np.searchsorted(edges.halo, ranges)
        write_array(folder / "halo_ptr.npy", ends, _LONG)
        self.sends[:, part] = np.diff(ends)
        for other in np.flatnonzero(self.sends[:, part]).tolist():
            self.send_files[other].append(edges.halo[ends[other] : ends[other + 1]] - ranges[other])
        self.degree[ranges[part] : ranges[part + 1]] = edges.degree
        self.edges[part], self.cut[part], self.halo[part] = len(edges.col), edges.cut, len(edges.halo)
        self.given_loops += edges.given_loops

    def add_nodes(self, first: int, rows: NodeRows) -> None:
        """Write the nodes `first .. first + k`, counted as in the original order. They come one after another."""
        count = len(rows.labels)
        part = self.numbering.part[first : first + count]
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(self.shape.num_parts + 1))
        for number in np.flatnonzero(np.diff(ends)).tolist():
            chosen = order[ends[number] : ends[number + 1]]
            self.nodes[number].append(first + chosen, rows, chosen)

    def finish(
        self,
        name: str,
        labels: Labels,
        label_columns: Sequence[str] | None,
        method: str,
        seed: int,
        preprocessing: Preprocessing,
        advance: Callable[[float], object],
    ) -> Manifest:
        """Write the exchange lists and the manifest, when all edges and nodes are there. `advance` counts parts."""
        entries = []
        for part in range(self.shape.num_parts):
            self.nodes[part].close()
            self._write_exchange(part)
            entries.append(self._entry(part))
            advance(1)
        manifest = Manifest(
            name=name,
            task=labels.task,
            class_names=labels.names,
            label_columns=None if label_columns is None else tuple(label_columns),
            method=method,
            seed=seed,
            # As it will be read: JSON does not tell tuples from lists.
            preprocessing=Preprocessing.from_json(json.loads(json.dumps(preprocessing.to_json()))),
            sparse=self.shape.sparse,
            weighted=self.shape.weighted,
            masks=self.shape.masks,
            names=self.shape.names,
            given_loops=self.given_loops,
            parts=tuple(entries),
        )
        manifest.write(self.folder)
        return manifest

    def _write_exchange(self, part: int) -> None:
        folder = self._part(part)
        self.send_files[part].close()
        write_array(folder / "send_ptr.npy", np.cumsum([0, *self.sends[part]]), _LONG)
        begin, end = self.numbering.ranges[part : part + 2]
        halo = mapped(folder / "halo.npy", _LONG, (self.halo[part],))
        degree = np.concatenate([self.degree[begin:end], self.degree[halo]])
        write_array(folder / "degree.npy", degree, _FLOAT)

    def _entry(self, part: int) -> PartEntry:
        files, ranges = self.nodes[part], self.numbering.ranges
        nodes = int(ranges[part + 1] - ranges[part])
        sizes = Sizes(
            nodes=nodes,
            halo=self.halo[part],
            edges=self.edges[part],
            cut=self.cut[part],
            sends=self.send_files[part].length,
            entries=files.entries,
            name_bytes=files.name_bytes,
        )
        names = arrays_of(self.shape, sizes)
        return PartEntry(sizes, {name: file_digest(self._part(part) / f"{name}.npy") for name in sorted(names)})


class _NodeFiles:
    """The files about the nodes of one part, which grow."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.folder, self.shape = folder, shape
        self.entries = self.name_bytes = 0
        labels = (_LONG, ()) if shape.task == "multiclass" else (_FLOAT, (shape.outputs,))
        kinds: dict[str, tuple[np.dtype, tuple[int, ...]]] = {"original": (_LONG, ()), "labels": labels}
        if shape.masks:
            kinds |= {name: (np.dtype("|b1"), ()) for name in MASK_KEYS}
        if shape.names:
            kinds |= {"names": (np.dtype("|u1"), ()), "names_ptr": (_LONG, ())}
        if shape.sparse:
            # Types of indices depend on the number of entries: they are set when all are there.
            kinds |= {"features_rowptr": (_LONG, ()), "features_col": (_LONG, ()), "features_weight": (_FLOAT, ())}
        else:
            kinds["features"] = _FLOAT, (shape.num_features,)
        self.files = {name: ArrayFile(folder / f"{name}.npy", *kind) for name, kind in kinds.items()}
        for name in ("features_rowptr", "names_ptr"):
            if name in self.files:
                self.files[name].append(np.zeros(1, np.int64))

    def append(self, original: np.ndarray, rows: NodeRows, chosen: np.ndarray) -> None:
        """Add the rows of some nodes, with their original numbers."""
        self.files["original"].append(original)
        self.files["labels"].append(rows.labels[chosen])
        if rows.masks is not None:
            for name, mask in zip(MASK_KEYS, rows.masks, strict=True):
                self.files[name].append(mask[chosen])
        if rows.names is not None:
            texts = [rows.names[place].encode() for place in chosen.tolist()]
            self.files["names"].append(np.frombuffer(b"".join(texts), np.uint8))
            ends = self.name_bytes + np.cumsum([len(text) for text in texts])
            self.files["names_ptr"].append(ends)
            self.name_bytes = int(ends[-1])
        features = rows.features[chosen]
        if isinstance(features, np.ndarray):
            self.files["features"].append(features)
            return
        self.files["features_col"].append(features.indices)
        self.files["features_weight"].append(features.data)
        self.files["features_rowptr"].append(self.entries + features.indptr[1:].astype(np.int64))
        self.entries += features.nnz

    def close(self) -> None:
        for file in self.files.values():
            file.close()
        if self.shape.sparse:
            self._sort_features()

    def _sort_features(self) -> None:
        """The sparse features by column as well, for the gradient of the first layer's weights."""
        nodes, columns = self.files["original"].length, self.shape.num_features
        index = index_type(nodes, columns, self.entries)
        rowptr = mapped(self.folder / "features_rowptr.npy", _LONG, (nodes + 1,)).astype(index)
        col = mapped(self.folder / "features_col.npy", _LONG, (self.entries,)).astype(index)
        write_array(self.folder / "features_rowptr.npy", rowptr, index)
        write_array(self.folder / "features_col.npy", col, index)
        for name, array in zip(("colptr", "row", "position"), by_column(rowptr, col, columns), strict=True):
            write_array(self.folder / f"features_{name}.npy", array, index)


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
