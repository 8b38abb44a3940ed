from __future__ import annotations

import csv
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_matrix

from helpers import array_features, sparse_features
from justjump.data import DataError, Graph, read_graph, split_from_masks

NODES = "id,label,split,height,weight\nann,b,train,1.5,0\nbob,a,val,0,-2e1\ncy,,,3,1\n\ndee,a,test,0,0\n"
EDGES = "source,target\nann,bob\nbob,ann\ncy,cy\ncy,ann\n"


def _read(folder: Path, nodes: str = NODES, edges: str = EDGES, directed: bool = False) -> Graph:
    (folder / "nodes.csv").write_text(nodes, encoding="utf-8", newline="")
    (folder / "edges.csv").write_text(edges, encoding="utf-8", newline="")
    return read_graph(folder, directed=directed)


def test_columns(tmp_path: Path) -> None:
    graph = _read(tmp_path)
    assert graph.name == tmp_path.name
    assert graph.node_names == ("ann", "bob", "cy", "dee")
    assert graph.class_names == ("a", "b")
    assert graph.labels.tolist() == [1, 0, -1, 0]
    assert graph.edge_index.T.tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]
    features = sparse_features(graph).toarray() if isinstance(graph.features, csr_matrix) else array_features(graph)
    assert features.tolist() == [[1.5, 0], [0, -20], [3, 1], [0, 0]]
    split = split_from_masks(graph)
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0], [1], [3])
    assert _read(tmp_path, directed=True).edge_index.T.tolist() == [[0, 1], [1, 0], [2, 0]]


def test_order_of_columns_is_free_and_only_id_and_a_feature_are_needed(tmp_path: Path) -> None:
    graph = _read(tmp_path, "x,id, y\n1,a,2\n3,b,4\n", "weight,target,source\n0.5,a,b\n")
    assert array_features(graph).tolist() == [[1, 2], [3, 4]]
    assert graph.class_names == ()
    assert graph.masks is None
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [0.5, 0.5]


def test_features_are_sparse_where_the_data_is(tmp_path: Path) -> None:
    rows = "".join(f"{i},{','.join('1' if i == j else '0' for j in range(10))}\n" for i in range(10))
    header = "id," + ",".join(f"f{j}" for j in range(10))
    graph = _read(tmp_path, f"{header}\n{rows}", "source,target\n")
    np.testing.assert_array_equal(sparse_features(graph).toarray(), np.eye(10))
    assert graph.num_edges == 0


def test_what_spreadsheets_write(tmp_path: Path) -> None:
    nodes = '\ufeffid,label,x\r\n"M\u00fcller, J.",10,1\r\n 2 ,9,1\r\n"two\nlines",10,1\r\n'
    graph = _read(tmp_path, nodes, '\ufeffsource,target\r\n2,"M\u00fcller, J."\r\n')
    assert graph.node_names == ("M\u00fcller, J.", "2", "two\nlines")
    assert graph.class_names == ("9", "10")  # numbers in their own order
    assert graph.num_edges == 1


def test_repeated_weighted_edges(tmp_path: Path) -> None:
    nodes = "id,x\na,1\nb,1\n"
    graph = _read(tmp_path, nodes, "source,target,weight\na,b,2\nb,a,2\na,b,2\n")
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [2, 2]
    edges = "source,target,weight\na,b,2\n\nb,a,3\n"
    with pytest.raises(
        DataError, match=r"edges\.csv, line 4: the edge of line 2 is repeated .*another weight .*directed=True"
    ):
        _read(tmp_path, nodes, edges)
    graph = _read(tmp_path, nodes, edges, directed=True)
    assert graph.edge_weight is not None
    assert graph.edge_weight.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("", r"nodes\.csv is empty: its first line must name the columns id"),
        ("id,x\n", r"nodes\.csv has no rows: add one per node"),
        ("name,x\na,1\n", r"nodes\.csv has no column 'id': its columns are name, x; add it, or rename the one"),
        ("id;x\na;1\n", r"has no column 'id': its columns are id;x; commas must separate the columns"),
        ("id,label\na,1\n", r"has no column of features besides id, label"),
        ("id,x,x\na,1,1\n", r"has two columns 'x'"),
        ("id,x\na,1\nb\n", r"nodes\.csv, line 3: 1 values, expected 2"),
        ("id,x\na,1\nb,1,2\n", r"line 3: 3 values, expected 2"),
        ("id,x\na,1\n\nb,inf\n", r"line 4: the feature 'x' must be a finite number, got inf"),
        ("id,x\na,1\nb,1\na,2\n", r"line 4: the id 'a' is already in line 2"),
        ("id,x\n ,1\n", r"line 2: the id is empty"),
        ("id,label,x\na,-1,1\n", r"line 2: the label -1 is ambiguous: leave it empty"),
        (
            "id,split,x\na,training,1\n",
            r"line 2: the column 'split' must hold train, .*got 'training'",
        ),
        ('id,x\na,1\n"b,1\n', r"nodes\.csv, line \d: not valid CSV"),
        (f"id,x\n{'a' * 200_000},1\n", r"line 2: not valid CSV \(field larger.*: close .* keep each cell below 131,"),
    ],
)
def test_errors_in_nodes(tmp_path: Path, nodes: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        _read(tmp_path, nodes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("", r"edges\.csv is empty"),
        ("from,to\nann,bob\n", r"edges\.csv has no column 'source': its columns are from, to"),
        ("source,target,wieght\nann,bob,1\n", r"has the column 'wieght', which edges do not have: remove"),
        ("source,target\nann,bob\nann,eve\n", r"edges\.csv, line 3: the target 'eve' is not an id in nodes\.csv"),
        ("source,target\n,bob\n", r"line 2: the source is empty: name an id in nodes\.csv"),
        ("source,target,weight\nann,bob,heavy\n", r"line 2: the weight 'heavy' must be a number"),
        ("source,target,weight\nann,bob,1e400\n", r"line 2: the weight '1e400' is too large, expected at most 3.4e"),
        ("source,target,weight\nann,bob,-1\n", r"line 2: the weight '-1' must be a number that is not negative"),
        ("source,target,weight\nann,bob,nan\n", r"line 2: the weight 'nan'"),
        ("source,target,weight\nann,bob,1e39\n", r"line 2: the weight '1e39'"),
        ("source,target\nann\n", r"line 2: 1 values, expected 2"),
    ],
)
def test_errors_in_edges(tmp_path: Path, edges: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _read(tmp_path, edges=edges)


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nodes\.csv does not exist: the folder of a graph must hold"):
        read_graph(tmp_path)
    (tmp_path / "nodes.csv").write_text(NODES)
    with pytest.raises(DataError, match=r"edges\.csv does not exist"):
        read_graph(tmp_path)
    (tmp_path / "nodes.csv").write_bytes("id,x\nM\u00fcller,1\n".encode("latin1"))
    with pytest.raises(DataError, match=r"is not UTF-8 text.*save it as UTF-8"):
        read_graph(tmp_path)
    (tmp_path / "nodes.csv").write_bytes(b"id,x\na,1\nb,2\nc,3\n\xfc,4\nd,5\n")
    with pytest.raises(DataError, match=r"nodes\.csv is not UTF-8 text in line 5: save it as UTF-8"):
        read_graph(tmp_path)
    (tmp_path / "nodes.csv").unlink()
    os.mkfifo(tmp_path / "nodes.csv")
    with pytest.raises(DataError, match=r"nodes\.csv is a pipe or a device, expected a file"):
        read_graph(tmp_path)
    (tmp_path / "nodes.csv").unlink()
    (tmp_path / "nodes.csv").mkdir()
    with pytest.raises(DataError, match=r"cannot read .*nodes\.csv"):
        read_graph(tmp_path)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=6)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), names=st.lists(TEXT, min_size=1, max_size=7, unique=True), directed=st.booleans())
def test_round_trip(tmp_path: Path, data: st.DataObject, names: list[str], directed: bool) -> None:
    count = len(names)
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
    features = data.draw(hnp.arrays(np.float32, (count, data.draw(st.integers(1, 4))), elements=numbers))
    labels = data.draw(st.lists(st.sampled_from(["", "x", "y", "0"]), min_size=count, max_size=count))
    adjacency = data.draw(hnp.arrays(bool, (count, count)))
    with (tmp_path / "nodes.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(f"f{j}" for j in range(features.shape[1])), "label"])
        writer.writerows([name, *row, label] for name, row, label in zip(names, features.tolist(), labels, strict=True))
    with (tmp_path / "edges.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "target"])
        writer.writerows([names[i], names[j]] for i, j in np.argwhere(adjacency))
    graph = read_graph(tmp_path, directed=directed)
    assert graph.node_names == tuple(names)
    assert ["" if label < 0 else graph.class_names[label] for label in graph.labels] == labels
    got = graph.features.toarray() if isinstance(graph.features, csr_matrix) else graph.features
    np.testing.assert_array_equal(got, features)
    expected = adjacency & ~np.eye(count, dtype=bool)
    expected = expected if directed else expected | expected.T
    assert {tuple(edge) for edge in graph.edge_index.T.tolist()} == {tuple(e) for e in np.argwhere(expected).tolist()}
    assert graph.edge_index.shape[1] == expected.sum()


def test_time_grows_with_size_not_its_square(tmp_path: Path) -> None:
    count = 40_000
    nodes = "id,label,x,y\n" + "".join(f"n{i},{i % 5},{i},1\n" for i in range(count))
    edges = "source,target\n" + "".join(f"n{i},n{i * 7919 % count}\n" for i in range(count))
    start = time.process_time()
    graph = _read(tmp_path, nodes, edges)
    assert graph.num_nodes == count
    assert time.process_time() - start < 10  # about half a second; quadratic work takes minutes


@pytest.mark.parametrize("last", ["1", pytest.param("red", marks=pytest.mark.slow)])
def test_time_grows_with_columns_not_their_square(tmp_path: Path, last: str) -> None:
    count = 60_000
    header = ",".join(["id", "label", *(f"c{i}" for i in range(count))])
    cells = "0," * (count - 1)
    start = time.process_time()
    graph = _read(tmp_path, f"{header}\na,x,{cells}{last}\nb,y,{cells}{last}\n", "source,target\na,b\n")
    assert graph.num_features == count
    assert time.process_time() - start < 10  # at most two seconds; quadratic work takes half a minute


def test_numbers_of_any_length(tmp_path: Path) -> None:
    long = "1" + "0" * 5000
    labels = ["2", long, "10", "010", "0", "9" * 4999]
    nodes = "id,label,x\n" + "".join(f"{i},{label},1\n" for i, label in enumerate(labels))
    graph = _read(tmp_path, nodes, "source,target\n")
    assert graph.class_names == ("0", "2", "010", "10", "9" * 4999, long)
    for cell in ("9" * 5000, "1e999999"):
        with pytest.raises(
            DataError,
            match=r"the feature 'x' must be a finite number, got inf .or a number beyond 1.8e",
        ) as caught:
            _read(tmp_path, f"id,x,y\na,{cell},1\n")
        assert len(str(caught.value)) < 400
