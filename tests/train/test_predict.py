"""Predictions as a file."""

from dataclasses import replace
from pathlib import Path

import pytest

from command_line import read_csv
from justjump.data import Graph
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, fit
from justjump.train.predict import predict


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
    assert capsys.readouterr().err == f"the classes of 20 nodes are in {tmp_path / 'out.csv'}\n"


def test_nodes_keep_their_names(run: Run, tiny: Graph, tmp_path: Path) -> None:
    names = tuple(f'node, "{number}"' for number in range(20))
    predict(run, replace(tiny, node_names=names), tmp_path / "out.csv")
    assert tuple(row["node"] for row in read_csv(tmp_path / "out.csv")) == names
