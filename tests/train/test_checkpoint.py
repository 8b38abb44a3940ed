"""The state of a run in training, on disk."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from justjump.data import Graph
from justjump.files import FileError
from justjump.nn import ModelConfig, NodeClassifier
from justjump.train import Progress, Protocol, Run, RunError, fit, prepare
from justjump.train.checkpoint import STATE_FILE, State, load_state, remove_state, save_state, saved_epoch
from justjump.train.epochs import train_epoch
from justjump.train.objective import Objective
from justjump.train.optimizer import make_optimizer
from justjump.train.part import Part
from justjump.train.run import settings

SETTINGS = settings(ModelConfig(), Protocol(), seed=0, data_hash="")


def new_state() -> State:
    model = NodeClassifier(ModelConfig("gcn", layers=1, hidden=16), 6, 2)
    state = State(model, make_optimizer(model, Protocol()), {}, Progress())
    state.keep_best()
    return state


def step(state: State, graph: Graph) -> float:
    inputs = prepare(graph)
    return train_epoch(state.model, state.optimizer, inputs, Part.of(inputs, np.array([0, 1, 10])), Objective())


def test_a_state_goes_on_bit_for_bit(tiny: Graph, tmp_path: Path) -> None:
    state = new_state()
    state.progress = Progress(1, 1, -0.7, 0.5, [step(state, tiny)], [0.7], [0.5])
    save_state(state, SETTINGS, tmp_path)
    expected = [step(state, tiny) for _ in range(3)]  # with dropout: the generator is part of the state
    torch.manual_seed(99)
    other = new_state()
    load_state(other, SETTINGS, tmp_path)
    assert other.progress == state.progress
    assert all(torch.equal(value, state.best[name]) for name, value in other.best.items())
    assert [step(other, tiny) for _ in range(3)] == expected


def test_where_there_is_no_state_nothing_changes(tmp_path: Path) -> None:
    state = new_state()
    load_state(state, SETTINGS, tmp_path)
    assert state.progress == Progress()
    save_state(state, SETTINGS, tmp_path)
    remove_state(tmp_path)
    remove_state(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_settings_are_refused(tmp_path: Path) -> None:
    save_state(new_state(), SETTINGS, tmp_path)
    with pytest.raises(RunError, match="an unfinished run with other settings .*: choose another output folder"):
        load_state(new_state(), SETTINGS | {"seed": 1}, tmp_path)


def test_a_state_from_before_an_option_goes_on(tmp_path: Path) -> None:
    former = json.loads(json.dumps(SETTINGS))
    del former["config"]["keep_first"]
    save_state(new_state(), former, tmp_path)
    load_state(new_state(), SETTINGS, tmp_path)
    other = settings(ModelConfig(window=2, keep_first=True), Protocol(), seed=0, data_hash="")
    with pytest.raises(RunError, match="an unfinished run with other settings"):
        load_state(new_state(), other, tmp_path)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / STATE_FILE).write_bytes(b"\x00" * 100)
    with pytest.raises(RunError, match="cannot be read.*delete it to start the run again"):
        load_state(new_state(), SETTINGS, tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / STATE_FILE)
    with pytest.raises(RunError, match="cannot be read: it is a pipe or a device, expected a file; delete it to start"):
        load_state(new_state(), SETTINGS, tmp_path)
    assert saved_epoch(tmp_path) == 0


def change_state(folder: Path, tensors: dict[str, torch.Tensor | None], metadata: dict[str, str]) -> None:
    """Replace tensors (None: remove) and texts of a state, without a digest, as versions before digests wrote it."""
    path = folder / STATE_FILE
    with safe_open(path, framework="pt") as file:
        texts = {**file.metadata(), **metadata}
        old = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 - not a dict
    texts.pop("sha256", None)
    new = {name: value for name, value in (old | tensors).items() if value is not None}
    save_file(new, path, texts)


ZERO = torch.zeros(3)


@pytest.mark.parametrize(
    ("tensors", "reason"),
    [
        ({"adam.0.exp_avg": None}, "it lacks adam.0.exp_avg"),
        ({"adam.1.step": None}, "it lacks adam.1.step"),
        ({"adam.0.exp_avg_sq": ZERO}, r"adam.0.exp_avg_sq is torch.float32 \[3\], expected torch.float32 \[6, 16\]"),
        ({"adam.0.step": torch.tensor(1)}, r"adam.0.step is torch.int64 \[\], expected torch.float32 \[\]"),
        ({"adam.99.step": torch.tensor(1.0)}, "it has 'adam.99.step', which no run with these settings has"),
        ({"best.lin_in.weight": None}, "it lacks best.lin_in.weight"),
        ({"best.lin_in.weight": ZERO}, "best.lin_in.weight is"),
        ({"model.lin_in.weight": torch.zeros(6, 16, dtype=torch.float64)}, "model.lin_in.weight is torch.float64"),
        ({"random": None}, "it lacks random"),
        ({"random": ZERO}, "random is"),
        ({"random": torch.full_like(torch.get_rng_state(), 255)}, "Invalid"),
    ],
)
def test_a_state_that_is_not_whole_changes_nothing(
    tiny: Graph, tmp_path: Path, tensors: dict[str, torch.Tensor | None], reason: str
) -> None:
    state = new_state()
    state.progress = Progress(1, 1, -0.7, 0.5, [step(state, tiny)], [0.7], [0.5])
    save_state(state, SETTINGS, tmp_path)
    change_state(tmp_path, tensors, {})
    other = new_state()
    weights = {name: value.clone() for name, value in other.model.state_dict().items()}
    random = torch.get_rng_state()
    with pytest.raises(RunError, match=rf"state.safetensors cannot be read \(.*{reason}.*\): delete it to start"):
        load_state(other, SETTINGS, tmp_path)
    assert all(torch.equal(value, weights[name]) for name, value in other.model.state_dict().items())
    assert other.progress == Progress()
    assert torch.equal(torch.get_rng_state(), random)
    assert other.optimizer.state_dict()["state"] == {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"epoch": "1"}, "after epoch '1', epoch is '1'"),
        ({"epoch": -1}, "epoch is -1"),
        ({"best_epoch": 2}, "after epoch 1, best_epoch is 2"),
        ({"best_value": None}, "best_value is None"),
        ({"seconds": 10**400}, "seconds is 1000"),
        ({"loss": []}, r"loss is \[\]"),
        ({"val_loss": [float("nan")]}, r"val_loss is \[nan\]"),
        ({"val_accuracy": "1"}, "val_score is '1'"),
        ({"unknown": 1}, "unexpected keyword argument 'unknown'"),
        (5, "its progress is no object"),
    ],
)
def test_a_state_with_impossible_progress_is_refused(tiny: Graph, tmp_path: Path, change: Any, reason: str) -> None:
    state = new_state()
    state.progress = Progress(1, 1, -0.7, 0.5, [step(state, tiny)], [0.7], [0.5])
    save_state(state, SETTINGS, tmp_path)
    progress = {**vars(state.progress), **change} if isinstance(change, dict) else change
    change_state(tmp_path, {}, {"progress": json.dumps(progress)})
    with pytest.raises(RunError, match=rf"state.safetensors cannot be read \(.*{reason}.*\): delete it to start"):
        load_state(new_state(), SETTINGS, tmp_path)


SMALL = ModelConfig("gcn", layers=1, hidden=4, groups=1)
SHORT = Protocol(max_epochs=6)


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Two cliques of ten nodes."""
    block = np.kron(np.eye(2), np.ones((10, 10))) - np.eye(20)
    labels = np.repeat([0, 1], 10)
    features = np.random.RandomState(0).rand(20, 6) + labels[:, None]
    return Graph(np.stack(block.nonzero()), features, labels, ("left", "right"), name="cliques")


def stop(progress: Progress) -> None:
    if progress.epoch == 3:
        raise KeyboardInterrupt


def same_weights(a: Run, b: Run) -> bool:
    theirs = b.model.state_dict()
    return all(torch.equal(value, theirs[name]) for name, value in a.model.state_dict().items())


@pytest.mark.slow
def test_every_damaged_byte_of_a_state_is_noticed(graph: Graph, tmp_path: Path) -> None:
    fit(graph, SMALL, SHORT, output=tmp_path, on_epoch=stop)
    path = tmp_path / "state.safetensors"
    good = path.read_bytes()
    header = 8 + int.from_bytes(good[:8], "little")
    for position in [*range(0, header, 25), *range(header, len(good), 970), len(good) - 1]:
        damaged = bytearray(good)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(RunError, match="state.safetensors cannot be read.*delete it to start the run again"):
            fit(graph, SMALL, SHORT, output=tmp_path)
    for length in (0, 7, header, len(good) - 1):
        path.write_bytes(good[:length])
        with pytest.raises(RunError, match="state.safetensors cannot be read.*delete it"):
            fit(graph, SMALL, SHORT, output=tmp_path)
    path.write_bytes(good)
    assert same_weights(fit(graph, SMALL, SHORT, output=tmp_path), fit(graph, SMALL, SHORT))


def test_a_state_without_a_digest_goes_on(graph: Graph, tmp_path: Path) -> None:
    fit(graph, SMALL, SHORT, output=tmp_path, on_epoch=stop)
    change_state(tmp_path, {}, {})
    values = json.loads((tmp_path / "run.json").read_text())
    del values["weights_sha256"]
    (tmp_path / "run.json").write_text(json.dumps(values))
    epochs: list[int] = []
    resumed = fit(graph, SMALL, SHORT, output=tmp_path, on_epoch=lambda progress: epochs.append(progress.epoch))
    assert epochs == [4, 5, 6]
    assert same_weights(resumed, fit(graph, SMALL, SHORT))


def test_no_state_is_no_error(tmp_path: Path) -> None:
    state: Any = None
    load_state(state, {}, tmp_path)


def test_an_unfinished_run_goes_on_whatever_happened_to_its_weights(graph: Graph, tmp_path: Path) -> None:
    """A process may be killed between the weights and run.json, and the state has all that is needed."""
    fit(graph, SMALL, SHORT, output=tmp_path, on_epoch=stop)
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(RunError, match="model.safetensors is damaged"):
        Run.load(tmp_path)
    assert same_weights(fit(graph, SMALL, SHORT, output=tmp_path), fit(graph, SMALL, SHORT))
    assert Run.load(tmp_path).finished


def test_what_killed_processes_left_is_removed(graph: Graph, tmp_path: Path) -> None:
    run = fit(graph, SMALL, SHORT, output=tmp_path)
    leftovers = [".state.safetensors.99999999", "state.safetensors", ".model.safetensors.next"]
    leftovers.append(".split.safetensors.next")
    for name in leftovers:
        (tmp_path / name).write_bytes(b"half")
    assert same_weights(run, fit(graph, SMALL, SHORT, output=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "run.json", "split.safetensors"]
    (tmp_path / "model.safetensors").rename(tmp_path / ".model.safetensors.next")  # killed before its last step
    assert same_weights(run, Run.load(tmp_path))
    assert same_weights(run, fit(graph, SMALL, SHORT, output=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "run.json", "split.safetensors"]


@pytest.mark.parametrize("name", ["state.safetensors", "model.safetensors", "split.safetensors", "run.json"])
def test_a_full_disk_names_the_file_and_what_to_do(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Half of a file fits; then the disk is full. With space again, the same call goes on to the same bits."""
    real = Path.write_bytes

    def write(path: Path, data: bytes) -> int:
        if name in path.name:
            with path.open("wb") as file, Path("/dev/full").open("wb", buffering=0) as full:
                file.write(data[: len(data) // 2])
                full.write(data)
        return real(path, data)

    def write_text(path: Path, text: str, encoding: str) -> int:
        return write(path, text.encode(encoding))

    monkeypatch.setattr(Path, "write_bytes", write)
    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(FileError, match=f"cannot write .*{name}.*: No space left on device; free some space"):
        fit(graph, SMALL, SHORT, output=tmp_path)
    assert not list(tmp_path.glob(".*")), "nothing half-written stays"
    monkeypatch.undo()
    assert same_weights(fit(graph, SMALL, SHORT, output=tmp_path), fit(graph, SMALL, SHORT))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "run.json", "split.safetensors"]


def power_loss() -> Any:
    """The script that makes the folders which power failures could leave."""
    path = Path(__file__).parents[2] / "scripts" / "power_loss.py"
    spec = importlib.util.spec_from_file_location("power_loss", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["power_loss"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks up open files in /proc, which only Linux has")
def test_a_power_failure_loses_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    script = power_loss()
    count, problems = script.failures()
    assert count > 20
    assert problems == []
    monkeypatch.setattr("justjump.files._sync", lambda path: None)
    assert script.failures()[1], "the script would notice files that are not synced"


@pytest.mark.slow
def test_train_on_a_disk_that_fills_up(tmp_path: Path) -> None:
    """A disk of 300 KB, in a namespace of its own: nothing of it is left when the shell ends."""
    mount = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    disk = f"mount -t tmpfs -o size=300k tmpfs {tmp_path}"
    if shutil.which("unshare") is None or subprocess.run([*mount, disk], capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here: that takes unshare, and the right to make namespaces")
    train = f"{sys.executable} -m justjump train --dataset cora --layers 1 --max-epochs 2 --output {tmp_path}/run"
    command = [*mount, f"{disk} && {train}; echo $?; find {tmp_path} -type f"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    path = tmp_path / "run" / "split-0" / "state.safetensors"
    advice = "No space left on device; free some space and give the same command again"
    assert ended.stderr.splitlines()[-1] == f"error: cannot write {path}: {advice}"
    assert ended.stdout.split() == ["2"], "an error, and no file"
