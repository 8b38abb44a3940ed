"""Splits of the nodes into three parts: training, validation and test nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from .errors import DataError, short
from .graph import Graph

ROLES = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Indices of the training, validation and test nodes: int64, sorted, each node at most once."""

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray

    def __post_init__(self) -> None:
        for role in ROLES:
            nodes = np.asarray(getattr(self, role))
            if nodes.ndim != 1 or (len(nodes) and nodes.dtype.kind not in "iu"):
                raise DataError(f"{role} must be a list of node numbers, got {nodes.dtype} of shape {nodes.shape}")
            object.__setattr__(self, role, np.sort(nodes.astype(np.int64)))
        nodes, counts = np.unique(np.concatenate([self.train, self.val, self.test]), return_counts=True)
        if (counts > 1).any():
            raise DataError(f"node {nodes[counts > 1][0]} stands in the split twice: name each node once")
        for role in ROLES[:2]:
            if not len(getattr(self, role)):
                raise DataError(f"the split has no {role} nodes: training needs some")

    def check(self, graph: Graph) -> None:
        """Raise a `DataError` unless every node (or graph, if these have the labels) exists and has a label."""
        nodes, labelled, unit = np.concatenate([self.train, self.val, self.test]), graph.labelled, graph.unit
        if nodes.min() < 0 or nodes.max() >= len(labelled):
            raise DataError(
                f"the split holds {unit} {nodes.max()}, but there are {len(labelled)} {unit}s, counted from 0"
            )
        if not labelled[nodes].all():
            raise DataError(f"{unit} {nodes[~labelled[nodes]][0]} is in the split but has no label")


def random_split(
    labels: np.ndarray,
    seed: int,
    fractions: tuple[float, float, float] = (0.2, 0.2, 0.6),
    stratified: bool = True,
    unit: str = "node",
) -> Split:
    """Split the labelled nodes at random into training, validation and test nodes.

    Every node with a label (`labels[i] >= 0`, shape `[N]`) is in exactly one of the three sets. With n labelled nodes,
    training and validation have `fraction * n` nodes, rounded to the nearest, and test the rest. `stratified` keeps
    these sizes and gives every class its share of each set, to within two nodes. `unit` is what messages call a node.

    The same seed gives the same split everywhere, because `np.random.RandomState` never changes its stream of numbers.

    >>> split = random_split(np.array([0, 0, 1, 1, 1, -1]), seed=0)
    >>> len(split.train), len(split.val), len(split.test)
    (1, 1, 3)
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DataError(f"labels must be a list of integers, got {labels.dtype} of shape {list(labels.shape)}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
        raise DataError(f"seed must be an integer in 0..2^32-1, got {seed!r}")
    known = np.flatnonzero(labels >= 0)
    num_train, num_val = _sizes(len(known), fractions, unit)

    order = np.random.RandomState(seed).permutation(len(known))
    if not stratified:
        shuffled = known[order]
        sets = np.split(shuffled, [num_train, num_train + num_val])
    else:
        by_class = order[np.argsort(labels[known][order], kind="stable")]  # class by class, each of them shuffled
        sizes = np.unique(labels[known], return_counts=True)[1]
        train = _spread(sizes, num_train)
        val = _spread(sizes - train, num_val)
        # The position of each node within its class decides which part it is in: 0, 1 or 2.
        rank = np.arange(len(known)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        role = (rank >= np.repeat(train, sizes)).astype(int) + (rank >= np.repeat(train + val, sizes))
        sets = [known[by_class[role == index]] for index in range(3)]
    return Split(*(np.sort(nodes).astype(np.int64) for nodes in sets))


def strata(graph: Graph) -> np.ndarray:
    """What a random split keeps the shares of, int64 `[N]`: the class, or one for all nodes with a label; -1 = none."""
    return graph.labels if graph.task == "multiclass" else np.where(graph.labelled, 0, -1)


def split_from_masks(graph: Graph | Sequence[np.ndarray]) -> Split:
    """Make a split from the masks of a graph, or from three bool arrays `[N]` (train, val, test).

    >>> none, first, second = np.array([[False, False], [True, False], [False, True]])
    >>> split_from_masks((first, second, none)).val.tolist()
    [1]
    """
    masks, unit = (graph.masks, graph.unit) if isinstance(graph, Graph) else (graph, "node")
    if masks is None:
        raise DataError(f"the graph has no masks: name its train, val and test {unit}s, or use a random split")
    masks = [np.asarray(mask) for mask in masks]
    if len(masks) != 3 or any(mask.dtype != bool or mask.ndim != 1 or mask.shape != masks[0].shape for mask in masks):
        raise DataError(
            f"masks must be three bool arrays of one length, got {[(str(m.dtype), m.shape) for m in masks]}"
        )
    twice = np.flatnonzero(np.sum(masks, axis=0) > 1)
    if len(twice):
        roles = [role for role, mask in zip(ROLES, masks, strict=True) if mask[twice[0]]]
        raise DataError(f"masks must be disjoint, {unit} {twice[0]} is in {' and '.join(roles)}: keep one")
    column = graph.masks_from if isinstance(graph, Graph) else None
    for role, mask in zip(ROLES[:2], masks[:2], strict=True):
        if not mask.any():
            problem = f"the {role} mask is empty: training needs {unit}s in it, or use a random split"
            if column is not None:
                problem = f"{column} names no {role} {unit}s: name some, or remove it for a random split"
            raise DataError(problem)
    if isinstance(graph, Graph):
        unknown = np.flatnonzero(np.any(masks, axis=0) & ~graph.labelled)
        if len(unknown):
            names = graph.node_names if graph.batch is None else graph.graph_names
            node = unknown[0] if names is None else names[unknown[0]]
            problem = f"{unit} {node} is in a mask but has no label: label it, or take it out of the masks"
            if column is not None:
                problem = f"{unit} {node} has a role in {column} but no label: label it, or leave its role empty"
            raise DataError(problem)
    return Split(*(np.flatnonzero(mask).astype(np.int64) for mask in masks))


def check_fractions(fractions: Any) -> None:
    """Raise a `DataError` unless they are the shares of three sets."""
    is_list = isinstance(fractions, Sequence | np.ndarray) and len(fractions) == 3
    is_right = is_list and all(isinstance(one, Real) and 0 <= float(one) <= 1 for one in fractions)
    if not is_right or abs(sum(fractions) - 1) > 1e-6:
        raise DataError(f"fractions must be three numbers of 0..1 that add up to 1, got {short(fractions)}")


def _sizes(count: int, fractions: Sequence[float], unit: str) -> tuple[int, int]:
    check_fractions(fractions)
    train = int(fractions[0] * count + 0.5)
    val = min(int(fractions[1] * count + 0.5), count - train)
    for role, size, fraction in zip(ROLES, (train, val, count - train - val), fractions, strict=True):
        if size == 0 and fraction > 0:
            raise DataError(
                f"{count} labelled {unit}s are too few for a share of {fraction:g} {role} {unit}s: label more"
            )
    return train, val


def _spread(sizes: np.ndarray, total: int) -> np.ndarray:
    """How many nodes to take from each class, given the sizes `[C]` of the classes.

    Each class gives its share to within one node, and all classes together give exactly `total`. The running sum is
    rounded in integers, so its last value is `total`.
    """
    count = int(sizes.sum())
    if count == 0:
        return np.zeros_like(sizes)
    running = (2 * total * np.cumsum(sizes) + count) // (2 * count)
    return np.diff(running, prepend=0)
