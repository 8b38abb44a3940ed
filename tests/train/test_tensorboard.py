"""TensorBoard logs: every epoch once, whatever stopped the run in between."""

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import justjump
from justjump.data import Graph
from justjump.files import FileError
from justjump.nn import ModelConfig
from justjump.train import Progress, Protocol, Run, fit
from justjump.train.tensorboard import EVENT_FILES, RunLog, check_log_folder, run_folder

CONFIG = ModelConfig(layers=1, hidden=8, heads=2, groups=2)
PROTOCOL = Protocol(max_epochs=6, patience=100)
CURVES = ("loss/train", "loss/val", "accuracy/val")


def ring(nodes: int = 30) -> Graph:
    number = np.arange(nodes)
    edges = np.stack([np.r_[number, (number + 2) % nodes], np.r_[(number + 2) % nodes, number]])
    return Graph(edges, np.eye(nodes), number % 2, ("even", "odd"), name="ring")


def logged_run(folder: Path | str | None, output: Path | None = None, stop_after: int | None = None) -> Run:
    def stop(progress: Progress) -> None:
        if progress.epoch == stop_after:
            raise KeyboardInterrupt

    with RunLog(folder) as log:
        run = fit(ring(), CONFIG, PROTOCOL, output=output, on_epoch=log.then(stop if stop_after else None))
        log.finish(run)
    return run


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """All points that stand in the files of a log, as written."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    points: dict[str, list[tuple[int, float]]] = {}
    for path in sorted(folder.glob(EVENT_FILES)):
        for event in LegacyEventFileLoader(str(path)).Load():
            for value in event.summary.value:
                points.setdefault(value.tag, []).append((event.step, value.simple_value))
    return points


def steps(folder: Path, curve: str) -> list[int]:
    return [step for step, _ in read(folder)[curve]]


def test_curves_settings_and_test_accuracy(tmp_path: Path) -> None:
    run = logged_run(tmp_path)
    points = read(tmp_path)
    for curve in CURVES:
        assert [step for step, _ in points[curve]] == [1, 2, 3, 4, 5, 6]
    assert dict(points["loss/val"])[run.best_epoch] == pytest.approx(run.val_loss)
    ((epoch, accuracy),) = points["accuracy/test"]
    assert epoch == run.best_epoch
    assert accuracy == pytest.approx(run.test_accuracy)
    assert "_hparams_/session_start_info" in points


def test_settings_are_named_as_in_config_and_protocol(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    logged_run(tmp_path)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    hparams = HParamsPluginData.FromString(content).session_start_info.hparams
    assert hparams["hidden"].number_value == 8
    assert hparams["watch"].string_value == "loss"
    assert hparams["graph"].string_value == "ring"


@pytest.mark.parametrize("stop_after", [1, 3])
def test_a_resumed_run_has_every_step_once(tmp_path: Path, stop_after: int) -> None:
    log, output = tmp_path / "log", tmp_path / "run"
    assert not logged_run(log, output, stop_after).finished
    assert steps(log, "loss/train") == list(range(1, stop_after + 1))
    assert "accuracy/test" not in read(log)
    assert logged_run(log, output).finished
    whole = tmp_path / "whole"
    logged_run(whole)
    assert {tag: values for tag, values in read(log).items() if not tag.startswith("_")} == {
        tag: values for tag, values in read(whole).items() if not tag.startswith("_")
    }


def test_epochs_after_the_last_checkpoint_are_not_there_twice(tmp_path: Path) -> None:
    log, output = tmp_path / "log", tmp_path / "run"
    logged_run(log, output, stop_after=2)
    with RunLog(log) as later:  # the process died in epoch 5, its last checkpoint is of epoch 2
        later(Progress(5, loss=[1.0] * 5, val_loss=[1.0] * 5, val_score=[0.5] * 5))
    logged_run(log, output)
    assert steps(log, "loss/train") == [1, 2, 3, 4, 5, 6]


def test_a_finished_run_leaves_its_log_as_it_is(tmp_path: Path) -> None:
    log, output = tmp_path / "log", tmp_path / "run"
    logged_run(log, output)
    before = {path: path.read_bytes() for path in log.iterdir()}
    logged_run(log, output)
    assert {path: path.read_bytes() for path in log.iterdir()} == before


def test_what_a_finished_run_lacks_is_added(tmp_path: Path) -> None:
    log, output = tmp_path / "log", tmp_path / "run"
    with RunLog(log) as only_epochs:
        run = fit(ring(), CONFIG, PROTOCOL, output=output, on_epoch=only_epochs)
    logged_run(log, output)
    logged_run(log, output)
    assert steps(log, "loss/train") == [1, 2, 3, 4, 5, 6]
    assert steps(log, "accuracy/test") == [run.best_epoch]


def test_no_folder_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    logged_run(None)
    assert not list(tmp_path.iterdir())


def test_other_settings_have_another_folder() -> None:
    folders = {
        run_folder("logs", name, config, protocol, seed)
        for name in ("cora", "ring")
        for config in (CONFIG, replace(CONFIG, dropout=0.1))
        for protocol in (PROTOCOL, replace(PROTOCOL, patience=5))
        for seed in (0, 1)
    }
    assert len(folders) == 16


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"file/logs cannot be created: Not a directory"):
        check_log_folder(tmp_path / "file" / "logs")


@pytest.mark.parametrize("after", [0, 3, 12])
def test_a_full_disk_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], after: int
) -> None:
    from tensorboard.summary.writer.record_writer import RecordWriter

    real, records = RecordWriter.write, []

    def write(writer: Any, data: bytes) -> None:  # in TensorBoard's thread
        records.append(data)
        if len(records) > after:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(writer, data)

    monkeypatch.setattr(RecordWriter, "write", write)
    with pytest.raises(FileError, match=rf"log in {tmp_path}: No space left on device; free some space and give the"):
        logged_run(tmp_path)
    assert "Traceback" not in capfd.readouterr().err


SETTINGS = ["--dataset", "cora", "--model", "gcn", "--layers", "1", "--hidden", "16", "--max-epochs", "3"]


@pytest.mark.slow
def test_the_command_logs_every_split(tmp_path: Path) -> None:
    justjump("train", *SETTINGS, "--splits", "2", "--jobs", "2", "--tensorboard", "logs", cwd=tmp_path)
    folders = sorted(path.parent for path in tmp_path.glob(f"logs/*/*/{EVENT_FILES}"))
    assert [folder.name for folder in folders] == ["seed-0", "seed-1"]
    for folder in folders:
        assert steps(folder, "loss/train") == [1, 2, 3]
        assert "accuracy/test" in read(folder)


@pytest.mark.slow
def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path) -> None:
    stub = tmp_path / "missing" / "tensorboard" / "__init__.py"
    stub.parent.mkdir(parents=True)
    stub.write_text("raise ImportError\n")
    path = os.pathsep.join([str(stub.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = justjump("train", *SETTINGS, "--tensorboard", "logs", cwd=tmp_path, env=environment, code=2)
    assert done.stderr == "error: TensorBoard is not installed: pip install 'justjump[tensorboard]'\n"
    assert not (tmp_path / "logs").exists()
