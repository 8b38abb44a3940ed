"""Which graph a text stands for, and when two are the same."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from job_kinds import SHORT, SMALL
from justjump.data import load, read_graph
from justjump.experiments.graph_spec import GraphSpec, graph_for, provide_graph
from justjump.experiments.jobs import Job
from justjump.train import Run, fit


def test_a_user_s_graph_is_named_by_its_content(tmp_path: Path) -> None:
    for name, value in (("a", 1.0), ("b", 1.0), ("c", 2.0)):
        adjacency, features = csr_matrix(np.eye(3, k=1)), csr_matrix(value * np.eye(3))
        parts = {"adj": adjacency, "attr": features}
        arrays: dict[str, Any] = {
            f"{n}_{part}": getattr(m, part) for n, m in parts.items() for part in ("data", "indices", "indptr")
        }
        shapes: dict[str, Any] = {f"{n}_shape": np.array(m.shape) for n, m in parts.items()}
        np.savez(tmp_path / f"{name}.npz", **arrays, **shapes, labels=np.array([0, 1, 1]))
    first, copy, other = (Job(GraphSpec(path=str(tmp_path / f"{name}.npz")), SMALL, SHORT, 0) for name in "abc")
    assert first.key == copy.key
    assert first.key != other.key


def test_a_text_is_a_dataset_or_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert GraphSpec.named("cora", "data") == GraphSpec("cora", data_dir="data")
    assert GraphSpec.named("folder/mine", directed=True) == GraphSpec(path="folder/mine", directed=True)
    assert GraphSpec.named("mine.npz").label == "mine"
    with pytest.raises(ValueError, match="mine is no file or folder here, and no dataset: datasets are cora, "):
        GraphSpec.named("mine")
    assert GraphSpec.named("corra").dataset == "corra", "load says which dataset may be meant"
    with pytest.raises(ValueError, match="--directed is for a graph of your own, and cora is a dataset"):
        GraphSpec.named("cora", directed=True)
    (tmp_path / "cora").mkdir()
    with pytest.raises(ValueError, match=r"cora is a dataset and a path here: write \./cora"):
        GraphSpec.named("cora")
    assert GraphSpec.named("./cora").path == "./cora"


def test_the_size_of_a_dataset_is_known_without_its_files() -> None:
    assert GraphSpec("coauthor_physics", data_dir="nowhere").size == (34_493, 247_962)


def test_a_graph_that_was_sent_is_not_read() -> None:
    spec = GraphSpec(path="only/on/the/driver.npz")
    provide_graph(spec, load("cora"))
    assert spec.load() is spec.load()
    assert spec.size == (2_708, 5_278)


def test_the_column_with_the_labels(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,kind,x\na,1,5\nb,0,6\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    assert GraphSpec.named(str(tmp_path), label_column="kind").load().class_names == ("0", "1")
    assert GraphSpec.named(str(tmp_path)).load().class_names == ()
    with pytest.raises(ValueError, match="--label is for a graph of your own, and cora is a dataset"):
        GraphSpec.named("cora", label_column="kind")


def test_a_run_remembers_the_columns_of_its_labels(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(30)]
    rows = [
        f"{name},{number % 2},{number % 3 > 0:d},{number % 2 + number / 9:.2f}" for number, name in enumerate(names)
    ]
    edges = [f"{first},{second}" for first, second in pairwise(names)]
    for folder, header in (("same", "id,red,big,x"), ("new", "id,size,other,x")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "nodes.csv").write_text("\n".join([header, *rows]) + "\n")
        (tmp_path / folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    graph = read_graph(tmp_path / "same", label=["red", "big"])
    fit(graph, SMALL, max_epochs=1, output=tmp_path / "run")
    run = Run.load(tmp_path / "run")
    assert run.label_columns == ("red", "big")
    same = graph_for(run, str(tmp_path / "same"))
    assert (same.task, same.class_names, same.feature_names) == ("multilabel", ("red", "big"), ("x",))
    assert graph_for(run, str(tmp_path / "same"), label="big").class_names == ("0", "1")
    new = graph_for(run, str(tmp_path / "new"))
    assert not new.labelled.any(), "new data has no labels"
    assert run.predict(new).classes.tolist() == run.predict(same).classes.tolist()
    values = json.loads((tmp_path / "run" / "run.json").read_text())
    del values["label_columns"]  # as runs of older versions
    (tmp_path / "run" / "run.json").write_text(json.dumps(values))
    assert Run.load(tmp_path / "run").label_columns is None


def test_a_run_remembers_that_its_graph_was_directed(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    (folder / "nodes.csv").write_text("id,label,x\n" + "".join(f"{i},{'ab'[i % 2]},{i % 2}\n" for i in range(20)))
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(19)))
    for directed, edges in ((False, 38), (True, 19)):
        run = fit(GraphSpec(path=str(folder), directed=directed).load(), model="gcn", layers=1, max_epochs=1)
        run.save(tmp_path / f"run-{directed}")
        run = Run.load(tmp_path / f"run-{directed}")
        assert run.directed == directed
        assert graph_for(run, str(folder)).edge_index.shape == (2, edges)
        assert graph_for(run, "cora").num_nodes == 2708
