"""Several graphs as one, with a label for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from .columns import Column, Table
from .errors import DataError, short
from .features import in_order
from .graph import Graph
from .labels import Labels, Task, find_labels
from .masks import Masks


def from_graphs(graphs: Iterable[Any], labels: Any, name: str, task: Task | None) -> Graph:
    """What `Graph.from_graphs` does."""
    from .pyg import labels_of_graphs, without_labels  # imports torch

    graphs = list(graphs)
    if labels is None:
        labels = labels_of_graphs(graphs)
    parts = []
    for number, one in enumerate(graphs):
        try:
            parts.append(one if isinstance(one, Graph) else Graph.from_pyg(without_labels(one)))
        except DataError as error:
            raise DataError(f"graph {number} of the list: {error}") from error
    return join(parts, find_labels(labels, task), name)


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
    graphs = [_like_first(graph, graphs[0], number, names) for number, graph in enumerate(graphs)]
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
        features=_joined(features, graphs[0].feature_names),
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


def _like_first(graph: Graph, first: Graph, number: int, names: Sequence[str] | None) -> Graph:
    """The graph with its features in the order of the first; DataError if it has others, or weights where it has none.

    `names` are those of all graphs; without them, messages have their numbers.
    """
    this, that = (number, 0) if names is None else (short(names[number]), short(names[0]))
    if (graph.edge_weight is None) != (first.edge_weight is None):
        raise DataError(f"either all graphs have edge weights or none: graph {this} differs from graph {that}")
    own, wanted = graph.feature_names, first.feature_names
    if own == wanted and graph.num_features == first.num_features:
        return graph
    if own is None or wanted is None or graph.num_features != first.num_features:
        raise DataError(
            f"graph {this} has {graph.num_features} features per node, graph {that} has {first.num_features}: all "
            "graphs need the same"
        )
    other = next((name for name in own if name not in wanted), None)
    if other is not None:
        raise DataError(f"graph {this} has the feature {short(other)!r}, which graph {that} lacks: all need the same")
    return replace(graph, features=in_order(graph.features, own, wanted), feature_names=wanted)


def _joined(features: list[Any], names: Sequence[str] | None) -> csr_matrix | np.ndarray | Table:
    tables = [one for one in features if isinstance(one, Table)]
    if tables:
        if names is None:
            raise DataError("some graphs have a table of columns and some an array of numbers: give all the same")
        return Table.concat([one if isinstance(one, Table) else _table(one, names) for one in features])
    dense = all(isinstance(one, np.ndarray) for one in features)
    return np.concatenate(features) if dense else vstack(features, format="csr")


def _table(numbers: csr_matrix | np.ndarray, names: Sequence[str]) -> Table:
    """Columns of numbers alone, beside which another graph has a gap or a text."""
    array = numbers if isinstance(numbers, np.ndarray) else numbers.toarray()
    return Table(tuple(Column(name, "number", array[:, at]) for at, name in enumerate(names)))
