"""Graphs with labels of every kind, made from a seed: friends of a kind, and features that say something of it."""

import numpy as np

from justjump.data import Graph
from justjump.data.labels import find_labels


def kinds_and_friends(nodes: int, kinds: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The kind of each node ``[N]``, and ``edge_index`` in both directions, four of five edges within a kind."""
    random = np.random.RandomState(seed)
    kind = random.randint(0, kinds, nodes)
    ends = random.randint(0, nodes, (2, 20 * nodes))
    keep = (kind[ends[0]] == kind[ends[1]]) | (random.rand(20 * nodes) < 0.1)
    ends = ends[:, keep & (ends[0] != ends[1])][:, : 4 * nodes]
    return kind, np.unique(np.concatenate([ends, ends[::-1]], axis=1), axis=1)


def made_graph(task: str, nodes: int = 300, seed: int = 0, unknown: float = 0.1) -> Graph:
    """A graph for one of the tasks; a share of the labels is unknown."""
    random = np.random.RandomState(seed + 1)
    kind, edges = kinds_and_friends(nodes, seed=seed)
    features = random.randn(nodes, 6).astype(np.float32)
    features[:, :3] += 2 * np.eye(3, dtype=np.float32)[kind]
    hidden = random.rand(nodes) < unknown
    if task == "multiclass":
        labels = np.where(hidden, -1, kind)
    elif task == "multilabel":
        labels = np.stack([kind == 0, kind != 1, features[:, 4] > 0], axis=1).astype(np.float32)
        labels[hidden, 0] = np.nan
        labels[hidden[::-1]] = np.nan
    else:
        labels = (1000 * kind + 300 * features[:, 3]).astype(np.float32)
        labels[hidden] = np.nan
    found = find_labels(labels)
    return Graph(edges, features, found.values, found.names, name=task, task=found.task)


def made_graphs(count: int = 60, seed: int = 0) -> Graph:
    """Rings and stars with noise as features: which one it is can be seen from the degrees alone."""
    random = np.random.RandomState(seed)
    graphs = []
    for number in range(count):
        size = random.randint(6, 12)
        nodes = np.arange(1, size)
        ends = np.stack(
            [np.zeros(size - 1, int), nodes] if number % 2 else [np.arange(size), (np.arange(size) + 1) % size]
        )
        edges = np.concatenate([ends, ends[::-1]], axis=1)
        degree = np.bincount(edges[0], minlength=size)
        features = np.stack([degree == 1, degree == 2, degree > 2], axis=1).astype(np.float32)
        graphs.append(Graph(edges, features, np.full(size, -1), ()))
    return Graph.from_graphs(graphs, np.arange(count) % 2)
