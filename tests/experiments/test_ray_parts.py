"""Ray starts the workers, on two nodes of which one is lost: the same bytes."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from justjump import fit
from justjump.data.parts import Parts
from justjump.experiments.ray_parts import train_with_ray
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
    cluster: Any, parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each node has room for one worker, so one worker is left."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
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
    fit(parts, CONFIG, protocol, output=tmp_path / "alone")
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("ray", "alone"))
    assert one == other

    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "state.safetensors").write_text("{")
    with pytest.raises(RunError, match="training with Ray has failed: .*state.safetensors cannot be read"):
        train_with_ray(parts, CONFIG, protocol, output=tmp_path / "bad", **options)


def test_nothing_answers(parts: Parts) -> None:
    options = {"workers": 2, "seed": 0, "output": None, "scratch": None}
    with pytest.raises(RunError, match="no Ray cluster answers at 127.0.0.1:1 "):
        train_with_ray(parts, ModelConfig(), Protocol(), address="127.0.0.1:1", **options)  # type: ignore[arg-type]
