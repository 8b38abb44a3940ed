"""Predictions as a file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import read_csv
from justjump.data import Graph
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, fit
from justjump.train.predict import predict
from made_graphs import made_graphs


@pytest.fixture
def run(tiny: Graph) -> Run:
    return fit(tiny, ModelConfig("gcn", layers=1, hidden=16), Protocol(max_epochs=2))


def test_every_node_has_a_class_and_its_probability(
    run: Run, tiny: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    predict(run, tiny, tmp_path / "out.csv")
    rows = read_csv(tmp_path / "out.csv")
    classes, probabilities = run.predict(tiny)
    assert [row["node"] for row in rows] == [str(node) for node in range(20)]
    assert [row["class"] for row in rows] == [("left", "right")[label] for label in classes]
    assert [float(row["probability"]) for row in rows] == pytest.approx(probabilities.max(axis=1), abs=1e-6)
    *measures, last = capsys.readouterr().err.splitlines()[-4:]
    assert last == f"the classes of 20 nodes are in {tmp_path / 'out.csv'}"
    assert measures[2].startswith(f"12 test nodes: accuracy {100 * (run.test_accuracy or 0):.1f}, balanced accuracy")


def test_nodes_keep_their_names(run: Run, tiny: Graph, tmp_path: Path) -> None:
    names = tuple(f'node, "{number}"' for number in range(20))
    predict(run, replace(tiny, node_names=names), tmp_path / "out.csv")
    assert tuple(row["node"] for row in read_csv(tmp_path / "out.csv")) == names


def test_one_graph_is_a_row_of_a_run_of_whole_graphs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graphs = made_graphs(20)
    run = fit(graphs, ModelConfig("gcn", layers=1, hidden=16), Protocol(max_epochs=2))
    assert isinstance(graphs.features, np.ndarray)
    ring = Graph(np.array([[0, 1], [1, 0]]), graphs.features[:2], np.array([-1, -1]), (), name="ring")
    predict(run, ring, tmp_path / "out.csv")
    assert [row["graph"] for row in read_csv(tmp_path / "out.csv")] == ["ring"]
    assert (
        capsys.readouterr().err.splitlines(keepends=True)[-1]
        == f"the classes of 1 graph are in {tmp_path / 'out.csv'}\n"
    )


def test_a_parquet_file_has_the_same_columns(run: Run, tiny: Graph, tmp_path: Path) -> None:
    predict(run, tiny, tmp_path / "out.csv")
    predict(run, tiny, tmp_path / "out.parquet")
    wanted, found = pd.read_csv(tmp_path / "out.csv"), pd.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(found, wanted, check_dtype=False, atol=1e-6)


def test_without_labels_no_measures_are_printed(
    run: Run, tiny: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    predict(run, replace(tiny, labels=np.full(20, -1)), tmp_path / "out.csv")
    assert "nodes:" not in capsys.readouterr().err
    labels = np.where(np.arange(20) < 5, tiny.labels, -1)
    predict(run, replace(tiny, labels=labels), tmp_path / "out.csv")
    assert "5 nodes with a label: accuracy" in capsys.readouterr().err
