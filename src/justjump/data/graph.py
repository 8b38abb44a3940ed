"""One graph in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from .columns import Table
from .graph_checks import checked_fields
from .labels import Labels, Task, change_task, known
from .masks import Masks

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data

    from .parts import Parts
    from .preprocess import Scale


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
        masks_from: what messages call the column that the masks come from, if they come from one.
        directed: whether it was read from a file as a directed graph.

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
    masks_from: str | None = None
    directed: bool = False

    def __post_init__(self) -> None:
        for name, value in checked_fields(self).items():
            object.__setattr__(self, name, value)

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
        if task == self.task:
            return self
        labels = change_task(Labels(self.labels, self.class_names, self.task), task)
        return replace(self, labels=labels.values, class_names=labels.names, task=labels.task)

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
        from .join import from_graphs

        return from_graphs(graphs, labels, name, task)

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
        return cls(edge_index=edge_index, edge_weight=edge_weight, name=name, **found.fields())

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

        return partition_graph(self, parts, Path(output), method, seed, scale, progress)
