"""Ray starts the workers: the same bytes."""

from pathlib import Path

import numpy as np
import pytest

from justjump import fit
from justjump.data import load
from justjump.experiments.ray_parts import train_with_ray
from justjump.nn import ModelConfig
from justjump.train import Protocol, RunError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the warnings are Ray's own


def test_the_files_are_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    parts = load("cora").partition(3, tmp_path / "parts", method=np.arange(2708) % 3)
    config, protocol = ModelConfig("gcn", layers=1, hidden=16, groups=1), Protocol(max_epochs=3)
    options = {"workers": 2, "address": None, "seed": 0, "scratch": None}
    train_with_ray(parts, config, protocol, output=tmp_path / "ray", **options)  # type: ignore[arg-type]
    fit(parts, config, protocol, output=tmp_path / "alone")
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("ray", "alone"))
    assert one == other


def test_nothing_answers(tmp_path: Path) -> None:
    parts = load("cora").partition(2, tmp_path / "parts", method=np.arange(2708) % 2)
    options = {"workers": 2, "seed": 0, "output": None, "scratch": None}
    with pytest.raises(RunError, match="no Ray cluster answers at 127.0.0.1:1 "):
        train_with_ray(parts, ModelConfig(), Protocol(), address="127.0.0.1:1", **options)  # type: ignore[arg-type]
