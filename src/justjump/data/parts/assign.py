"""Which part each node goes to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..csv_file import CsvFile
from ..errors import DataError, refuse_pipe, short
from ..graph import Graph
from .metis import metis_parts

# More parts would be too many files: each is a folder with some twenty. Numbers of parts fit into 16 bits.
MOST_PARTS = 4096


def check_parts(parts: Any) -> int:
    """The number of parts, as an int; ValueError or TypeError if it is none."""
    if isinstance(parts, bool) or not isinstance(parts, int | np.integer):
        raise TypeError(f"parts={parts!r} is of type {type(parts).__name__}, expected an int")
    if not 1 <= parts <= MOST_PARTS:
        raise ValueError(f"parts={parts} must be a number from 1 to {MOST_PARTS}")
    return int(parts)


def assign(graph: Graph, parts: int, method: Any, seed: int) -> tuple[np.ndarray, str]:
    """The part of each node, int16 `[N]`, and what the manifest calls the method.

    Args:
        graph: to be partitioned
        parts: P
        method: `"metis"`, `"hash"`, a `.npy` or `.csv` file, or an array `[N]`
        seed: of METIS
    """
    if isinstance(method, str) and method == "metis":
        return metis_parts(graph.edge_index, graph.num_nodes, parts, seed), "metis"
    if isinstance(method, str) and method == "hash":
        return hash_parts(graph.num_nodes, parts), "hash"
    return given_parts(method, graph.num_nodes, parts, graph.node_names), "given"


def hash_parts(num_nodes: int, parts: int) -> np.ndarray:
    """Parts of about equal numbers of nodes, as a function of the original number of a node alone: int16 `[N]`.

    >>> hash_parts(10, 3).tolist()
    [1, 2, 1, 0, 1, 2, 2, 0, 1, 1]
    """
    found = np.empty(num_nodes, np.int16)
    for start in range(0, num_nodes, 2**20):  # in blocks: the words take 8 bytes per node
        numbers = np.arange(start, min(start + 2**20, num_nodes), dtype=np.uint64)
        found[start : start + 2**20] = mixed(numbers) % np.uint64(parts)
    return found


def mixed(words: np.ndarray) -> np.ndarray:
    """A bijection of 64-bit words whose values look random (splitmix64). uint64 -> uint64"""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def given_parts(method: Any, num_nodes: int, parts: int, names: Sequence[str] | None) -> np.ndarray:
    """A user's own parts, from an array `[N]` or a file."""
    what = "the vector of parts"
    if isinstance(method, str | Path):
        path = Path(method)
        if path.suffix not in (".npy", ".csv"):
            raise DataError(f"method={str(method)!r} is unknown: choose metis, hash, or a .npy or .csv file with parts")
        what = str(path)
        method = _read_npy(path) if path.suffix == ".npy" else _read_csv(path, num_nodes, names)
    found = np.asarray(method)
    if found.shape != (num_nodes,) or found.dtype.kind not in "iu":
        raise DataError(
            f"{what} must be {num_nodes} whole numbers, one per node, got {found.dtype} of shape {list(found.shape)}"
        )
    if found.size and not 0 <= found.min() <= found.max() < parts:
        node = int(np.flatnonzero((found < 0) | (found >= parts))[0])
        raise DataError(f"{what} must hold numbers from 0 to {parts - 1}, but node {node} has {found[node]}")
    return found.astype(np.int16)


def _read_npy(path: Path) -> np.ndarray:
    refuse_pipe(path)
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or 'it is no .npy file'}") from error
    except (ValueError, EOFError) as error:
        raise DataError(f"cannot read {path}: it is no .npy file of whole numbers ({short(error)})") from error


def _read_csv(path: Path, num_nodes: int, names: Sequence[str] | None) -> np.ndarray:
    """From the columns `id` and `part`; nodes without names are called by their numbers."""
    file = CsvFile(path, ("id", "part"))
    number = {name: at for at, name in enumerate(map(str, range(num_nodes)) if names is None else names)}
    place, value = file.columns.index("id"), file.columns.index("part")
    found = np.full(num_nodes, -1, np.int64)
    for line, row in file:
        node = number.get(row[place].strip())
        if node is None:
            raise file.error(line, f"the id {short(row[place])!r} is not that of a node: correct it, or leave it out")
        text = row[value].strip()
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise file.error(line, f"the part {short(text)!r} must be a number, counted from 0")
        if found[node] >= 0:
            raise file.error(line, f"the node {short(row[place])!r} has a part already: give each node one line")
        found[node] = int(text)
    missing = np.flatnonzero(found < 0)
    if len(missing):
        node = int(missing[0])
        raise DataError(f"{path} has no part for the node {short(node if names is None else names[node])!r}: add it")
    return found
