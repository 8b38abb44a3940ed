"""``justjump train`` on a graph in parts."""

import json
from pathlib import Path

import numpy as np
import pytest

from command_line import justjump
from justjump.data import load
from justjump.experiments.train_parts import train_parts
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run

CONFIG = ModelConfig("gcn", layers=1, hidden=16, groups=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    part = np.arange(2708) % 3
    return load("cora").partition(3, tmp_path / "parts", method=part).folder


def test_splits_are_summed_up(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, options = (
        tmp_path / "out",
        {"workers": 1, "engine": "local", "address": None, "splits": 2, "seed": 4, "as_json": True},
    )
    train_parts(folder, CONFIG, Protocol(max_epochs=5), scratch=tmp_path / "new", output=output, **options)  # type: ignore[arg-type]
    summary = json.loads(capsys.readouterr().out)
    assert summary["splits"] == 2
    assert [run["seed"] for run in summary["runs"]] == [4, 5]
    assert json.loads((output / "summary.json").read_text()) == summary
    assert Run.load(output / "split-5").epochs == 5


@pytest.mark.slow
def test_the_command(folder: Path, tmp_path: Path) -> None:
    network = ("--model", "gcn", "--layers", "1", "--hidden", "16", "--groups", "1", "--max-epochs", "4")
    done = justjump("train", "--graph", folder, "--workers", "2", "--output", tmp_path / "two", *network)
    assert "accuracy:" in done.stdout
    justjump("train", "--graph", folder, "--output", tmp_path / "one", *network)
    one, two = ((tmp_path / name / "split-0" / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two
    done = justjump("train", "--graph", folder, "--tune", "1m", code=2)
    assert "--tune is not for a graph in parts: leave it out" in done.stderr
    done = justjump("train", "--dataset", "cora", "--workers", "2", code=2)
    assert "--workers, --scratch and --engine are for a graph in parts: make one with justjump partition" in done.stderr
