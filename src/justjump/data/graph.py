"""One graph in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from .columns import Table
from .errors import DataError
from .features import checked_features
from .labels import Labels, Task, change_task, check_labels, check_range, find_labels, integers, known

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from torch_geometric.data import Data

    from .arrays import Header
    from .parts import Parts
    from .preprocess import Scale

Masks = tuple[np.ndarray, np.ndarray, np.ndarray]
# The names of the masks in files and in PyTorch Geometric.
MASK_KEYS = ("train_mask", "val_mask", "test_mask")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Nodes, edges and features of one graph, as numpy and scipy arrays.

    Args:
        edge_index: int64 `[2, E]`; row 0 holds sources, row 1 targets. An undirected graph holds both directions.
        features: float32 `[N, F]`; a `csr_matrix` if the data is sparse, otherwise an array, in which NaN means that
            the value is missing; float64 where float32 is too coarse for a column. Or a `Table` of columns: numbers,
            categories, booleans and dates.
        labels: int64 `[N]`, the number of a class; -1 means unknown. For the tasks multilabel and regression: float32
            `[N, K]`; NaN means unknown.
        class_names: `[C]`; for the other tasks the names of the K labels or targets.
        name: the name of the graph in messages and tables.
        edge_weight: float32 `[E]`, not negative.
        node_names: `[N]`, the ids of the nodes in the file that they come from.
        masks: three bool arrays `[N]` that mark the training, validation and test nodes, if the data names them.
        feature_names: `[F]`, the columns of the file that the features come from; those of a `Table` are its own.
        task: what the labels are: "multiclass", "multilabel" or "regression".
        batch: int64 `[N]`, sorted: the number of the graph that each node belongs to, if whole graphs have labels
            rather than nodes. `labels` and `masks` then have a row per graph, and `graph_names` has their names.

        label_columns: the columns of the table that the labels come from, if they come from one.

    Integers and floats of other sizes are converted. Anything else that does not fit raises a `DataError`.

    >>> Graph(edge_index=np.array([[0, 1], [1, 0]]), features=np.eye(2), labels=np.array([0, -1]), class_names=("a",))
    Graph('graph': 2 nodes, 1 edges, 2 features, 1 classes)
    """

    edge_index: np.ndarray
    features: csr_matrix | np.ndarray | Table
    labels: np.ndarray
    class_names: tuple[str, ...]
    name: str = "graph"
    edge_weight: np.ndarray | None = None
    node_names: tuple[str, ...] | None = None
    masks: Masks | None = None
    feature_names: tuple[str, ...] | None = None
    task: Task = "multiclass"
    batch: np.ndarray | None = None
    graph_names: tuple[str, ...] | None = None
    label_columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        features = checked_features(self.features, self.feature_names)
        num_nodes = features.shape[0]
        edge_index = integers(self.edge_index, "edge_index")
        if edge_index.ndim != 2 or edge_index.shape[0] != 2:
            turned = ": transpose it" if edge_index.ndim == 2 and edge_index.shape[1] == 2 else ""
            raise DataError(f"edge_index must have shape [2, E], got {list(edge_index.shape)}{turned}")
        check_range(edge_index, 0, num_nodes, "edge_index", f"the graph has {num_nodes} nodes")

        if self.batch is not None:
            object.__setattr__(self, "batch", _checked_batch(self.batch, num_nodes, len(self.labels)))
        rows = num_nodes if self.batch is None else len(self.labels)
        labels = check_labels(Labels(self.labels, self.class_names, self.task), rows)

        object.__setattr__(self, "features", features)
        object.__setattr__(self, "edge_index", edge_index)
        object.__setattr__(self, "labels", labels.values)
        object.__setattr__(self, "class_names", labels.names)
        if self.edge_weight is not None:
            object.__setattr__(self, "edge_weight", _checked_weight(self.edge_weight, edge_index.shape[1]))
        if self.node_names is not None:
            object.__setattr__(self, "node_names", tuple(self.node_names))
            if len(self.node_names) != num_nodes:
                raise DataError(
                    f"node_names must have one entry for each of {num_nodes} nodes, got {len(self.node_names)}"
                )
        if isinstance(features, Table):
            object.__setattr__(self, "feature_names", features.names)
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(self.feature_names))
            if len(self.feature_names) != features.shape[1]:
                raise DataError(
                    f"feature_names must name each of {features.shape[1]} features, got {len(self.feature_names)} names"
                )
        if self.masks is not None:
            object.__setattr__(self, "masks", _checked_masks(self.masks, rows))

    @property
    def num_nodes(self) -> int:
        return int(self.features.shape[0])

    @property
    def num_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def num_graphs(self) -> int:
        """Number of graphs that have a label each, 1 if nodes have labels."""
        return 1 if self.batch is None else len(self.labels)

    @property
    def unit(self) -> str:
        """What has the labels: "node" or "graph"."""
        return "node" if self.batch is None else "graph"

    @cached_property
    def labelled(self) -> np.ndarray:
        """Which nodes (or graphs, if these have the labels) have a label: bool `[N]`."""
        return known(self.labels)

    def with_task(self, task: Task) -> Graph:
        """The graph with its labels read for another task: classes that are called 1, 2, 5 as these numbers, ..."""
        labels = change_task(Labels(self.labels, self.class_names, self.task), task)
        return (
            self
            if task == self.task
            else replace(self, labels=labels.values, class_names=labels.names, task=labels.task)
        )

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
        graphs = "" if self.batch is None else f"{self.num_graphs:,} graphs, "
        learned = {"multiclass": "classes", "multilabel": "labels", "regression": "targets"}[self.task]
        return (
            f"Graph({self.name!r}: {graphs}{self.num_nodes:,} nodes, {self.num_edges:,} edges, "
            f"{self.num_features:,} features, {self.num_classes} {learned})"
        )

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        """numpy would make an array of one object, and scikit-learn's tools would complain about that."""
        raise TypeError(
            f"{self.name} is a graph and no array of rows, which GridSearchCV and cross_val_score cut in parts: fit "
            "one model for each choice of parameters to the graph, and compare their run_.score('val')"
        )

    @classmethod
    def of(cls, graph: Any, whole: bool = False, task: Task | None = None) -> Graph:
        """A graph from what users have: a graph, a PyG `Data`, or a list of `Data` or a PyG dataset (whole graphs).

        With `whole`, one graph stands for a list of one, whose label is unknown if only its nodes have some. The labels
        are read for `task`; by default, it is found from them.
        """
        if isinstance(graph, Graph):
            graph = graph if task is None else graph.with_task(task)
            return graph._as_whole() if whole and graph.batch is None else graph
        from .pyg import several

        data = several(graph, whole)
        return cls.from_graphs(data, task=task) if isinstance(data, list) else cls.from_pyg(data, task=task)

    def _as_whole(self) -> Graph:
        """The graph as the only one of several, with an unknown label."""
        unknown: dict[str, Any] = {"labels": np.array([-1]), "class_names": (), "task": "multiclass", "masks": None}
        return replace(self, **unknown, batch=np.zeros(self.num_nodes, np.int64), graph_names=(self.name,))

    @classmethod
    def from_graphs(cls, graphs: Any, labels: Any = None, name: str = "graphs", *, task: Task | None = None) -> Graph:
        """Several graphs as one, with a label for each: PyG `Data` with `y` each, or graphs and their `labels`.

        >>> import torch
        >>> from torch_geometric.data import Data
        >>> edge = torch.tensor([[0, 1], [1, 0]])
        >>> Graph.from_graphs([Data(x=torch.eye(2), edge_index=edge, y=torch.tensor(number)) for number in (0, 1)])
        Graph('graphs': 2 graphs, 4 nodes, 2 edges, 2 features, 2 classes)
        """
        from .join import join
        from .pyg import labels_of_graphs, without_labels

        graphs = list(graphs)
        if labels is None:
            labels = labels_of_graphs(graphs)
        return join(
            [one if isinstance(one, Graph) else cls.from_pyg(without_labels(one)) for one in graphs],
            find_labels(labels, task),
            name,
        )

    @classmethod
    def from_pyg(cls, data: Data, name: str = "graph", *, task: Task | None = None) -> Graph:
        """Make a graph from a PyTorch Geometric `Data` object, which is not changed.

        Reads `x` (dense, with NaN for missing values, or sparse), `edge_index` or `adj_t`, `edge_weight` or else one
        number per edge in `edge_attr`, `y` (-1 for unknown labels), `train_mask`,
        `val_mask` and `test_mask`. Only `x` and the edges must be there.

        >>> import torch
        >>> from torch_geometric.data import Data
        >>> Graph.from_pyg(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 0]])), name="two of three")
        Graph('two of three': 3 nodes, 1 edges, 3 features, 0 classes)
        """
        from .pyg import from_pyg

        return cls(**from_pyg(data, task), name=name)

    @classmethod
    def from_pandas(
        cls,
        nodes: pd.DataFrame,
        edges: pd.DataFrame,
        *,
        id: str | None = None,
        label: str | Sequence[str] | None = None,
        split: str | None = None,
        source: str = "source",
        target: str = "target",
        weight: str | None = None,
        directed: bool = False,
        name: str = "graph",
    ) -> Graph:
        """Make a graph from a data frame with a row per node and one with a row per edge.

        Args:
            nodes: all columns that are not named below are features: numbers, categories, booleans and dates.
            edges: columns with the ids of their ends.
            id: the column with the ids; by default `id`, or else the index.
            label: the column with the labels, or several; by default `label`.
            split: the column with `train`, `val`, `test` or nothing; by default `split`, if there is one.
            source: the column with the id of the node that an edge comes from.
            target: the column with the id of the node that it leads to.
            weight: the column with the weights; by default `weight`, if there is one.
            directed: use each edge in one direction only.
            name: the name of the graph.

        >>> import pandas as pd
        >>> people = pd.DataFrame({"id": ["ann", "bob"], "age": [31, None], "city": ["Bonn", "Ulm"]})
        >>> Graph.from_pandas(people, pd.DataFrame({"source": ["ann"], "target": ["bob"]})).features
        Table(2 rows; age: number, city: category)
        """
        from .frames import edges_of_frame, nodes_of_frame

        found = nodes_of_frame(nodes, id, label, split, "nodes")
        edge_index, edge_weight = edges_of_frame(edges, found.number, (source, target), weight, directed, "edges")
        return cls(
            edge_index=edge_index,
            features=found.features,
            labels=found.labels.values,
            class_names=found.labels.names,
            name=name,
            edge_weight=edge_weight,
            node_names=tuple(found.number),
            masks=found.masks,
            feature_names=found.feature_names,
            task=found.labels.task,
            label_columns=found.label_columns or None,
        )

    def to_pyg(self) -> Data:
        """Make a PyTorch Geometric `Data` object with copies of the arrays.

        Sparse features become a sparse COO tensor, and categories of a `Table` one column per value.

        >>> from justjump import data
        >>> data.load("cora").to_pyg().num_nodes
        2708
        """
        from .pyg import to_pyg

        return to_pyg(self)

    def partition(
        self,
        parts: int,
        output: str | Path,
        method: Any = "metis",
        *,
        seed: int = 0,
        scale: Scale = "auto",
        progress: bool = False,
    ) -> Parts:
        """Write the graph in parts into a new folder, for training on several processes or machines.

        Args:
            parts: number of parts.
            output: the folder, which must not exist yet. A killed call leaves nothing there.
            method: `"metis"`: parts of equal work with few edges between them (needs `pymetis`). `"hash"`: parts by the
                number of a node. Or the part of each node, counted from 0: an array `[N]`, a `.npy` file with one, or a
                `.csv` file with the columns `id` and `part`.
            seed: of METIS.
            scale: how columns of numbers are treated, as in `Preprocessing`: the parts hold what networks take.
            progress: show a bar with the time left.

        `docs/large-graphs.md` describes the folder.
        """
        from .parts import partition_graph

        return partition_graph(self, parts, output, method, seed=seed, scale=scale, progress=progress)


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


def _checked_batch(batch: Any, num_nodes: int, num_graphs: int) -> np.ndarray:
    checked = integers(batch, "batch")
    if checked.shape != (num_nodes,) or (checked[1:] < checked[:-1]).any():
        raise DataError(f"batch must be {num_nodes} numbers of graphs in ascending order, got shape {checked.shape}")
    check_range(checked, 0, num_graphs, "batch", f"there are labels for {num_graphs} graphs")
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
