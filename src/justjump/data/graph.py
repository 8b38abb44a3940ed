"""One graph in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from .errors import DataError, short
from .sparse import canonical

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from .arrays import Header

Masks = tuple[np.ndarray, np.ndarray, np.ndarray]
# The names of the masks in files and in PyTorch Geometric.
MASK_KEYS = ("train_mask", "val_mask", "test_mask")
_HIGHEST = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Nodes, edges and features of one graph, as numpy and scipy arrays.

    Args:
        edge_index: int64 `[2, E]`; row 0 holds sources, row 1 targets. An undirected graph holds both directions.
        features: float32 `[N, F]`; a `csr_matrix` if the data is sparse, otherwise an array.
        labels: int64 `[N]`; -1 means unknown.
        class_names: `[C]`.
        name: the name of the graph in messages and tables.
        edge_weight: float32 `[E]`, not negative.
        node_names: `[N]`, the ids of the nodes in the file that they come from.
        masks: three bool arrays `[N]` that mark the training, validation and test nodes, if the data names them.
        feature_names: `[F]`, the columns of the file that the features come from.

    Integers and floats of other sizes are converted. Anything else that does not fit raises a `DataError`.

    >>> Graph(edge_index=np.array([[0, 1], [1, 0]]), features=np.eye(2), labels=np.array([0, -1]), class_names=("a",))
    Graph('graph': 2 nodes, 1 edges, 2 features, 1 classes)
    """

    edge_index: np.ndarray
    features: csr_matrix | np.ndarray
    labels: np.ndarray
    class_names: tuple[str, ...]
    name: str = "graph"
    edge_weight: np.ndarray | None = None
    node_names: tuple[str, ...] | None = None
    masks: Masks | None = None
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        features = _checked_features(self.features)
        num_nodes = features.shape[0]
        edge_index = _integers(self.edge_index, "edge_index")
        if edge_index.ndim != 2 or edge_index.shape[0] != 2:
            raise DataError(f"edge_index must have shape [2, E], got {list(edge_index.shape)}")
        _check_range(edge_index, 0, num_nodes, "edge_index", f"the graph has {num_nodes} nodes")

        labels = _integers(self.labels, "labels")
        class_names = tuple(str(name) for name in self.class_names)
        if labels.shape != (num_nodes,):
            raise DataError(f"labels must have shape [{num_nodes}], one per node, got {list(labels.shape)}")
        if len(set(class_names)) != len(class_names):
            twice, count = Counter(class_names).most_common(1)[0]
            raise DataError(f"all class_names must differ, but {short(twice)!r} is there {count} times")
        _check_range(labels, -1, len(class_names), "labels", f"{len(class_names)} classes, -1 for unknown")

        object.__setattr__(self, "features", features)
        object.__setattr__(self, "edge_index", edge_index)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "class_names", class_names)
        if self.edge_weight is not None:
            object.__setattr__(self, "edge_weight", _checked_weight(self.edge_weight, edge_index.shape[1]))
        if self.node_names is not None:
            object.__setattr__(self, "node_names", tuple(self.node_names))
            if len(self.node_names) != num_nodes:
                raise DataError(
                    f"node_names must have one entry for each of {num_nodes} nodes, got {len(self.node_names)}"
                )
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(self.feature_names))
            if len(self.feature_names) != features.shape[1]:
                raise DataError(
                    f"feature_names must name each of {features.shape[1]} features, got {len(self.feature_names)} names"
                )
        if self.masks is not None:
            object.__setattr__(self, "masks", _checked_masks(self.masks, num_nodes))

    @property
    def num_nodes(self) -> int:
        return int(self.features.shape[0])

    @property
    def num_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @cached_property
    def is_undirected(self) -> bool:
        """Whether the graph holds the reverse of every edge."""
        source, target = self.edge_index
        return np.array_equal(np.sort(source * self.num_nodes + target), np.sort(target * self.num_nodes + source))

    @cached_property
    def num_edges(self) -> int:
        """Number of edges.

        In an undirected graph this is the number of joined pairs of nodes (Cora: 5,278). Otherwise it is the number of
        columns of `edge_index`.
        """
        if not self.is_undirected:
            return int(self.edge_index.shape[1])
        return len(np.unique(self.edge_index.min(axis=0) * self.num_nodes + self.edge_index.max(axis=0)))

    def __repr__(self) -> str:
        return (
            f"Graph({self.name!r}: {self.num_nodes:,} nodes, {self.num_edges:,} edges, "
            f"{self.num_features:,} features, {self.num_classes} classes)"
        )

    @classmethod
    def from_pyg(cls, data: Data, name: str = "graph") -> Graph:
        """Make a graph from a PyTorch Geometric `Data` object, which is not changed.

        Reads `x` (dense or sparse), `edge_index` or `adj_t`, `edge_weight`, `y` (-1 for unknown labels), `train_mask`,
        `val_mask` and `test_mask`. Only `x` and the edges must be there.

        >>> import torch
        >>> from torch_geometric.data import Data
        >>> Graph.from_pyg(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 0]])), name="two of three")
        Graph('two of three': 3 nodes, 1 edges, 3 features, 0 classes)
        """
        from .pyg import from_pyg

        return cls(**from_pyg(data), name=name)

    def to_pyg(self) -> Data:
        """Make a PyTorch Geometric `Data` object with copies of the arrays.

        Sparse features become a sparse COO tensor.

        >>> from justjump import data
        >>> data.load("cora").to_pyg().num_nodes
        2708
        """
        from .pyg import to_pyg

        return to_pyg(self)


def _integers(values: Any, what: str) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise DataError(f"{what} must hold integers, got {array.dtype}: convert with .astype('int64')")
    if array.dtype == np.uint64 and array.size and array.max() > _HIGHEST:
        raise DataError(f"{what} must hold numbers below 2^63, got {array.max()}")
    return array.astype(np.int64)


def _check_range(values: np.ndarray, low: int, high: int, what: str, why: str) -> None:
    if values.size and not low <= values.min() <= values.max() < high:
        bad = values[(values < low) | (values >= high)][0]
        raise DataError(f"{what} must lie in {low}..{high - 1} ({why}), got {bad}")


def _checked_features(features: Any) -> csr_matrix | np.ndarray:
    sparse = issparse(features)
    if not sparse:
        features = np.asarray(features)
    if features.ndim != 2 or 0 in features.shape:
        raise DataError(
            f"features must have shape [nodes, features] with at least one of each, got {list(features.shape)}: "
            "if the graph has no features, use the identity matrix"
        )
    if features.dtype.kind not in "iufb":
        raise DataError(f"features must be real numbers, got {features.dtype}")
    checked: csr_matrix | np.ndarray
    if sparse:
        try:
            if hasattr(features, "check_format"):  # scipy does not check the compressed formats when it makes them
                features.check_format(full_check=True)
        except ValueError as error:
            raise DataError(f"features are not a valid sparse matrix: {error}") from error
        checked = canonical(features.tocsr())
        bad = np.flatnonzero(~np.isfinite(checked.data))
        nodes = np.searchsorted(checked.indptr, bad, side="right") - 1
    else:
        with np.errstate(over="ignore"):  # values that overflow become inf, which is reported below
            checked = np.ascontiguousarray(features, dtype=np.float32)
        nodes = np.flatnonzero(~np.isfinite(checked).all(axis=1))
    if len(nodes):
        raise DataError(
            f"features must be finite float32 numbers, but node {nodes[0]} has NaN or infinity: replace these values"
        )
    return checked


def _checked_weight(weight: Any, num_edges: int) -> np.ndarray:
    weight = np.asarray(weight)
    checked: np.ndarray
    if weight.shape != (num_edges,) or weight.dtype.kind not in "iufb":
        raise DataError(f"edge_weight must be {num_edges} numbers, got {weight.dtype} of shape {list(weight.shape)}")
    with np.errstate(over="ignore"):
        checked = weight.astype(np.float32)
    good = np.isfinite(checked) & (checked >= 0)
    if not good.all():
        edge = np.flatnonzero(~good)[0]
        raise DataError(f"edge_weight must be finite and not negative, but edge {edge} has {weight[edge]:g}")
    return checked


def _checked_masks(masks: Sequence[np.ndarray], num_nodes: int) -> Masks:
    if len(masks) != 3:
        raise DataError(f"masks must be three arrays (train, val, test), got {len(masks)}")
    train, val, test = (np.asarray(mask) for mask in masks)
    for role, mask in (("train", train), ("val", val), ("test", test)):
        check_mask(mask, role, num_nodes)
    return train, val, test


def check_mask(mask: np.ndarray | Header, role: str, num_nodes: int) -> None:
    if mask.shape != (num_nodes,) or mask.dtype != bool:
        raise DataError(
            f"the {role} mask must be bool of shape [{num_nodes}], got {mask.dtype} of shape {list(mask.shape)}"
            + (": choose one column" if mask.ndim == 2 else "")
        )
