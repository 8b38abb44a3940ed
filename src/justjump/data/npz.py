"""Reader for graphs in `.npz` files."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from .errors import DataError
from .graph import MASK_KEYS, Graph
from .sparse import canonical, checked_csr, simplify


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
        with path.open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise DataError("it holds one array instead of several named arrays")
            with arrays:
                graph = _read(_Arrays(arrays), directed, binary)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or "it is broken or cut short"
        raise DataError(f"cannot read {path}: {reason}") from error
    except MemoryError as error:
        raise DataError(f"cannot read {path}: it says that it holds more data than fits into memory") from error
    except ValueError as error:
        reason = str(error).split("\n")[0].rstrip(".")
        if "pickle" in reason:  # numpy's own message suggests a way to load the file that would run code from it
            reason = "it is not an .npz archive, or it holds Python objects, which are never loaded"
        raise DataError(f"cannot read a graph from {path}: {reason}") from error
    return replace(graph, name=path.stem)


class _Arrays:
    """The arrays of a file by key."""

    def __init__(self, file: np.lib.npyio.NpzFile) -> None:
        self._file = file

    def __contains__(self, key: str) -> bool:
        return key in self._file.files

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in self:
            found = ", ".join(sorted(self._file.files)[:12]) or "none"
            raise DataError(f"the key {key} is missing, the keys of the file are: {found}")
        try:
            return np.asarray(self._file[key])
        except ValueError as error:
            reason = (
                "holds Python objects, which are not read" if "pickle" in str(error) else f"cannot be read ({error})"
            )
            raise DataError(f"{key} {reason}: save it as numbers or text") from error

    def text(self, key: str) -> tuple[str, ...] | None:
        # The published files hold some names as pickled objects. They are not needed, so they are left out.
        with contextlib.suppress(DataError):
            if (array := self[key]).ndim == 1 and array.dtype.kind in "Uiu":
                return tuple(str(value) for value in array)
        return None


def _read(file: _Arrays, directed: bool, binary: bool) -> Graph:
    adjacency = _csr(file, "adj")
    rows, columns = adjacency.shape
    if rows != columns:
        raise DataError(f"adj_shape must be square, got {rows} x {columns}")
    coo = adjacency.tocoo()
    edge_index = np.stack([coo.row, coo.col]).astype(np.int64)
    weight = None if binary or (coo.data == 1).all() else coo.data.astype(np.float64)
    if weight is not None and np.isnan(weight).any():
        raise DataError("adj_data must not hold NaN")
    edge_index, weight = simplify(edge_index, rows, weight, directed)

    features = (
        file["attr_matrix"] if "attr_matrix" in file and "attr_data" not in file else canonical(_csr(file, "attr"))
    )
    if features.ndim != 2 or features.shape[0] != rows:
        raise DataError(f"features must have a row for each of {rows} nodes, got the shape {list(features.shape)}")
    if binary:
        values = features.data if isinstance(features, csr_matrix) else features
        values[values > 0] = 1

    labels = file["labels"] if "labels" in file else np.full(rows, -1)
    if labels.dtype.kind not in "iu":
        raise DataError(f"labels must be integers (-1 for unknown), got {labels.dtype}")
    class_names = None if binary else file.text("class_names")
    if class_names is None:
        highest = int(labels.max(initial=-1))
        if highest >= max(rows, 1):
            raise DataError(f"labels must count from 0, got {highest} for {rows} nodes: renumber the classes from 0")
        class_names = tuple(str(label) for label in range(highest + 1))
    masks = None
    if not binary and any(key in file for key in MASK_KEYS):
        masks = tuple(file[key] if key in file else np.zeros(rows, dtype=bool) for key in MASK_KEYS)
    return Graph(
        edge_index=edge_index,
        features=features,
        labels=labels,
        class_names=class_names,
        edge_weight=weight,
        node_names=None if binary else file.text("node_names"),
        masks=masks,  # type: ignore[arg-type]  # three by construction
    )


def _csr(file: _Arrays, what: str) -> csr_matrix:
    data, indices, indptr, shape = (file[f"{what}_{array}"] for array in ("data", "indices", "indptr", "shape"))
    return checked_csr(data, indices, indptr, shape, what)
