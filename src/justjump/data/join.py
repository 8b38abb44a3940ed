"""Several graphs as one, with a label for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from .columns import Table
from .errors import DataError
from .graph import Graph, Masks
from .labels import Labels, find_labels


def join(
    graphs: Sequence[Graph],
    labels: np.ndarray | Labels,
    name: str = "graphs",
    masks: Masks | None = None,
    names: Sequence[str] | None = None,
) -> Graph:
    """One graph whose parts are the given ones, with `labels` `[G]` or `[G, K]` and `masks` of these.

    >>> small = [Graph(np.array([[0], [1]]), np.eye(2), np.array([-1, -1]), ()) for _ in range(3)]
    >>> join(small, np.array([0, 1, 0]))
    Graph('graphs': 3 graphs, 6 nodes, 3 edges, 2 features, 2 classes)
    """
    if not graphs:
        raise DataError("there are no graphs: give at least one")
    for number, graph in enumerate(graphs):
        if graph.num_features != graphs[0].num_features or graph.feature_names != graphs[0].feature_names:
            raise DataError(
                f"graph {number} has {graph.num_features} features per node, graph 0 has {graphs[0].num_features}: all "
                "graphs need the same"
            )
        if (graph.edge_weight is None) != (graphs[0].edge_weight is None):
            raise DataError(f"either all graphs have edge weights or none: graph {number} differs from graph 0")
    found = labels if isinstance(labels, Labels) else find_labels(labels)
    if len(found.values) != len(graphs):
        raise DataError(f"there are {len(graphs)} graphs, but {len(found.values)} labels: give each graph one")
    sizes = np.array([graph.num_nodes for graph in graphs])
    first = np.cumsum(sizes) - sizes
    features = [graph.features for graph in graphs]
    return Graph(
        edge_index=np.concatenate(
            [graph.edge_index + start for graph, start in zip(graphs, first, strict=True)], axis=1
        ),
        features=_joined(features),
        labels=found.values,
        class_names=found.names,
        name=name,
        edge_weight=None
        if graphs[0].edge_weight is None
        else np.concatenate([graph.edge_weight for graph in graphs if graph.edge_weight is not None]),
        masks=masks,
        feature_names=graphs[0].feature_names,
        task=found.task,
        batch=np.repeat(np.arange(len(graphs)), sizes),
        graph_names=None if names is None else tuple(names),
    )


def _joined(features: list[Any]) -> csr_matrix | np.ndarray | Table:
    tables = [one for one in features if isinstance(one, Table)]
    if tables:
        if len(tables) < len(features):
            raise DataError("some graphs have a table of columns and some an array of numbers: give all the same")
        return Table.concat(tables)
    dense = all(isinstance(one, np.ndarray) for one in features)
    return np.concatenate(features) if dense else vstack(features, format="csr")
