"""The whole graph from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix, vstack

from ..graph import Graph

if TYPE_CHECKING:
    from .part import Part
    from .reader import Parts


def graph_of(parts: Parts) -> Graph:
    """What `Parts.to_graph` returns: edges by target, then by source, in new numbers."""
    it = parts.manifest
    sources, targets, weights, names = [], [], [], []
    for part in parts:
        source, target, weight = _edges(part, keep_loops=it.given_loops > 0)
        sources.append(source)
        targets.append(target)
        weights.append(weight)
        names += part.names()
    features = [part.features for part in parts]
    return Graph(
        edge_index=np.stack([np.concatenate(sources), np.concatenate(targets)]),
        features=csr_matrix(vstack(features)) if it.sparse else np.concatenate(features),
        labels=parts.collect("labels"),
        class_names=it.class_names,
        name=it.name,
        edge_weight=np.concatenate(weights) if it.weighted else None,
        node_names=tuple(names) if it.names else None,
        masks=parts.collect_masks(),
        feature_names=tuple(it.preprocessing.output_names) if it.preprocessing.names is not None else None,
        task=it.task,
        label_columns=it.label_columns,
    )


def _edges(part: Part, keep_loops: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sources and targets in global numbers, and weights."""
    everyone = np.concatenate([np.arange(part.begin, part.end), part.halo])
    source = everyone[part.col]
    target = np.repeat(np.arange(part.begin, part.end), np.diff(part.rowptr))
    weight = np.ones(len(source), np.float32) if part.weight is None else part.weight
    kept = np.ones(len(source), bool) if keep_loops else source != target
    return source[kept], target[kept], weight[kept]
