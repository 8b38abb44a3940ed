"""Checks of the fields of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import Table
from .errors import DataError
from .features import checked_features
from .labels import Labels, check_labels, check_range, integers
from .masks import checked_masks

if TYPE_CHECKING:
    from .graph import Graph


def checked_fields(graph: Graph) -> dict[str, Any]:
    """The fields of a graph in the types that it promises; anything that does not fit raises a `DataError`."""
    features = checked_features(graph.features, graph.feature_names)
    num_nodes, num_features = features.shape
    edge_index = _checked_edges(graph.edge_index, num_nodes)
    found = {"features": features, "edge_index": edge_index}
    if graph.batch is not None:
        found["batch"] = _checked_batch(graph.batch, num_nodes, len(graph.labels))
    rows = num_nodes if graph.batch is None else len(graph.labels)
    labels = check_labels(Labels(graph.labels, graph.class_names, graph.task), rows)
    found |= {"labels": labels.values, "class_names": labels.names}
    if graph.edge_weight is not None:
        found["edge_weight"] = _checked_weight(graph.edge_weight, edge_index.shape[1])
    if graph.node_names is not None:
        found["node_names"] = _checked_node_names(graph.node_names, num_nodes)
    feature_names = features.names if isinstance(features, Table) else graph.feature_names
    if feature_names is not None:
        found["feature_names"] = _checked_feature_names(feature_names, num_features)
    if graph.masks is not None:
        found["masks"] = checked_masks(graph.masks, rows)
    return found


def _checked_edges(edge_index: Any, num_nodes: int) -> np.ndarray:
    checked = integers(edge_index, "edge_index")
    if checked.ndim != 2 or checked.shape[0] != 2:
        turned = ": transpose it" if checked.ndim == 2 and checked.shape[1] == 2 else ""
        raise DataError(f"edge_index must have shape [2, E], got {list(checked.shape)}{turned}")
    check_range(checked, 0, num_nodes, "edge_index", f"the graph has {num_nodes} nodes")
    return checked


def _checked_batch(batch: Any, num_nodes: int, num_graphs: int) -> np.ndarray:
    checked = integers(batch, "batch")
    if checked.shape != (num_nodes,) or (checked[1:] < checked[:-1]).any():
        raise DataError(f"batch must be {num_nodes} numbers of graphs in ascending order, got shape {checked.shape}")
    check_range(checked, 0, num_graphs, "batch", f"there are labels for {num_graphs} graphs")
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


def _checked_node_names(names: Sequence[str], num_nodes: int) -> tuple[str, ...]:
    checked = tuple(names)
    if len(checked) != num_nodes:
        raise DataError(f"node_names must have one entry for each of {num_nodes} nodes, got {len(checked)}")
    return checked


def _checked_feature_names(names: Sequence[str], num_features: int) -> tuple[str, ...]:
    checked = tuple(names)
    if len(checked) != num_features:
        raise DataError(f"feature_names must name each of {num_features} features, got {len(checked)} names")
    return checked
