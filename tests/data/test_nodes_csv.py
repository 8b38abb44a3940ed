"""Tables of nodes as people have them."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from justjump.data import DataError, Graph, Table, read_graph
from justjump.data.errors import DataWarning


def read(folder: Path, nodes: str, **options: object) -> Graph:
    (folder / "nodes.csv").write_text(nodes, encoding="utf-8")
    (folder / "edges.csv").write_text("source,target\na,b\n", encoding="utf-8")
    return read_graph(folder, **options)  # type: ignore[arg-type]


def table(graph: Graph) -> Table:
    assert isinstance(graph.features, Table)
    return graph.features


def test_columns_of_all_kinds(tmp_path: Path) -> None:
    note = "a long note " * 30
    graph = read(
        tmp_path,
        "id,label,income,city,member,since,note,zip\n"
        f"a,x,20000,Bonn,yes,2020-01-01,{note},01\nb,y,,Ulm,no,,b,A2\nc,,1e39,,,2020-01-03,,7\n",
    )
    found = table(graph)
    kinds = {"income": "number", "city": "category", "member": "boolean", "since": "date", "zip": "category"}
    assert {column.name: column.kind for column in found.columns} == kinds
    assert found.left_out == ("note",)
    assert graph.feature_names == found.names
    assert str(found["income"].values.tolist()) == "[20000.0, nan, 1e+39]"
    assert found["since"].values[2] - found["since"].values[0] == 2
    assert found["zip"].texts == ("01", "7", "A2")
    assert graph.class_names == ("x", "y")


def test_numbers_alone_are_no_table(tmp_path: Path) -> None:
    assert read(tmp_path, "id,label,x,y\na,cat,1,2\nb,dog,3,4\n").features.tolist() == [[1, 2], [3, 4]]  # type: ignore[union-attr]
    assert isinstance(read(tmp_path, "id,x,y\na,0,0\nb,0,4\n").features, csr_matrix)
    assert isinstance(read(tmp_path, "id,x,y\na,1,1\nb,,4\n").features, Table)


@pytest.mark.parametrize("name", ["class", "target", "y", "Class"])
def test_a_text_column_that_is_called_like_a_label_is_one(tmp_path: Path, name: str) -> None:
    with pytest.warns(DataWarning, match=f"the column '{name}' is taken as the label; choose another one with label="):
        graph = read(tmp_path, f"id,x,{name}\na,1,cat\nb,2,dog\n")
    assert graph.class_names == ("cat", "dog")
    assert isinstance(graph.features, np.ndarray)
    assert graph.feature_names == ("x",)
    with pytest.warns(DataWarning, match="is taken as the label"):
        assert read(tmp_path, f"id,x,{name}\na,1,cat\nb,,dog\n").feature_names == ("x",)


def test_numbers_that_are_called_like_a_label_are_features_unless_named(tmp_path: Path) -> None:
    nodes = "id,x,y\na,1,0\nb,2,1\n"
    assert read(tmp_path, nodes).feature_names == ("x", "y")
    graph = read(tmp_path, nodes, label="y")
    assert graph.feature_names == ("x",)
    assert graph.class_names == ("0", "1")
    assert graph.labels.tolist() == [0, 1]
    graph = read(tmp_path, "id,label,class,x\na,u,cat,1\nb,v,dog,2\n")
    assert graph.class_names == ("u", "v")
    assert graph.feature_names == ("class", "x")
    assert read(tmp_path, "id,label,class,x\na,u,cat,1\nb,v,dog,2\n", label="class").class_names == ("cat", "dog")


def test_several_labels(tmp_path: Path) -> None:
    graph = read(tmp_path, "id,red,big,x\na,1,1,5\nb,0,1,6\n", label=["red", "big"])
    assert graph.task == "multilabel"
    assert graph.class_names == ("red", "big")
    assert graph.labels.tolist() == [[1, 1], [0, 1]]
    graph = read(tmp_path, "id,u,v,x\na,1.5,2,5\nb,,3,6\n", label=("u", "v"))
    assert graph.task == "regression"
    assert str(graph.labels.tolist()) == "[[1.5, 2.0], [nan, 3.0]]"


def test_many_fractions_are_numbers_to_predict(tmp_path: Path) -> None:
    ids = ["a", "b", *map(str, range(30))]
    graph = read(tmp_path, "id,label,x\n" + "".join(f"{name},{place / 4},1\n" for place, name in enumerate(ids)))
    assert graph.task == "regression"
    assert graph.class_names == ("label",)
    graph = read(tmp_path, "id,label,x\n" + "".join(f"{name},{place}.0,1\n" for place, name in enumerate(ids)))
    assert graph.task == "multiclass"
    assert graph.num_classes == 32


NUMBERS = "id,x\n" + "".join(f"{number},{number}\n" for number in range(40))

DATES = "id,since\n" + "".join(f"{number},2026-03-0{number}\n" for number in range(1, 8))


@pytest.mark.parametrize(
    ("nodes", "options", "message"),
    [
        ("id,class,y,x\na,cat,u,1\nb,dog,v,2\n", {}, "no column 'label', but class and y: say which .*label='class'"),
        ("id,x\na,1\nb,2\n", {"label": "z"}, "has no column 'z' for the label: choose from x"),
        ("id,x\na,1\nb,2\n", {"label": "id"}, "has no column 'id' for the label"),
        ("id,x\na,1\nb,2\n", {"label": "x"}, "no column of features besides id, x"),
        ("id,u,v,x\na,1,w,1\nb,2,3,2\n", {"label": ["u", "v"]}, "several labels must be numbers, but 'v' holds 'w'"),
        ("id,x,city\na,1,Bonn\nb,-inf,Ulm\n", {}, "line 3: the feature 'x' must be a finite number, got -inf"),
        (DATES + "a,2026-02-30\n", {}, "line 9: the column 'since' holds '2026-02-30', but most others are dates"),
        (NUMBERS + "a,12O\n", {}, "line 42: the column 'x' holds '12O', but most others are numbers"),
        (f"id,x\na,{'long ' * 100}\nb,c\n", {}, r"all columns of features are free text, which is left out \(x\)"),
        ("id,city\na,Bonn\na,Ulm\n", {}, "line 3: the id 'a' is already in line 2"),
        ("id,city,split\na,Bonn,most\n", {}, "line 2: the column 'split' must hold .* got 'most'"),
        ("id,city\na,Bonn\nb\n", {}, "line 3: 1 values, expected 2"),
    ],
)  # fmt: skip
def test_errors(tmp_path: Path, nodes: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path, nodes, **options)
    assert "\n" not in str(caught.value)
    assert "nodes.csv" in str(caught.value)


def test_an_npz_file_has_its_labels_in_an_array(tmp_path: Path) -> None:
    (tmp_path / "graph.npz").write_bytes(b"")
    with pytest.raises(DataError, match="label='x' is for tables"):
        read_graph(tmp_path / "graph.npz", label="x")


def test_a_label_alone_is_not_enough(tmp_path: Path) -> None:
    with (
        pytest.warns(DataWarning, match="'class' is taken as the label"),
        pytest.raises(DataError, match="no column of features besides id, class"),
    ):
        read(tmp_path, "id,class\na,cat\nb,dog\n")
