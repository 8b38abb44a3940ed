"""The manifest: what the folder of a graph in parts holds, as JSON."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from justjump.files import read_file, replace_text

from ..errors import DataError, short
from ..labels import TASKS, Task
from ..preprocess import Preprocessing
from .layout import MANIFEST, Shape, Sizes, arrays_of

FORMAT = "justjump graph in parts"
VERSION = 1
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class PartEntry:
    """One part in the manifest: its sizes, and the SHA-256 of each of its arrays."""

    sizes: Sizes
    sha256: Mapping[str, str]


@dataclass(frozen=True)
class Manifest:
    """Everything about a graph in parts but its arrays.

    Args:
        name: of the graph.
        task: what the labels are.
        class_names: of the classes, labels or targets.
        label_columns: the columns of the table that the labels come from, if they come from one.
        method: how the nodes were dealt to parts: `"metis"`, `"hash"` or `"given"`.
        seed: of the method.
        preprocessing: what made the features in the parts of those of the graph.
        sparse: whether the features are sparse.
        weighted: whether edges have weights.
        masks: whether the data names training, validation and test nodes.
        names: whether the nodes have names.
        given_loops: number of nodes whose self-loop was in the data; the others were added.
        parts: one entry per part.
    """

    name: str
    task: Task
    class_names: tuple[str, ...]
    label_columns: tuple[str, ...] | None
    method: str
    seed: int
    preprocessing: Preprocessing
    sparse: bool
    weighted: bool
    masks: bool
    names: bool
    given_loops: int
    parts: tuple[PartEntry, ...]

    @property
    def num_parts(self) -> int:
        return len(self.parts)

    @property
    def num_nodes(self) -> int:
        return int(self.ranges[-1])

    @property
    def num_edges(self) -> int:
        """Number of edges with one self-loop per node, each direction for itself."""
        return int(self.first_edges[-1])

    @property
    def num_features(self) -> int:
        return self.preprocessing.num_outputs

    @property
    def num_cut(self) -> int:
        """Number of edges between parts."""
        return sum(part.sizes.cut for part in self.parts)

    @property
    def num_halo(self) -> int:
        """Boundary rows: the sizes of all halos, which is what one exchange moves."""
        return sum(part.sizes.halo for part in self.parts)

    @cached_property
    def ranges(self) -> np.ndarray:
        """int64 `[P + 1]`: part p owns the nodes `ranges[p] .. ranges[p + 1]`."""
        return _ends([part.sizes.nodes for part in self.parts])

    @cached_property
    def first_edges(self) -> np.ndarray:
        """int64 `[P + 1]`: where the edges of each part begin among those of the graph with self-loops."""
        return _ends([part.sizes.edges for part in self.parts])

    @cached_property
    def first_entries(self) -> np.ndarray:
        """int64 `[P + 1]`: where the non-zeros of each part begin among those of the sparse features."""
        return _ends([part.sizes.entries for part in self.parts])

    @cached_property
    def shape(self) -> Shape:
        outputs = len(self.class_names)
        flags = (self.sparse, self.weighted, self.masks, self.names)
        return Shape(self.num_parts, self.num_features, outputs, self.task, *flags)

    def to_json(self) -> dict[str, Any]:
        """Everything about it, as JSON takes it."""
        values: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        values |= {one.name: getattr(self, one.name) for one in fields(self)}
        values["class_names"] = list(self.class_names)
        values["label_columns"] = None if self.label_columns is None else list(self.label_columns)
        values["preprocessing"] = self.preprocessing.to_json()
        values |= {"num_nodes": self.num_nodes, "num_edges": self.num_edges, "ranges": self.ranges.tolist()}
        values["parts"] = [asdict(part.sizes) | {"sha256": dict(part.sha256)} for part in self.parts]
        return values

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the manifest, and so of everything that the folder holds: equal digests mean equal graphs."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        text = json.dumps(self.to_json() | {"digest": self.digest}, indent=1)
        replace_text(folder / MANIFEST, text + "\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of a folder. Anything but what `write` wrote raises a `DataError`."""
        path = folder / MANIFEST
        try:
            values = json.loads(read_file(path).decode("utf-8"))
        except FileNotFoundError:
            raise DataError(
                f"{folder} has no {MANIFEST}, so it is no graph in parts: write one with justjump partition"
            ) from None
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} is not valid JSON ({short(error)}): copy it again") from None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise DataError(f"{path} is no manifest of a graph in parts: write one with justjump partition")
        if values.get("version") != VERSION:
            raise DataError(
                f"{path} has version {short(values.get('version'))}, expected {VERSION}: partition the graph again, or "
                "use the version of justjump that wrote it"
            )
        try:
            manifest = _manifest(values)
        except (KeyError, TypeError, ValueError) as error:
            what = f"there is no {error}" if isinstance(error, KeyError) else short(error, 200)
            raise DataError(f"{path} is damaged ({what}): copy it again, or partition the graph again") from None
        if manifest.to_json() | {"digest": manifest.digest} != values:
            raise DataError(f"{path} was altered: its digest is not that of its content: copy it again")
        return manifest


def _ends(sizes: list[int]) -> np.ndarray:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _manifest(values: dict[str, Any]) -> Manifest:
    """From JSON that may hold anything; its errors are of many kinds."""
    flags = {name: values[name] for name in ("sparse", "weighted", "masks", "names")}
    if not all(isinstance(flag, bool) for flag in flags.values()):
        raise ValueError(f"expected true or false, got {flags}")
    names, columns = _texts(values, "class_names"), None
    if values["label_columns"] is not None:
        columns = _texts(values, "label_columns")
    if values["task"] not in TASKS or not all(isinstance(values[key], str) for key in ("name", "method")):
        raise ValueError("name, task and method must be texts")
    if not isinstance(values["parts"], list) or not values["parts"]:
        raise ValueError("there are no parts")
    parts = tuple(_part(part) for part in values["parts"])
    for one in fields(Sizes):
        _size(sum(getattr(part.sizes, one.name) for part in parts))
    json.dumps(values, ensure_ascii=False).encode()  # a ValueError if there is text that is not Unicode
    return Manifest(
        name=values["name"],
        task=values["task"],
        class_names=names,
        label_columns=columns,
        method=values["method"],
        seed=_size(values["seed"]),
        preprocessing=Preprocessing.from_json(values["preprocessing"]),
        given_loops=_size(values["given_loops"]),
        parts=parts,
        **flags,
    )


def _texts(values: dict[str, Any], key: str) -> tuple[str, ...]:
    texts = values[key]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{key} must be texts")
    return tuple(texts)


def _part(values: Any) -> PartEntry:
    if not isinstance(values, dict):
        raise ValueError(f"a part must be an object, got {short(values)}")
    sizes = Sizes(**{one.name: _size(values[one.name]) for one in fields(Sizes)})
    digests = values["sha256"]
    if not isinstance(digests, dict) or not all(map(_is_digest, digests.values())):
        raise ValueError(f"sha256 must be a digest for each array, got {short(digests)}")
    return PartEntry(sizes, digests)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _size(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
        raise ValueError(f"expected a size, got {short(value)}")
    return value


def check_arrays(manifest: Manifest) -> None:
    """Raise a `DataError` unless the manifest names exactly the arrays that its parts must have."""
    for number, part in enumerate(manifest.parts):
        expected = arrays_of(manifest.shape, part.sizes).keys()
        if part.sha256.keys() != expected:
            odd = min(part.sha256.keys() ^ expected)
            raise DataError(f"the manifest must name the arrays of part {number}, but {short(odd)!r} is wrong")
