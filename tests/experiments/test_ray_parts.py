"""Ray starts the workers, on two nodes of which one is lost: the same bytes."""

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from justjump import fit
from justjump.data.parts import Parts
from justjump.experiments.ray_parts import _cause, _reason, train_with_ray
from justjump.nn import ModelConfig
from justjump.train import Protocol, RunError
from made_graphs import made_graph
from ray_clusters import two_nodes

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the warnings are Ray's own
CONFIG = ModelConfig("gcn", layers=1, hidden=16, groups=1)


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return made_graph("multiclass", 60).partition(3, tmp_path / "parts", method=np.arange(60) % 3)


@pytest.fixture
def cluster() -> Iterator[Any]:
    with two_nodes() as started:
        yield started


def test_a_node_is_lost_and_the_files_are_the_same_bytes(
    cluster: Any, parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each node has room for one worker, so one worker is left."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "20")  # Ray tries to start two workers for so long
    protocol, output, seen = Protocol(max_epochs=400, stop="never"), tmp_path / "ray", []

    def lose_a_node() -> None:
        while not (output / "state.safetensors").exists():
            time.sleep(0.01)
        cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
        seen.append((output / "run.json").exists())

    thread = threading.Thread(target=lose_a_node, daemon=True)
    thread.start()
    options: dict[str, Any] = {
        "workers": 2,
        "address": cluster.address,
        "seed": 0,
        "scratch": None,
        "worker_timeout": 20,
    }
    train_with_ray(parts, CONFIG, protocol, output=output, **options)
    thread.join()
    assert seen == [False], "the node was lost in the middle"
    said = [line for line in capsys.readouterr().err.splitlines() if ": new workers go on after epoch " in line]
    assert len(said) <= 1, "none if training ends before Ray notices the loss"
    for line in said:
        assert re.match(r"worker \d was lost \(.*\): new workers go on after epoch \d+$", line)
    fit(parts, CONFIG, protocol, output=tmp_path / "alone")
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("ray", "alone"))
    assert one == other


def test_the_error_that_explains_the_others_is_raised() -> None:
    class Failed(Exception):
        worker_failures: ClassVar = {0: RuntimeError("lost the others"), 1: RunError("the reason")}

    assert _reason(_cause(Failed("Training failed"))) == "the reason"
    failed = Failed("Training failed")
    failed.controller_failure = OSError("No space left on device")  # type: ignore[attr-defined]
    failed.worker_failures = {}  # type: ignore[misc]
    assert _reason(_cause(failed)) == "No space left on device"
    assert _reason(_cause(TimeoutError())) == "TimeoutError"


def test_nothing_answers(parts: Parts) -> None:
    options = {"workers": 2, "seed": 0, "output": None, "scratch": None}
    with pytest.raises(RunError, match="no Ray cluster answers at 127.0.0.1:1 "):
        train_with_ray(parts, ModelConfig(), Protocol(), address="127.0.0.1:1", **options)  # type: ignore[arg-type]
