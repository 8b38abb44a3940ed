"""A run on disk: what comes back is what was saved, and nothing in it is executed."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from justjump.data import load
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, RunError, fit
from justjump.train.run import find_run


@pytest.fixture(scope="module")
def run() -> Run:
    config = ModelConfig("gat", layers=1, hidden=16, heads=4, groups=4, jump="pool")
    return fit(load("cora"), config, Protocol(max_epochs=2, stratified=False))


def test_round_trip(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path)
    loaded = Run.load(tmp_path)
    assert loaded.to_dict() == run.to_dict()
    cora = load("cora")
    for a, b in zip(loaded.predict(cora), run.predict(cora), strict=True):
        assert np.array_equal(a, b)


def test_other_features_are_refused(run: Run) -> None:
    cora = load("cora")
    with pytest.raises(RunError, match="1000 features per node, but the model expects 1433"):
        run.predict(replace(cora, features=cora.features[:, :1000]))


def test_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no run"):
        Run.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"config": {"model": "dna", "unknown": 1}},
        {"config": {"model": "dna", "groups": 7}},
        {"num_features": 5},
        {"num_features": "many"},
        {"class_names": []},
        {"seed": None, "extra": 1},
    ],
)
def test_changed_settings_are_refused(run: Run, tmp_path: Path, change: dict[str, object]) -> None:
    run.save(tmp_path)
    values = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(values | change))
    with pytest.raises(RunError):
        Run.load(tmp_path)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('executed')",))


@pytest.mark.parametrize("name", ["run.json", "model.safetensors"])
@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe" * 40, pickle.dumps(Bomb())])
def test_broken_or_hostile_files_are_refused(run: Run, tmp_path: Path, name: str, content: bytes) -> None:
    run.save(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RunError):
        Run.load(tmp_path)


def test_the_best_of_several_splits_on_validation(run: Run, tmp_path: Path) -> None:
    for number, accuracy in enumerate((0.3, 0.9, 0.6)):
        replace(run, seed=number, val_accuracy=accuracy).save(tmp_path / f"split-{number}")
    assert find_run(tmp_path).seed == 1
    assert find_run(tmp_path / "split-2").seed == 2
    with pytest.raises(RunError, match="holds no run"):
        find_run(tmp_path / "split-9")
