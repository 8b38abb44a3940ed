"""What training must know about all nodes of a graph in parts: their labels, and which of them it takes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from justjump.data import Graph, Split
from justjump.data.parts import Parts


@dataclass(frozen=True, eq=False)
class Chosen:
    """The nodes that an output is wanted for, such as the training nodes.

    Attributes:
        nodes: for each part, their local numbers
        first_nodes, first_edges: ``[P]`` how many of them, and of the edges to them, the parts before have
    """

    nodes: Sequence[Tensor]
    first_nodes: Sequence[int]
    first_edges: Sequence[int]

    @classmethod
    def of(cls, parts: Parts, rows: np.ndarray) -> Chosen:
        """Of the nodes with these numbers in the data that was partitioned."""
        wanted = np.zeros(parts.manifest.num_nodes, dtype=bool)
        wanted[rows] = True
        nodes, counts, edges = [], [0], [0]
        for part in parts:
            local = np.flatnonzero(wanted[part.original])
            nodes.append(torch.from_numpy(local))
            counts.append(len(local))
            (rowptr,) = part._map("rowptr")  # the property would read all edges of all parts, to check them
            edges.append(int(np.diff(rowptr)[local].sum(dtype=np.int64)))
        return cls(nodes, np.cumsum(counts).tolist()[:-1], np.cumsum(edges).tolist()[:-1])

    @classmethod
    def everyone(cls, parts: Parts) -> Chosen:
        """All nodes."""
        it = parts.manifest
        nodes = [torch.arange(entry.sizes.nodes) for entry in it.parts]
        return cls(nodes, it.ranges[:-1].tolist(), it.first_edges[:-1].tolist())

    def __len__(self) -> int:
        return sum(map(len, self.nodes))


def labels_of(parts: Parts) -> Graph:
    """All nodes with their labels and masks, numbered as in the data that was partitioned; without edges and features.

    A split of it is that of the whole graph.
    """
    it, original = parts.manifest, parts.collect("original")

    def in_order(values: np.ndarray) -> np.ndarray:
        ordered = np.empty_like(values)
        ordered[original] = values
        return ordered

    masks = None
    if it.masks:
        train, val, test = map(in_order, parts.collect_masks() or ())
        masks = train, val, test
    return Graph(
        edge_index=np.zeros((2, 0), np.int64),
        features=csr_matrix((it.num_nodes, it.num_features), dtype=np.float32),
        labels=in_order(parts.collect("labels")),
        class_names=it.class_names,
        name=it.name,
        masks=masks,
        task=it.task,
        label_columns=it.label_columns,
    )


def nodes_in(graph: Graph, split: Split) -> tuple[np.ndarray, Graph, Split]:
    """The numbers of the nodes in a split, which ascend, and the graph and the split of these nodes alone."""
    nodes = np.sort(np.concatenate([split.train, split.val, split.test]))
    features = csr_matrix((len(nodes), graph.num_features), dtype=np.float32)
    few = replace(graph, features=features, labels=graph.labels[nodes], masks=None)
    return nodes, few, Split(*(np.searchsorted(nodes, rows) for rows in (split.train, split.val, split.test)))


def split_hash(parts: Parts, split: Split) -> str:
    """A digest of everything that training reads: equal digests mean equal data."""
    digest = hashlib.sha256(parts.manifest.digest.encode())
    for nodes in (split.train, split.val, split.test):
        digest.update(f"{nodes.dtype}{nodes.shape}".encode())
        digest.update(np.ascontiguousarray(nodes).data)
    return digest.hexdigest()
