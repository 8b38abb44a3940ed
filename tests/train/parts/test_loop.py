"""Whole runs on graphs in parts."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from justjump import fit
from justjump.data import Graph
from justjump.data.parts import Parts
from justjump.files import FileError
from justjump.nn import ModelConfig
from justjump.train import Progress, Protocol, Run, RunError, show
from justjump.train.checkpoint import saved_epoch
from justjump.train.parts.costs import between_workers, epoch_bytes
from justjump.train.parts.loop import train_as_worker
from justjump.train.show import shown_bytes

from .conftest import Make, Turns, in_turns, random_graph

pytestmark = pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")

SMALL: dict[str, Any] = {"layers": 2, "hidden": 16, "heads": 4, "groups": 4, "max_epochs": 6, "seed": 1}


def weights(run: Run) -> list[torch.Tensor]:
    return list(run.model.state_dict().values())


def assert_same(one: Run, other: Run) -> None:
    assert all(map(torch.equal, weights(one), weights(other)))
    assert (one.val_loss, one.epochs, one.best_epoch) == (other.val_loss, other.epochs, other.best_epoch)
    assert one.measures == other.measures


def as_worker(parts: Parts, like: Run, transport: Turns, output: Path, on_epoch: Any = None) -> Run:
    """One worker's part of a run with the same settings."""
    options: dict[str, Any] = {
        "split": None,
        "seed": like.seed,
        "scratch": None,
        "on_epoch": on_epoch,
        "progress": False,
    }
    return train_as_worker(parts, like.config, like.protocol, transport, output=output, **options)


def in_new_order(graph: Graph, original: np.ndarray) -> np.ndarray:
    new = np.empty(len(original), np.int64)
    new[original] = np.arange(len(original))
    return new


def test_a_run_is_that_of_the_whole_graph(make_parts: Make) -> None:
    """The whole graph with the numbers that the parts give its nodes, and with the same split."""
    parts = make_parts(random_graph(sparse=True, weighted=True))
    run = fit(parts, **SMALL)
    assert run.split is not None
    new = in_new_order(parts.to_graph(), parts.collect("original"))
    split = type(run.split)(*(new[rows] for rows in (run.split.train, run.split.val, run.split.test)))
    whole = fit(parts.to_graph(), split=split, scale="none", **SMALL)
    for one, other in zip(weights(run), weights(whole), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)
    assert run.val_loss == pytest.approx(whole.val_loss, abs=1e-5)
    assert run.split_sizes == (12, 12, 36)


def test_workers_of_several_machines_give_the_same_run(make_parts: Make, tmp_path: Path, machines: int) -> None:
    parts = make_parts()
    run = fit(parts, **SMALL)
    for found in in_turns(3, lambda transport: as_worker(parts, run, transport, tmp_path / "run")):
        assert_same(run, found)


@pytest.mark.parametrize("options", [{}, {"model": "gat", "jump": "concat"}, {"average": 0.9, "watch": "macro_f1"}])
def test_memory_disk_and_workers_give_the_same_run(make_parts: Make, tmp_path: Path, options: dict[str, Any]) -> None:
    parts, options = make_parts(), SMALL | options
    run = fit(parts, **options)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert_same(run, fit(parts, scratch=scratch, **options))
    assert list(scratch.iterdir()) == []

    for found in in_turns(3, lambda transport: as_worker(parts, run, transport, tmp_path / "run")):
        assert_same(run, found)
    assert_same(run, Run.load(tmp_path / "run"))


def stop_after_3(progress: Progress) -> None:
    if progress.epoch == 3:
        raise KeyboardInterrupt


@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 3), (3, 2), (3, 1)])
def test_a_run_that_was_stopped_goes_on_with_any_number_of_workers(
    make_parts: Make, tmp_path: Path, before: int, after: int
) -> None:
    parts, output = make_parts(), tmp_path / "run"
    whole = fit(parts, **SMALL)
    for stopped in in_turns(before, lambda transport: as_worker(parts, whole, transport, output, stop_after_3)):
        assert (stopped.finished, stopped.epochs) == (False, 3)
    for run in in_turns(after, lambda transport: as_worker(parts, whole, transport, output)):
        assert_same(whole, run)
    values = json.loads((output / "run.json").read_text())
    assert values["graph_name"] == "random"
    with pytest.raises(RunError, match="other settings"):
        fit(parts, output=output, **SMALL | {"hidden": 32})


def test_each_epoch_has_its_checkpoint(make_parts: Make, tmp_path: Path) -> None:
    """A kill repeats one epoch at most: when an epoch ends, the one before it is on the disk."""
    parts, output, whole = make_parts(), tmp_path / "run", fit(make_parts(), **SMALL)
    seen: list[tuple[int, int]] = []

    def look(progress: Progress) -> None:
        seen.append((progress.epoch, saved_epoch(output)))
        if progress.epoch == 5:
            raise SystemError("killed")

    with pytest.raises(SystemError):
        fit(parts, output=output, on_epoch=look, **SMALL)
    assert seen == [(epoch, epoch - 1) for epoch in range(1, 6)]
    repeated: list[int] = []
    assert_same(whole, fit(parts, output=output, on_epoch=lambda one: repeated.append(one.epoch), **SMALL))
    assert repeated[0] == 5


def test_a_checkpoint_of_another_graph_is_refused(make_parts: Make, tmp_path: Path) -> None:
    """Also of the same graph in other parts, whose sums are others."""
    output, part = tmp_path / "run", np.arange(60) % 3
    whole = fit(make_parts(part=part, parts=3), output=output, on_epoch=stop_after_3, **SMALL)
    for name in ("run.json", "model.safetensors", "split.safetensors"):
        (output / name).unlink()  # as if it had been killed
    for other in (make_parts(random_graph(seed=1), part, 3), make_parts(part=2 - part, parts=3)):
        with pytest.raises(RunError, match=r"holds an unfinished run with other settings \(the data\): choose another"):
            fit(other, output=output, **SMALL)

    def see_different_folders(transport: Turns) -> Run:
        own = output if transport.rank == 0 else tmp_path / "elsewhere"
        return as_worker(make_parts(part=part, parts=3), whole, transport, own)

    message = "worker 0 goes on after epoch 3, but worker 1 after epoch 0: all workers must see the same folder"
    with pytest.raises(RunError, match=message):
        in_turns(2, see_different_folders)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if mount is None or subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]).returncode:
        pytest.skip("only root on Linux may mount a disk of one megabyte")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(make_parts: Make, small_disk: Path) -> None:
    parts, output, room = make_parts(), small_disk / "run", small_disk / "room"
    whole = fit(parts, **SMALL)
    fit(parts, output=output, on_epoch=stop_after_3, **SMALL)
    with suppress(OSError):
        room.write_bytes(bytes(2**20))  # as much as there is room for
    full: list[dict[str, Any]] = [{"output": output}, {"scratch": small_disk}]
    for options in full:
        with pytest.raises(FileError, match=r"cannot write .*: No space left on device; free some space") as error:
            fit(parts, **options, **SMALL)
        assert "\n" not in str(error.value)
    room.unlink()
    assert sorted(path.name for path in small_disk.iterdir()) == ["run"]
    assert saved_epoch(output) == 3
    assert_same(whole, fit(parts, output=output, **SMALL))


def test_other_tasks(make_parts: Make) -> None:
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((60, 2)).astype(np.float32)
    numbers[3, 1] = np.nan
    graph = replace(random_graph(), labels=numbers, class_names=("x", "y"), task="regression")
    run = fit(make_parts(graph), **SMALL)
    assert set(run.measures["test"]) == {"mae", "rmse", "r2"}
    labels = (numbers > 0).astype(np.float32)
    graph = replace(graph, labels=labels, task="multilabel")
    assert fit(make_parts(graph), class_weight="balanced", calibrate=True, **SMALL).objective.temperature != 1
    with pytest.raises(ValueError, match="task='multiclass', but the graph was partitioned for 'multilabel'"):
        fit(make_parts(graph), task="multiclass", **SMALL)


def test_few_labels(make_parts: Make) -> None:
    """Only nodes of the split are measured; the others have no labels."""
    graph = random_graph()
    graph = replace(graph, labels=np.where(np.arange(60) % 4 == 1, graph.labels, -1))
    run = fit(make_parts(graph), **SMALL)
    assert run.split is not None
    assert run.split.test.max() > sum(run.split_sizes) == 15
    right = (run.predict(graph).classes == graph.labels)[run.split.test]
    assert right.mean() == pytest.approx(run.test_accuracy)
    assert run.confusion is not None
    assert np.sum(run.confusion) == len(right)


def test_progress_says_how_much_was_sent(
    make_parts: Make, machines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(show, "SECONDS_BETWEEN_LINES", 0.0)
    parts, config, protocol = make_parts(), ModelConfig("gcn", layers=1, hidden=16, groups=1), Protocol(max_epochs=2)
    options = {"split": None, "seed": 0, "scratch": None, "on_epoch": None, "output": None, "progress": True}
    in_turns(3, lambda transport: train_as_worker(parts, config, protocol, transport, **options))  # type: ignore[arg-type]
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("epoch")]
    sent = epoch_bytes(between_workers(parts, 3), config)
    assert len(lines) == 2  # the first worker alone says something
    assert re.fullmatch(rf"epoch 2, val accuracy \d+\.\d, 0 s or more left, {shown_bytes(2 * sent)} sent", lines[1])


def test_predictions_need_no_parts(make_parts: Make) -> None:
    """A run is one like any other: it predicts the graph as it was before."""
    graph = random_graph()
    run = fit(make_parts(graph), **SMALL)
    found = run.predict(graph)
    right = (found.classes == graph.labels)[run.split.test]  # type: ignore[union-attr]
    assert right.mean() == pytest.approx(run.test_accuracy)


def test_what_does_not_go_together(make_parts: Make) -> None:
    with pytest.raises(ValueError, match="is trained on the CPU"):
        fit(make_parts(), inputs=object(), **SMALL)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="workers"):
        fit(random_graph(), workers=2)
