"""From a graph in memory to a graph in parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from justjump.files import write_folder

from ..errors import DataError
from ..graph import Graph
from ..labels import Labels
from ..preprocess import Preprocessing, Scale
from .assign import assign, check_parts
from .edges import PartEdges, part_edges
from .layout import Shape
from .numbering import Numbering
from .progress import Steps
from .reader import Parts, open_parts
from .writer import NodeRows, PartsWriter


def partition_graph(
    graph: Graph, parts: int, output: Path, method: Any, seed: int, scale: Scale, progress: bool
) -> Parts:
    """What `Graph.partition` does."""
    parts = check_parts(parts)
    if graph.batch is not None:
        raise DataError(
            f"{graph.name} holds {graph.num_graphs} whole graphs, each of which fits into memory: train on it as it is"
        )
    preprocessing = Preprocessing.fit(graph.features, scale, graph.feature_names)
    features = preprocessing.apply(graph.features)
    part, called = assign(graph, parts, method, seed)
    numbering = Numbering.of(part, parts)
    if isinstance(features, csr_matrix):
        features = features.sorted_indices()  # as ops.SparseMatrix sorts them
    flags = (
        isinstance(features, csr_matrix),
        graph.edge_weight is not None,
        graph.masks is not None,
        graph.node_names is not None,
    )
    shape = Shape(parts, preprocessing.num_outputs, graph.num_classes, graph.task, *flags)
    rows = NodeRows(features, graph.labels, graph.masks, graph.node_names)

    def write(folder: Path) -> None:
        with Steps(progress) as steps:
            writer = PartsWriter(folder, numbering, shape)
            for number, edges in enumerate(steps.each("edges", _edges(graph, numbering), parts)):
                writer.add_edges(number, edges)
            writer.add_nodes(0, rows)
            labels = Labels(graph.labels, graph.class_names, graph.task)
            columns, advance = graph.label_columns, steps.count("checksums", parts)
            writer.finish(graph.name, labels, columns, called, seed, preprocessing, advance)

    write_folder(output, write)
    return open_parts(output, verify=False)


def _edges(graph: Graph, numbering: Numbering) -> Iterator[PartEdges]:
    """The edges of each part in turn."""
    source, target = numbering.new[graph.edge_index]
    part = numbering.part[graph.edge_index[1]]
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(numbering.num_parts + 1))
    for number in range(numbering.num_parts):
        chosen = order[ends[number] : ends[number + 1]]
        weight = None if graph.edge_weight is None else graph.edge_weight[chosen]
        begin, end = (int(bound) for bound in numbering.ranges[number : number + 2])
        yield part_edges(source[chosen], target[chosen], weight, begin, end, graph.num_nodes)
