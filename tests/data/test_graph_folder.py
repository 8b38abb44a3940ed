"""A folder with several graphs."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from justjump.data import DataError, Graph, Table, read_graph
from justjump.data.errors import DataWarning


def write_graphs(folder: Path, lines: str = "graph,label,split\none,ring,train\ntwo,star,val\nthree,ring,\n") -> Path:
    for name in ("one", "two", "three"):
        (folder / name).mkdir()
        (folder / name / "nodes.csv").write_text("id,age,city\na,30,Bonn\nb,50,Ulm\n")
        (folder / name / "edges.csv").write_text("source,target\na,b\n")
    (folder / "graphs.csv").write_text(lines)
    return folder


def test_graphs_and_their_labels(tmp_path: Path) -> None:
    graph = read_graph(write_graphs(tmp_path))
    assert graph.batch is not None
    assert graph.batch.tolist() == [0, 0, 1, 1, 2, 2]
    assert (graph.class_names, graph.labels.tolist()) == (("ring", "star"), [0, 1, 0])
    assert graph.graph_names == ("one", "two", "three")
    assert graph.masks is not None
    assert [mask.tolist() for mask in graph.masks[:2]] == [[True, False, False], [False, True, False]]
    assert graph.edge_index.tolist() == [[0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 5, 4]]


def test_numbers_and_several_labels(tmp_path: Path) -> None:
    lines = "graph,toxic,soluble\none,1,1\ntwo,0,1\nthree,,0\n"
    graph = read_graph(write_graphs(tmp_path, lines), label=["toxic", "soluble"])
    assert (graph.task, graph.class_names) == ("multilabel", ("toxic", "soluble"))
    np.testing.assert_array_equal(graph.labels, [[1, 1], [0, 1], [np.nan, 0]])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "is empty"),
        ("name,label\none,a\n", "no column 'graph'"),
        ("graph,label\n", "names no graphs"),
        ("graph,label\none,a\none,b\n", "line 3: the graph 'one' is there twice"),
        ("graph,label\none,a\n./one,b\n", "line 3: the graph './one' is there twice"),
        ("graph,label\n../one,a\n", "must be a file or folder below"),
        ("graph,label\n/etc,a\n", "must be a file or folder below"),
        ("graph,label\nfour,a\n", "graphs.csv, line 2: .*four does not exist"),
        ("graph,label,split\none,a,exam\n", "line 2: the column 'split' must hold train, .*got 'exam'"),
        ("graph,a,b\none,1,x\n", "several labels must be numbers, but 'b' holds 'x'"),
    ],
)
def test_bad_lists(tmp_path: Path, lines: str, message: str) -> None:
    write_graphs(tmp_path, lines)
    with pytest.raises(DataError, match=message):
        read_graph(tmp_path, label=["a", "b"] if lines.startswith("graph,a,b") else None)


def test_a_column_that_is_called_like_a_label_is_one(tmp_path: Path) -> None:
    write_graphs(tmp_path, "graph,class\none,1\ntwo,2\nthree,1\n")
    with pytest.warns(DataWarning, match="graphs.csv: the column 'class' is taken as the label"):
        assert read_graph(tmp_path).class_names == ("1", "2")


def test_other_columns_are_said_to_be_ignored(tmp_path: Path) -> None:
    write_graphs(tmp_path, "graph,kind\none,a\ntwo,b\nthree,a\n")
    with pytest.warns(DataWarning, match=r"'kind' is ignored; label=... names the one with the labels"):
        graph = read_graph(tmp_path)
    assert not graph.labelled.any()
    assert read_graph(tmp_path, label="kind").class_names == ("a", "b")


def read(folder: Path, *nodes: str) -> Graph:
    write_graphs(folder)
    for name, text in zip(("one", "two", "three"), nodes, strict=False):
        (folder / name / "nodes.csv").write_text(text)
    return read_graph(folder)


@pytest.mark.parametrize("cell", ["", "7", "2026-01-01", "yes", "1.5"])
def test_the_kinds_of_columns_are_found_from_all_graphs(tmp_path: Path, cell: str) -> None:
    graph = read(tmp_path, f"id,age,city\na,30,{cell}\nb,,{cell}\n")
    assert isinstance(graph.features, Table)
    assert [column.kind for column in graph.features.columns] == ["number", "category"]
    texts = tuple(sorted({cell, "Bonn", "Ulm"} - {""}))
    assert graph.features["city"].texts == texts
    known = [texts.index(text) for text in ("Bonn", "Ulm")] * 2
    assert graph.features["city"].values.tolist() == [texts.index(cell) if cell else -1] * 2 + known
    assert str(graph.features["age"].values.tolist()) == "[30.0, nan, 30.0, 50.0, 30.0, 50.0]"


def test_columns_may_have_another_order(tmp_path: Path) -> None:
    numbers = ["id,x,y,z,u\na,1,2,3,4\nb,5,6,7,8\n", "id,u,z,y,x\na,4,3,2,1\nb,8,7,6,5\n"]
    graph = read(tmp_path, *numbers, "y,id,z,x,u,label\n2,a,3,1,4,k\n6,b,7,5,8,m\n")
    assert graph.feature_names == ("x", "y", "z", "u")
    np.testing.assert_array_equal(graph.features, [[1, 2, 3, 4], [5, 6, 7, 8]] * 3)


def test_graphs_with_other_columns_are_refused_by_name(tmp_path: Path) -> None:
    lacks = r"two/nodes.csv, line 1: the column 'city' is in .*one/nodes.csv, but not in .*two/nodes.csv"
    with pytest.raises(DataError, match=lacks):
        read(tmp_path, "id,age,city\na,30,\n", "id,age\na,30\n")
    (tmp_path / "two" / "nodes.csv").write_text("id,age,city,more\na,30,,1\n")
    with pytest.raises(DataError, match=r"two/nodes.csv, line 1: the column 'more' is in .*two.*, but not in .*one"):
        read_graph(tmp_path)


def test_a_mistake_is_found_in_its_file(tmp_path: Path) -> None:
    many = "id,age,city\na,1,x\n" + "".join(f"b{number},{number},x\n" for number in range(30))
    with pytest.raises(DataError, match=r"two/nodes.csv, line 3: the column 'age' holds"):
        read(tmp_path, many, "id,age,city\na,30,x\nb,3O,x\n")


def test_files_of_several_forms(tmp_path: Path) -> None:
    """Numbers without a gap in one file, with a gap in another, and columns in another order."""
    write_graphs(tmp_path)
    for name, text in (("one", "id,x,y\na,1,2\nb,3,4\n"), ("three", "id,x,y\na,5,6\nb,7,8\n")):
        (tmp_path / name / "nodes.csv").write_text(text)
    (tmp_path / "two" / "nodes.csv").unlink()
    pd.DataFrame({"id": ["a", "b"], "y": [2.0, None], "x": [1.0, 3.0]}).to_parquet(tmp_path / "two" / "nodes.parquet")
    graph = read_graph(tmp_path)
    assert isinstance(graph.features, Table)
    assert str(graph.features["y"].values.tolist()) == "[2.0, 4.0, 2.0, nan, 6.0, 8.0]"
    pd.DataFrame({"id": ["a", "b"], "y": [2, 3], "z": [1, 3]}).to_parquet(tmp_path / "two" / "nodes.parquet")
    with pytest.raises(DataError, match=r"graphs.csv: graph two has the feature 'z', which graph one lacks"):
        read_graph(tmp_path)
    (tmp_path / "three" / "edges.csv").write_text("source,target,weight\na,b,2\n")
    pd.DataFrame({"id": ["a", "b"], "y": [2, 3], "x": [1, 3]}).to_parquet(tmp_path / "two" / "nodes.parquet")
    with pytest.raises(
        DataError, match="either all graphs have edge weights or none: graph three differs from graph one"
    ):
        read_graph(tmp_path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        (["u", "v"], [None, None], "category"),
        ([1.5, 2.5], [None, None], "number"),
        (pd.to_datetime(["2026-01-01", "2026-01-02"]), [None, None], "date"),
        (["yes", "no"], ["no", "maybe"], "category"),
        (["1", "2"], ["a", "2"], "category"),
        (["u", "v"], ["w", "word " * 60], None),
    ],
)
def test_kinds_of_columns_are_found_from_all_graphs(
    one: Any, two: Any, kind: str | None, ending: str, tmp_path: Path
) -> None:
    for name, values in (("one", one), ("two", two)):
        (tmp_path / name).mkdir()
        nodes = pd.DataFrame({"id": [0, 1], "x": ["a", "b"], "c": values})
        for frame, table in ((nodes, "nodes"), (pd.DataFrame({"source": [0], "target": [1]}), "edges")):
            path = tmp_path / name / f"{table}.{ending}"
            frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path, index=False)
    (tmp_path / "graphs.csv").write_text("graph,label\none,a\ntwo,b\n")
    features = read_graph(tmp_path).features
    assert isinstance(features, Table)
    assert {column.name: column.kind for column in features.columns}.get("c") == kind


def test_a_wrong_cell_is_found_in_its_graph(tmp_path: Path) -> None:
    """Columns of numbers are only known as such from all graphs together."""
    for place in range(30):
        folder = tmp_path / f"g{place}"
        folder.mkdir()
        pd.DataFrame({"id": [0, 1], "c": [str(place), "oops" if place == 7 else "5"]}).to_parquet(
            folder / "nodes.parquet"
        )
        (folder / "edges.csv").write_text("source,target\n0,1\n")
    rows = "".join(f"g{place},{place % 2}\n" for place in range(30))
    (tmp_path / "graphs.csv").write_text(f"graph,label,colour,size\n{rows.replace(chr(10), ',red,2' + chr(10))}")
    with (
        pytest.warns(DataWarning, match="the columns 'colour' and 'size' are ignored"),
        pytest.raises(DataError, match=r"g7/nodes.parquet, row 1: the column 'c' holds 'oops', but most others are"),
    ):
        read_graph(tmp_path)
