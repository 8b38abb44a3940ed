"""Reader for graphs in `.npz` files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from .arrays import Arrays, check_memory
from .errors import DataError, refuse_pipe, short
from .graph import Graph
from .labels import Labels, find_labels
from .masks import Masks, check_mask
from .sparse import canonical, check_form, check_steps, checked_csr, simplify
from .splits import ROLES

MOST_LABELS = 100_000  # of a node
# Bytes at the peak of reading, as measured: per entry of a matrix, per edge that is made of one, and for its weight.
_ENTRY_BYTES, _EDGE_BYTES, _WEIGHT_BYTES = 16, 24, 18


def read_npz(path: str | Path, directed: bool = False, binary: bool = False) -> Graph:
    """Read a graph from an `.npz` file with the keys of the gnn-benchmark datasets.

    `adj_{data,indices,indptr,shape}` hold the adjacency matrix in CSR, with sources as rows. The features are in
    `attr_{data,indices,indptr,shape}` (CSR) or in `attr_matrix` (dense). Optional keys are `labels` (-1 for unknown),
    `class_names`, `node_names`, `train_mask`, `val_mask` and `test_mask`.

    Self-loops are dropped and, unless `directed`, the reverse of every edge is added. If not all values in `adj_data`
    are 1, they are edge weights. `binary` sets positive features to 1 and ignores weights, names and masks; the library
    that the paper used reads these datasets in the same way.
    """
    path = Path(path)
    try:
        refuse_pipe(path)
        with path.open("rb") as file:
            graph = _read(Arrays(file), directed, binary)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except MemoryError as error:
        raise DataError(
            f"cannot read {path}: its graph does not fit into memory: use a machine with more, or a smaller graph"
        ) from error
    except DataError as error:
        raise DataError(f"cannot read a graph from {path}: {error}") from error
    return replace(graph, name=path.stem)


def _read(file: Arrays, directed: bool, binary: bool) -> Graph:
    edge_index, weight, rows = _edges(file, directed, binary)
    features = _features(file, rows)
    if binary:
        values = features.data if isinstance(features, csr_matrix) else features
        values[values > 0] = 1

    labels = _labels(file, rows)
    class_names = None if binary else _names(file, "class_names")
    if class_names is None and labels.task == "multiclass":
        highest = int(labels.values.max(initial=-1))
        if highest >= max(rows, 1):
            raise DataError(f"labels must count from 0, got {highest} for {rows} nodes: renumber the classes from 0")
    return Graph(
        edge_index=edge_index,
        features=features,
        labels=labels.values,
        class_names=class_names or labels.names,
        task=labels.task,
        edge_weight=weight,
        node_names=None if binary else _names(file, "node_names", rows),
        masks=None if binary else _masks(file, rows),
    )


def _edges(file: Arrays, directed: bool, binary: bool) -> tuple[np.ndarray, np.ndarray | None, int]:
    """Edges `[2, E]`, their weights `[E]`, and the number of nodes."""
    ways = 1 if directed else 2  # edges that are made of one entry
    adjacency = _csr(file, "adj", ways * _EDGE_BYTES)
    rows, columns = adjacency.shape
    if rows != columns:
        raise DataError(f"adj_shape must be square, got {rows} x {columns}")
    weight = None if binary or (adjacency.data == 1).all() else adjacency.data.astype(np.float64)
    if weight is not None:
        if np.isnan(weight).any():
            raise DataError("adj_data must not hold NaN")
        need = len(weight) * (_ENTRY_BYTES + ways * (_EDGE_BYTES + _WEIGHT_BYTES))
        check_memory(f"a graph of {len(weight)} entries with weights", need)
    coo = adjacency.tocoo(copy=False)
    edge_index = np.stack([coo.row, coo.col])
    del adjacency, coo
    return *simplify(edge_index, rows, weight, directed), rows


def _csr(file: Arrays, what: str, made: int, rows: int | None = None) -> csr_matrix:
    """Sparse matrix, with `rows` rows if that is given. No array is read before its shape is known to fit.

    `made` is the number of bytes per entry of what is made of the matrix later.
    """
    keys = [f"{what}_{part}" for part in ("data", "indices", "indptr", "shape")]
    data, indices, indptr, sizes = (file.header(key) for key in keys)
    if sizes.shape != (2,):
        raise DataError(f"{what}_shape must be two sizes, got an array of shape {short(sizes.shape)}")
    shape = file[keys[3]]
    check_form(data, indices, indptr, shape, what)
    if rows is not None and shape[0] != rows:
        raise DataError(f"features must have a row for each of {rows} nodes, got the shape {shape.tolist()}")
    need = max(indices.size * (_ENTRY_BYTES + made), indices.size * _ENTRY_BYTES + data.nbytes + indices.nbytes)
    check_memory(f"a matrix with {what}_indices of shape {list(indices.shape)}", need)
    steps = file[keys[2]]
    check_steps(steps, indices.size, what)
    return checked_csr(file[keys[0]], file[keys[1]], steps, shape, what)


def _features(file: Arrays, rows: int) -> csr_matrix | np.ndarray:
    if "attr_matrix" not in file or "attr_data" in file:
        return canonical(_csr(file, "attr", 0, rows))
    header = file.header("attr_matrix")
    if header.ndim != 2 or header.shape[0] != rows:
        raise DataError(f"features must have a row for each of {rows} nodes, got the shape {short(header.shape)}")
    if header.dtype.kind not in "iufb":
        raise DataError(f"attr_matrix must hold real numbers, got {header.dtype}")
    return file["attr_matrix"]


def _labels(file: Arrays, rows: int) -> Labels:
    if "labels" not in file:
        return Labels(np.full(rows, -1), (), "multiclass")
    header = file.header("labels")
    if header.dtype.kind not in "iufb":
        raise DataError(f"labels must be numbers (-1 or NaN for unknown), got {header.dtype}")
    if header.ndim not in (1, 2) or header.shape[0] != rows or header.size > rows * MOST_LABELS:
        raise DataError(
            f"labels must have shape [{rows}], one per node, or [{rows}, K] with K up to {MOST_LABELS:,}, "
            f"got {short(header.shape)}"
        )
    return find_labels(file["labels"])


def _names(file: Arrays, key: str, count: int | None = None) -> tuple[str, ...] | None:
    # The published files hold some names as pickled objects. They are not needed, so they are left out.
    if key not in file:
        return None
    header = file.header(key, objects=True)
    if header.ndim != 1 or header.dtype.kind not in "Uiu":
        return None
    if count is not None and header.size != count:
        raise DataError(f"{key} must have one entry for each of {count} nodes, got {header.size}")
    if header.size > 8 * header.compressed:  # different names take at least one bit each
        raise DataError(f"{key} has {header.size} entries, which cannot all differ in {header.compressed} bytes")
    return file.text(key)


def _masks(file: Arrays, rows: int) -> Masks | None:
    if not any(f"{role}_mask" in file for role in ROLES):
        return None
    masks = []
    for role in ROLES:
        key = f"{role}_mask"
        if key in file:
            check_mask(file.header(key), role, rows)
        masks.append(file[key] if key in file else np.zeros(rows, dtype=bool))
    return masks[0], masks[1], masks[2]
