"""Graphs from data frames."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from generated_tables import TABLES, columns_and_classes
from justjump.data import DataError, Graph, Table
from justjump.data.errors import DataWarning

NODES = pd.DataFrame(
    {"id": [10, 20, 30], "label": ["b", None, "a"], "age": [30.5, None, 60], "city": pd.Categorical(["x", "y", "x"])}
)
EDGES = pd.DataFrame({"source": [10.0, 20.0], "target": [20, 30]})


def test_ids_labels_and_columns() -> None:
    nodes = NODES.assign(split=["train", "", "test"], since=pd.to_datetime(["2020-01-01", None, "2020-01-05"]))
    nodes["points"] = pd.array([1, None, 3], dtype="Int64")
    graph = Graph.from_pandas(nodes, EDGES.assign(weight=[1, 2.5]), name="people")
    assert graph.node_names == ("10", "20", "30")
    assert graph.labels.tolist() == [1, -1, 0]
    assert graph.edge_index.T.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [1, 1, 2.5, 2.5]
    assert graph.masks is not None
    assert graph.masks[0].tolist() == [True, False, False]
    assert isinstance(graph.features, Table)
    assert [column.kind for column in graph.features.columns] == ["number", "category", "date", "number"]
    assert "split" not in (graph.feature_names or ())


def test_names_of_columns_and_the_index() -> None:
    nodes = pd.DataFrame({"kind": ["b", "a"], "x": [1, 2]}, index=["u", "v"])
    edges = pd.DataFrame({"from": ["u"], "to": ["v"], "strength": [3]})
    graph = Graph.from_pandas(nodes, edges, label="kind", source="from", target="to", weight="strength", directed=True)
    assert graph.node_names == ("u", "v")
    assert graph.class_names == ("a", "b")
    assert graph.edge_index.tolist() == [[0], [1]]
    assert isinstance(graph.features, np.ndarray)
    assert graph.features.tolist() == [[1], [2]]
    with pytest.warns(DataWarning, match="the column 'class' is taken as the label"):
        assert (
            Graph.from_pandas(
                nodes.rename(columns={"kind": "class"}), edges[["from", "to"]], source="from", target="to"
            ).num_classes
            == 2
        )
    with pytest.warns(DataWarning, match="edges: the column 'strength' is ignored; weight=..."):
        assert Graph.from_pandas(nodes, edges, source="from", target="to").edge_weight is None
    since = edges.assign(since=2020)
    with pytest.warns(DataWarning, match="edges: the column 'since' is ignored$"):
        assert Graph.from_pandas(nodes, since, source="from", target="to", weight="strength").edge_weight is not None


@pytest.mark.parametrize("make", TABLES)
def test_a_frame_and_a_table_are_the_same(make: str) -> None:
    columns, y = columns_and_classes(make, nodes=80)
    table = Table.of(columns)
    nodes = pd.DataFrame(columns).assign(label=y)
    graph = Graph.from_pandas(nodes, pd.DataFrame({"source": [0], "target": [1]}))
    assert graph.feature_names == table.names
    if isinstance(graph.features, Table):
        for ours, theirs in zip(table.columns, graph.features.columns, strict=True):
            np.testing.assert_array_equal(ours.values, theirs.values)
            assert ours.texts == theirs.texts


@pytest.mark.parametrize(
    ("nodes", "edges", "options", "message"),
    [
        (NODES.iloc[:0], EDGES, {}, "nodes has no rows"),
        (NODES[["id", "label"]], EDGES, {}, "nodes has no column of features besides id, label"),
        (NODES.assign(id=[1, 1, 2]), EDGES, {}, "nodes, row 1: the id '1' is already in row 0"),
        (NODES.assign(id=[1, None, 2]), EDGES, {}, "nodes, row 1: the id is empty"),
        (NODES, EDGES, {"id": "name"}, "nodes has no column 'name': its columns are id, label"),
        (NODES, EDGES, {"label": "kind"}, "nodes has no column 'kind' for the label"),
        (NODES, EDGES, {"source": "from"}, "edges has no column 'from': its columns are .* with source="),
        (NODES, EDGES, {"weight": "w"}, "edges has no column 'w': its columns are source, target"),
        (NODES, EDGES.assign(target=[20, 99]), {}, "edges, row 1: the target '99' is not an id in nodes: correct it"),
        (NODES, EDGES.assign(weight=[1, -1]), {}, "edges, row 1: the weight '-1' must be a number"),
        (NODES, EDGES.assign(weight=["a", "b"]), {}, "edges, row 0: the weight '.*' must be a number"),
        (NODES.assign(age=[1, np.inf, 2]), EDGES, {}, "nodes, row 1: the feature 'age' must be a finite number"),
        (NODES.assign(split=["train", "all", ""]), EDGES, {}, "nodes, row 1: the column 'split' must hold .*'all'"),
        (NODES.assign(role=["train", "all", ""]), EDGES, {"split": "role"}, "row 1: the column 'role' must .*'all'"),
        (pd.concat([NODES, NODES[["age"]]], axis=1), EDGES, {}, "nodes has two columns 'age'"),
    ],
)  # fmt: skip
def test_errors(nodes: Any, edges: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Graph.from_pandas(nodes, edges, **options)


def test_no_frame() -> None:
    with pytest.raises(TypeError, match="nodes must be a pandas DataFrame, got dict"):
        Graph.from_pandas({"id": [1]}, EDGES)
