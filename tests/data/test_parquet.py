"""Tables in Parquet files."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generated_tables import TABLES, columns_and_classes
from justjump.data import DataError, Table, read_graph
from justjump.data.preprocess import Preprocessing


@pytest.mark.parametrize("make", TABLES)
def test_parquet_and_csv_give_the_same_graph(tmp_path: Path, make: str) -> None:
    columns, y = columns_and_classes(make, nodes=60)
    nodes = pd.DataFrame({"id": [f"n{number}" for number in range(60)], "label": y, **columns})
    edges = pd.DataFrame({"source": ["n0", "n1"], "target": ["n1", "n2"], "weight": [0.5, 2]})
    graphs = []
    for kind in ("csv", "parquet"):
        folder = tmp_path / kind
        folder.mkdir()
        for name, frame in (("nodes", nodes), ("edges", edges)):
            if kind == "csv":
                frame.to_csv(folder / f"{name}.csv", index=False)
            else:
                frame.to_parquet(folder / f"{name}.parquet", index=False)
        graphs.append(read_graph(folder))
    first, second = graphs
    assert first.node_names == second.node_names
    assert first.labels.tolist() == second.labels.tolist()
    assert first.edge_weight is not None
    assert second.edge_weight is not None
    assert first.edge_weight.tolist() == second.edge_weight.tolist()
    assert first.feature_names == second.feature_names
    assert type(first.features) is type(second.features)
    numbers = [Preprocessing.fit(graph.features).apply(graph.features) for graph in graphs]
    dense = [found if isinstance(found, np.ndarray) else found.toarray() for found in numbers]
    np.testing.assert_array_equal(dense[0], dense[1])


def write(folder: Path, nodes: pd.DataFrame) -> None:
    nodes.to_parquet(folder / "nodes.parquet", index=False)
    (folder / "edges.csv").write_text("source,target\n1,2\n")


def test_columns_of_lists_are_not_read_and_dictionaries_are_texts(tmp_path: Path) -> None:
    city = pd.Series(["x", "y"], dtype="category")
    write(tmp_path, pd.DataFrame({"id": [1, 2], "list": [[1], [2]], "city": city}))
    graph = read_graph(tmp_path)  # nodes and edges in different formats
    assert graph.node_names == ("1", "2")
    assert isinstance(graph.features, Table)
    assert graph.features["city"].texts == ("x", "y")
    assert graph.feature_names == ("city",)
    assert graph.features.left_out == ("list",)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (pd.DataFrame({"name": [1, 2], "x": [1, 2]}), "nodes.parquet has no column 'id': its columns are name, x"),
        (pd.DataFrame({"id": [1, 1], "x": [1, 2]}), r"nodes\.parquet, row 1: the id '1' is already in row 0"),
        (
            pd.DataFrame({"id": [1, 3], "x": [1, 2]}),
            r"edges\.csv, line 2: the target '2' is not an id in nodes",
        ),
    ],
)
def test_errors(tmp_path: Path, nodes: pd.DataFrame, message: str) -> None:
    write(tmp_path, nodes)
    with pytest.raises(DataError, match=message):
        read_graph(tmp_path)


def test_rows_are_bound_by_memory_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 150_000
    table = pa.table({"id": np.arange(count), "x": np.arange(count) % 2})
    path = tmp_path / "nodes.parquet"
    packed = {"id": "DELTA_BINARY_PACKED"}
    pq.write_table(table, path, compression="zstd", use_dictionary=["x"], column_encoding=packed)
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n")
    assert count > 8 * path.stat().st_size, "less than a bit per row"
    assert read_graph(tmp_path).num_nodes == count
    monkeypatch.setattr("justjump.data.arrays.available_memory", lambda: 20_000_000)
    with pytest.raises(DataError, match=r"nodes\.parquet with 150000 rows and 2 columns takes 0.02\d+ GB, but only"):
        read_graph(tmp_path)


def test_what_is_no_parquet(tmp_path: Path) -> None:
    write(tmp_path, pd.DataFrame({"id": [1, 2], "x": [1, 2]}))
    whole = (tmp_path / "nodes.parquet").read_bytes()
    random = np.random.default_rng(0)
    for data in (b"", b"PAR1", whole[:-20], *(_changed(whole, random) for _ in range(60))):
        (tmp_path / "nodes.parquet").write_bytes(data)
        try:
            read_graph(tmp_path)
        except DataError as error:
            assert "\n" not in str(error)  # noqa: PT017
    (tmp_path / "nodes.csv").write_text("id,x\n1,1\n2,2\n")
    with pytest.raises(DataError, match=r"holds nodes\.csv and nodes\.parquet: remove one of them"):
        read_graph(tmp_path)


def _changed(data: bytes, random: np.random.Generator) -> bytes:
    place = int(random.integers(len(data)))
    return data[:place] + bytes(random.integers(256, size=3, dtype=np.uint8)) + data[place + 3 :]


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, pd.DataFrame({"id": [1, 2], "x": [1, 2]}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"nodes\.parquet needs pyarrow: pip install 'justjump\[analysis\]', or save"):
        read_graph(tmp_path)


def test_unknown_columns_of_edges(tmp_path: Path) -> None:
    write(tmp_path, pd.DataFrame({"id": [1, 2], "x": [1, 2]}))
    (tmp_path / "edges.csv").unlink()
    pd.DataFrame({"source": [1], "target": [2], "kind": ["a"]}).to_parquet(tmp_path / "edges.parquet")
    with pytest.raises(DataError, match=r"edges\.parquet has the column 'kind', which edges do not have"):
        read_graph(tmp_path)
    pd.DataFrame({"source": [1], "target": [5]}).to_parquet(tmp_path / "edges.parquet")
    with pytest.raises(DataError, match=r"edges\.parquet, row 0: the target '5' is not an id in nodes\.parquet"):
        read_graph(tmp_path)


def test_infinity_is_reported_with_the_file(tmp_path: Path) -> None:
    pd.DataFrame({"id": ["a", "b"], "x": [1.0, np.inf]}).to_parquet(tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    with pytest.raises(DataError, match=r"nodes\.parquet, row 1: the feature 'x' must be a finite number, got"):
        read_graph(tmp_path)
