"""Graphs whose labels are linear in the features of a node and have nothing to do with its edges, for wins_study.py."""

from collections.abc import Callable

import numpy as np

from justjump.data import Graph

Columns = tuple[np.ndarray, np.ndarray]  # features [N, F] and classes [N]


def linear_classes(rng: np.random.Generator) -> Columns:
    """Four classes without clusters: their borders pass through the crowd."""
    x = rng.normal(size=(2000, 16))
    return x, (x @ rng.normal(size=(16, 4)) + 0.3 * rng.gumbel(size=(2000, 4))).argmax(1)


def few_columns_decide(rng: np.random.Generator) -> Columns:
    """Three of 200 columns say all."""
    x = rng.normal(size=(2000, 200))
    return x, x[:, :3].argmax(1)


def more_columns_than_nodes(rng: np.random.Generator) -> Columns:
    """600 nodes with 1,500 columns, in three clusters."""
    labels = rng.integers(0, 3, 600)
    means = rng.normal(size=(3, 1500)) * 7 / 3000**0.5
    return means[labels] + rng.normal(size=(600, 1500)), labels


def heavy_tails(rng: np.random.Generator) -> Columns:
    """Columns of incomes and counts: a few values are far larger than all others."""
    x = rng.lognormal(sigma=1.5, size=(2000, 12))
    return x, (np.log(x) @ rng.normal(size=(12, 3)) + 0.3 * rng.gumbel(size=(2000, 3))).argmax(1)


def one_in_ten(rng: np.random.Generator) -> Columns:
    """Two classes: a tenth of the nodes, those in which a weighted sum of the columns is largest, and the others."""
    x = rng.normal(size=(2000, 16))
    value = x @ rng.normal(size=16)
    return x, (value > np.quantile(value, 0.9)).astype(np.int64)


KINDS: dict[str, Callable[[np.random.Generator], Columns]] = {
    "linear classes": linear_classes,
    "few columns decide": few_columns_decide,
    "more columns than nodes": more_columns_than_nodes,
    "heavy tails": heavy_tails,
    "one in ten": one_in_ten,
}


def linear_graph(name: str) -> Graph:
    """A graph of this kind, with four random edges per node."""
    rng = np.random.default_rng(0)
    features, labels = KINDS[name](rng)
    pairs = rng.integers(0, len(labels), (2, 4 * len(labels)))
    pairs = pairs[:, pairs[0] != pairs[1]]
    return Graph(
        edge_index=np.unique(np.concatenate([pairs, pairs[::-1]], axis=1), axis=1),
        features=features.astype(np.float32),
        labels=labels,
        class_names=tuple("abcd"[: labels.max() + 1]),
        name=name,
    )
