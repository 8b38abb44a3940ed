"""A folder with several graphs."""

from pathlib import Path

import numpy as np
import pytest

from justjump.data import DataError, read_graph


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
        ("graph,label\n../one,a\n", "must be a file or folder below"),
        ("graph,label\n/etc,a\n", "must be a file or folder below"),
        ("graph,label\nfour,a\n", "four does not exist"),
        ("graph,label,split\none,a,exam\n", "line 2: the split 'exam' must be train"),
        ("graph,class\none,a\n", "no column 'label'"),
    ],
)
def test_bad_lists(tmp_path: Path, lines: str, message: str) -> None:
    write_graphs(tmp_path, lines)
    with pytest.raises(DataError, match=message):
        read_graph(tmp_path)
