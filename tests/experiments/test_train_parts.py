"""``justjump train`` on a graph in parts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from command_line import justjump
from justjump.cli.app import app
from justjump.data import DataError, load
from justjump.experiments.train_parts import train_parts
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run

CONFIG = ModelConfig("gcn", layers=1, hidden=16, groups=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    part = np.arange(2708) % 3
    return load("cora").partition(3, tmp_path / "parts", method=part).folder


def train(
    folder: Path,
    output: Path,
    timeout: str = "1m",
    verify: bool = True,
    protocol: Protocol = Protocol(max_epochs=5),  # noqa: B008 - it cannot be changed
    **options: Path,
) -> None:
    own: dict[str, Any] = {"workers": 1, "engine": "local", "address": None, "splits": 2, "seed": 4, "as_json": True}
    own |= {"scratch": None, "verify": verify, "worker_timeout": timeout, "output": output, **options}
    train_parts(folder, CONFIG, protocol, **own)


def test_splits_are_summed_up(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out"
    train(folder, output, scratch=tmp_path / "new", tensorboard=tmp_path / "logs")
    printed = capsys.readouterr()
    assert printed.err.startswith("task: multiclass, 7 classes (")
    summary = json.loads(printed.out)
    assert summary["splits"] == 2
    assert [run["seed"] for run in summary["runs"]] == [4, 5]
    assert json.loads((output / "summary.json").read_text()) == summary
    assert Run.load(output / "split-5").epochs == 5
    (log,) = (tmp_path / "logs").glob("cora-*/seed-5")
    curves = EventAccumulator(str(log))
    curves.Reload()
    assert [event.step for event in curves.Scalars("accuracy/val")] == [1, 2, 3, 4, 5]
    assert curves.Scalars("accuracy/test")[0].value == pytest.approx(summary["runs"][1]["test_accuracy"] / 100)


def test_every_changed_byte_is_noticed_before_training(folder: Path, tmp_path: Path) -> None:
    for path in sorted((folder / "part-00001").iterdir()):
        content = path.read_bytes()
        path.write_bytes(content[:-3] + bytes([content[-3] ^ 4]) + content[-2:])
        with pytest.raises(DataError, match=f"{path.name} was altered: its SHA-256 is not that of the manifest"):
            train(folder, tmp_path / "out")
        path.write_bytes(content)
    (folder / "part-00002" / "original.npy").write_bytes(b"")
    with pytest.raises(DataError, match="original.npy is no array"):
        train(folder, tmp_path / "out", verify=False)
    assert not (tmp_path / "out").exists(), "training has not begun"
    with pytest.raises(ValueError, match="--worker-timeout soon: write a time such as 90s, 10m or 2h"):
        train(folder, tmp_path / "out", timeout="soon")


def test_what_is_refused_leaves_no_folder(folder: Path, tmp_path: Path) -> None:
    for protocol in (Protocol(batch_size=10), Protocol(task="regression")):
        with pytest.raises(ValueError, match="graph"):
            train(folder, tmp_path / "out", protocol=protocol, scratch=tmp_path / "a" / "b", tensorboard=tmp_path / "c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts"]


@pytest.mark.slow
def test_the_command(folder: Path, tmp_path: Path) -> None:
    network = ("--model", "gcn", "--layers", "1", "--hidden", "16", "--groups", "1", "--max-epochs", "4")
    done = justjump("train", "--graph", folder, "--workers", "2", "--output", tmp_path / "two", *network)
    assert "accuracy:" in done.stdout
    justjump("train", "--graph", folder, "--output", tmp_path / "one", *network)
    one, two = ((tmp_path / name / "split-0" / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two
    altered = folder / "part-00001" / "col.npy"
    altered.write_bytes(altered.read_bytes()[:-1] + b"x")
    for command in ("predict", "attention"):
        run = tmp_path / "one" / "split-0"
        with pytest.raises(DataError, match="col.npy was altered: its SHA-256"):
            app([command, str(run), "--graph", str(folder), "--output", str(tmp_path / "out")], standalone_mode=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("--tune", "1m"),
            "--tune searches on a graph in memory: search on a smaller graph of the same kind",
        ),
        (("--device", "cuda"), "--device cuda: a graph in parts is trained on the CPU, leave it out"),
        (("--jobs", "2"), "--jobs 2: splits of a graph in parts are trained in turn, use --workers"),
        (("--dataset", "cora"), "--dataset was chosen when parts was partitioned: leave it out"),
        (("--label", "x"), "--label was chosen when parts was partitioned: leave it out"),
        (("--address", "a:1"), "--address a:1 is for --engine ray: name the engine, too"),
        (("--batch-size", "8"), "batch_size=8 is not for graphs in parts: a step takes all nodes"),
        (("--workers", "2", "--graph", "cora.npz"), "--workers and --scratch are for a graph in parts: make one with"),
        (("--engine", "ray", "--graph", "cora.npz"), "--engine ray is for a graph in parts: make one with justjump"),
    ],
)
def test_what_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: str) -> None:
    monkeypatch.chdir(folder.parent)
    with pytest.raises((ValueError, typer.BadParameter), match=words):
        app(["train", "--graph", "parts", *options], standalone_mode=False)


def test_the_plan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app(["train", "--graph", str(folder), "--plan", "--device", "cpu"], standalone_mode=False)
    assert "memory of a worker with --scratch: about " in capsys.readouterr().out
