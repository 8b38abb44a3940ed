"""Reader for the Planetoid files `ind.<name>.{x,tx,allx,y,ty,ally,graph,test.index}`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from justjump.files import read_file

from .errors import DataError, short
from .graph import Graph
from .pickles import load_array, load_matrix, load_neighbours
from .sparse import simplify

T = TypeVar("T")

# `x` and `y` repeat the first rows of `allx` and `ally`: they mark a training set that is not used here.
ENDINGS = ("allx", "ally", "tx", "ty", "graph", "test.index")


def read_planetoid(folder: Path, name: str) -> Graph:
    """Graph of the files `ind.<name>.*` in a folder."""
    paths = {ending: folder / f"ind.{name}.{ending}" for ending in ENDINGS}
    allx, tx = (_load(paths[ending], load_matrix) for ending in ("allx", "tx"))
    ally, ty = (_load(paths[ending], load_array) for ending in ("ally", "ty"))
    edges, num_nodes = _load(paths["graph"], _load_edges)
    test = _load(paths["test.index"], _load_numbers)
    try:
        return _assemble(allx, ally, tx, ty, test=test, edges=edges, num_nodes=num_nodes, name=name)
    except MemoryError as error:
        raise DataError(f"the files ind.{name}.* in {folder} hold more than fits into memory") from error
    except DataError as error:
        raise DataError(f"the files ind.{name}.* in {folder} do not hold a Planetoid dataset: {error}") from error


def _assemble(
    allx: csr_matrix,
    ally: np.ndarray,
    tx: csr_matrix,
    ty: np.ndarray,
    *,
    test: np.ndarray,
    edges: np.ndarray,
    num_nodes: int,
    name: str,
) -> Graph:
    """Make a graph. Row i of `allx` belongs to node i, and row i of `tx` to node `test[i]`.

    Nodes in neither (15 nodes of CiteSeer) have no features.
    """
    rows = np.concatenate([np.arange(allx.shape[0]), test])
    if (
        not len(rows)
        or allx.shape[0] + tx.shape[0] != len(rows)
        or len(np.unique(rows)) != len(rows)
        or not 0 <= rows.min() <= rows.max() < num_nodes
    ):
        raise DataError(f"test.index does not name {tx.shape[0]} further nodes of {num_nodes}")
    if allx.shape[1] != tx.shape[1]:
        raise DataError(f"allx and tx must have equally many features, got {allx.shape[1]} and {tx.shape[1]} features")
    if ally.ndim != 2 or ally.shape[1:] != ty.shape[1:] or ally.shape[1] == 0 or len(ally) + len(ty) != len(rows):
        raise DataError(f"ally and ty have shapes {ally.shape} and {ty.shape} for {len(rows)} rows of features")
    if edges.size and not 0 <= edges.min() <= edges.max() < num_nodes:
        raise DataError(f"graph names a node outside 0..{num_nodes - 1}")

    upper, lower = allx.tocoo(), tx.tocoo()
    row = np.concatenate([upper.row, test[lower.row]])
    column = np.concatenate([upper.col, lower.col])
    value = np.concatenate([upper.data, lower.data])
    # A node without a label gets class 0, the argmax of a row of zeros, as in the library that the paper used.
    labels = np.zeros(num_nodes, dtype=np.int64)
    labels[rows] = np.concatenate([ally, ty]).argmax(axis=1)
    return Graph(
        edge_index=simplify(edges, num_nodes)[0],
        features=coo_matrix((value, (row, column)), shape=(num_nodes, allx.shape[1])).tocsr(),
        labels=labels,
        class_names=tuple(str(label) for label in range(ally.shape[1])),
        name=name,
    )


def _load_edges(raw: bytes) -> tuple[np.ndarray, int]:
    """Edges `[2, E]` and the number of nodes, from a pickled dictionary that maps each node to its neighbours."""
    nodes, neighbours = load_neighbours(raw)
    if len(set(nodes)) != len(nodes):
        raise DataError("it names a node twice")
    source = np.repeat(np.array(nodes, dtype=np.int64), np.fromiter(map(len, neighbours), np.int64, len(nodes)))
    target = np.fromiter(chain.from_iterable(neighbours), np.int64, len(source))
    return np.stack([source, target]), len(nodes)


def _load_numbers(raw: bytes) -> np.ndarray:
    """Numbers `[M]` from text."""
    words = raw.split()
    bad = next((word for word in words if not word.isdigit() or len(word) > 18), None)
    if bad is not None:
        raise DataError(f"numbers of nodes were expected, got {short(bad.decode('latin1'))!r}")
    return np.array([int(word) for word in words], dtype=np.int64)


def _load(path: Path, load: Callable[[bytes], T]) -> T:
    try:
        return load(read_file(path))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except MemoryError as error:
        raise DataError(f"cannot read {path}: it does not fit into memory") from error
    except Exception as error:  # a broken pickle can raise almost any exception
        reason = short(error, 200) or type(error).__name__
        raise DataError(
            f"cannot read {path}, which is broken or unsafe: {reason}; replace it by the published file"
        ) from error
