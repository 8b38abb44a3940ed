"""Which arrays a part has, with their types and shapes. Writers and readers both ask here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..labels import Task

MANIFEST = "manifest.json"
_INT32_MAX = 2**31 - 1
_LONG, _FLOAT, _BOOL, _BYTE = (np.dtype(kind) for kind in ("<i8", "<f4", "|b1", "|u1"))


@dataclass(frozen=True)
class Shape:
    """What all parts of a graph have in common.

    Attributes:
        num_parts: P
        num_features: F, after the preprocessing
        outputs: number of classes, labels or targets
        task: of the labels
        sparse: whether the features are sparse
        weighted: whether edges have weights
        masks: whether the data names training, validation and test nodes
        names: whether the nodes have names
    """

    num_parts: int
    num_features: int
    outputs: int
    task: Task
    sparse: bool
    weighted: bool
    masks: bool
    names: bool


@dataclass(frozen=True)
class Sizes:
    """Sizes of one part.

    Attributes:
        nodes: n, the nodes that the part owns
        halo: h, the nodes of other parts that it reads
        edges: e, the edges to its own nodes, with one self-loop per node
        cut: those of them that come from other parts
        sends: rows that other parts read, added up over these parts
        entries: non-zeros of sparse features, 0 for dense ones
        name_bytes: length of all names in UTF-8
    """

    nodes: int
    halo: int
    edges: int
    cut: int
    sends: int
    entries: int
    name_bytes: int


def folder_name(part: int) -> str:
    """
    >>> folder_name(3)
    'part-00003'
    """
    return f"part-{part:05}"


def index_type(*sizes: int) -> np.dtype:
    """Type of indices into arrays of these sizes: as `ops.SparseMatrix` takes them, without a copy."""
    return np.dtype("<i4") if max(sizes) <= _INT32_MAX else _LONG


def arrays_of(shape: Shape, sizes: Sizes) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
    """Type and shape of each array of a part, by its name."""
    n, h, e = sizes.nodes, sizes.halo, sizes.edges
    index = index_type(n + h, e)
    arrays: dict[str, tuple[np.dtype, tuple[int, ...]]] = {
        "rowptr": (index, (n + 1,)),
        "col": (index, (e,)),
        "colptr": (index, (n + h + 1,)),
        "row": (index, (e,)),
        "position": (index, (e,)),
        "degree": (_FLOAT, (n + h,)),
        "halo": (_LONG, (h,)),
        "halo_ptr": (_LONG, (shape.num_parts + 1,)),
        "send": (_LONG, (sizes.sends,)),
        "send_ptr": (_LONG, (shape.num_parts + 1,)),
        "original": (_LONG, (n,)),
        "labels": (_LONG, (n,)) if shape.task == "multiclass" else (_FLOAT, (n, shape.outputs)),
    }
    if shape.weighted:
        arrays["weight"] = _FLOAT, (e,)
    if shape.masks:
        arrays |= dict.fromkeys(("train_mask", "val_mask", "test_mask"), (_BOOL, (n,)))
    if shape.names:
        arrays |= {"names": (_BYTE, (sizes.name_bytes,)), "names_ptr": (_LONG, (n + 1,))}
    if not shape.sparse:
        return arrays | {"features": (_FLOAT, (n, shape.num_features))}
    index, entries = index_type(n, shape.num_features, sizes.entries), (sizes.entries,)
    return arrays | {
        "features_rowptr": (index, (n + 1,)),
        "features_col": (index, entries),
        "features_weight": (_FLOAT, entries),
        "features_colptr": (index, (shape.num_features + 1,)),
        "features_row": (index, entries),
        "features_position": (index, entries),
    }
