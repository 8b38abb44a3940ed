"""Runs on Cora, a graph of one's own, and a run on it."""

from pathlib import Path

import pytest
import torch

from justjump.data import load, read_graph
from justjump.nn import ModelConfig
from justjump.train import Protocol, fit


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """DNA and GCN JK-Pool with two layers, hardly trained."""
    folder = tmp_path_factory.mktemp("runs")
    torch.set_num_threads(1)  # what is made for all tests comes before the setting for each
    fit(load("cora"), ModelConfig(layers=2, hidden=16, heads=8), Protocol(max_epochs=8), output=folder / "dna")
    gcn = ModelConfig("gcn", layers=2, hidden=16, jump="pool")
    fit(load("cora"), gcn, Protocol(max_epochs=5), output=folder / "gcn")
    return folder / "dna", folder / "gcn"


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three nodes with names, on a path."""
    folder = tmp_path_factory.mktemp("graphs") / "people"
    folder.mkdir()
    rows = ("id,label,split,age", "[b]ann[/b],cat,train,3", "bob,dog,val,8", "cy,cat,test,2")
    (folder / "nodes.csv").write_text("\n".join(rows))
    (folder / "edges.csv").write_text("source,target\n[b]ann[/b],bob\nbob,cy\n")
    return folder


@pytest.fixture(scope="session")
def people_run(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "people"
    config = ModelConfig(layers=1, hidden=8, heads=2, groups=2)
    fit(read_graph(people), config, Protocol(max_epochs=1), output=folder)
    return folder
