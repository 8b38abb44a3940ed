"""Reader for the Planetoid files `ind.<name>.{x,tx,allx,y,ty,ally,graph,test.index}`."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from .errors import DataError
from .graph import Graph
from .sparse import checked_csr, simplify

# `x` and `y` repeat the first rows of `allx` and `ally`: they mark a training set that is not used here.
ENDINGS = ("allx", "ally", "tx", "ty", "graph", "test.index")


def read_planetoid(folder: Path, name: str) -> Graph:
    """Graph of the files `ind.<name>.*` in a folder."""
    paths = {ending: folder / f"ind.{name}.{ending}" for ending in ENDINGS}
    content = {ending: _load(path) for ending, path in paths.items() if ending != "test.index"}
    try:
        test = np.array(paths["test.index"].read_text(encoding="ascii").split(), dtype=np.int64)  # [M]
        return _assemble(
            _csr(content["allx"]),
            _array(content["ally"]),
            _csr(content["tx"]),
            _array(content["ty"]),
            test=test,
            edges=_edge_list(content["graph"]),
            num_nodes=len(content["graph"]),
            name=name,
        )
    except OSError as error:
        raise DataError(f"cannot read {paths['test.index']}: {error.strerror}") from error
    except (ValueError, OverflowError, MemoryError) as error:
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
        allx.shape[0] + tx.shape[0] != len(rows)
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
    one_hot = np.zeros((num_nodes, ally.shape[1]), dtype=ally.dtype)
    one_hot[rows] = np.concatenate([ally, ty])
    return Graph(
        edge_index=simplify(edges, num_nodes)[0],
        features=coo_matrix((value, (row, column)), shape=(num_nodes, allx.shape[1])).tocsr(),
        labels=one_hot.argmax(axis=1),
        class_names=tuple(str(label) for label in range(ally.shape[1])),
        name=name,
    )


def _edge_list(graph: Any) -> np.ndarray:
    """Edges `[2, E]` from a dictionary that maps each node to its neighbours."""
    if not isinstance(graph, Mapping):
        raise DataError(f"graph holds a {type(graph).__name__}, not a dictionary of neighbours")
    neighbours = list(graph.values())
    flat = [node for nodes in neighbours if isinstance(nodes, list) for node in nodes]
    if not all(isinstance(nodes, list) for nodes in neighbours) or not all(
        type(node) is int for node in [*graph, *flat]
    ):
        raise DataError("graph does not map numbers to lists of numbers")
    if any(abs(node) >= 2**62 for node in [*graph, *flat]):
        raise DataError("graph names a node whose number is too large")
    source = np.repeat(np.fromiter(graph, np.int64, len(graph)), [len(nodes) for nodes in neighbours])
    return np.stack([source, np.array(flat, dtype=np.int64)])


class _Recipe:
    """The arguments and the state from which a pickle would rebuild an object. They are recorded and not acted on."""

    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> _Recipe:
        recipe = object.__new__(cls)
        recipe.args, recipe.state = args, None
        return recipe

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_Recipe):
    pass


class _Dtype(_Recipe):
    pass


class _Csr(_Recipe):
    pass


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Recipe,
    ("numpy", "dtype"): _Dtype,
    ("scipy.sparse.csr", "csr_matrix"): _Csr,
    ("scipy.sparse._csr", "csr_matrix"): _Csr,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    """An unpickler that calls nothing that a pickle names. Arrays and matrices become recipes; the rest is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no dataset needs")
        return _ALLOWED[module, name]


def _load(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            return _Unpickler(file, encoding="latin1").load()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except Exception as error:  # a broken pickle can raise almost any exception
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"cannot read {path}, which is broken or unsafe: {reason}") from error


def _array(recipe: Any) -> np.ndarray:
    """Make an array from its recipe, whose state is (version, shape, dtype, whether in Fortran order, bytes)."""
    if not isinstance(recipe, _Array) or not isinstance(recipe.state, tuple) or len(recipe.state) != 5:
        raise DataError("an array was expected")
    _, shape, dtype, fortran, raw = recipe.state
    if not isinstance(dtype, _Dtype) or not dtype.args or dtype.args[0] not in ("f4", "f8", "i1", "u1", "i4", "i8"):
        raise DataError("an array of numbers was expected")
    order = dtype.state[1] if isinstance(dtype.state, tuple) and len(dtype.state) > 1 else "<"
    if order not in ("<", ">", "|"):
        raise DataError(f"the byte order {order!r} is unknown")
    kind = np.dtype(order + dtype.args[0])
    if not isinstance(shape, tuple) or not all(type(size) is int and 0 <= size < 2**31 for size in shape):
        raise DataError("an array has an impossible shape")
    content = raw.encode("latin1") if isinstance(raw, str) else raw
    size = kind.itemsize
    for length in shape:
        size *= length
    if not isinstance(content, bytes) or len(content) != size:
        raise DataError(f"an array of shape {shape} does not have the expected {size} bytes")
    return np.frombuffer(content, kind).reshape(shape, order="F" if fortran else "C").astype(kind.newbyteorder("="))


def _csr(recipe: Any) -> csr_matrix:
    """Make a CSR matrix from its recipe, whose state is a dictionary of its attributes."""
    if not isinstance(recipe, _Csr) or not isinstance(recipe.state, dict):
        raise DataError("a sparse matrix was expected")
    shape = recipe.state.get("_shape")
    if not isinstance(shape, tuple) or not all(type(size) is int and abs(size) < 2**62 for size in shape):
        raise DataError(f"a sparse matrix has the impossible shape {shape!r}")
    data, indices, indptr = (_array(recipe.state.get(key)) for key in ("data", "indices", "indptr"))
    return checked_csr(data, indices, indptr, np.array(shape), "matrix")
