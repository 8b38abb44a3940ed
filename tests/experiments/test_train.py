"""One network on several splits: what is printed, written and told."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from job_kinds import SHORT, SMALL, RaisingJob, small_job
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.train import run_jobs, train
from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import Run, RunError, memory


def write_graph(folder: Path, split: bool) -> GraphSpec:
    folder.mkdir()
    roles = ["train", "val", "test"]
    nodes = [f"{i},{'ab'[i % 2]},{roles[i % 3] if split else ''},{i % 2}" for i in range(30)]
    (folder / "nodes.csv").write_text("\n".join(["id,label,split,x", *nodes]))
    (folder / "edges.csv").write_text("\n".join(["source,target", *(f"{i},{(i + 2) % 30}" for i in range(30))]))
    return GraphSpec(path=str(folder))


def test_each_split_is_saved_and_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, output = write_graph(tmp_path / "graph", split=False), tmp_path / "runs"
    train(spec, SMALL, SHORT, splits=2, seed=5, jobs=1, output=output, tensorboard=None, as_json=True)
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert json.loads((output / "summary.json").read_text()) == report
    assert [run["seed"] for run in report["runs"]] == [5, 6]
    runs = [Run.load(output / f"split-{seed}") for seed in (5, 6)]
    accuracies = [100 * run.test_accuracy for run in runs if run.test_accuracy is not None]
    assert report["accuracy_mean"] == pytest.approx(sum(accuracies) / 2)
    assert "its own split" not in printed.err


def test_a_graph_with_a_split_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_graph(tmp_path / "graph", split=True)
    train(spec, SMALL, SHORT, splits=2, seed=0, jobs=1, output=None, tensorboard=None, as_json=False)
    printed = capsys.readouterr()
    assert "graph brings its own split: 2 initialisations on it" in printed.err
    assert printed.out.startswith("accuracy: ")


def test_notes_come_before_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = write_graph(tmp_path / "graph", split=False)
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    monkeypatch.setattr("justjump.experiments.train.run_jobs", lambda *_: pytest.fail("training came first"))
    with pytest.raises(pytest.fail.Exception):
        train(spec, SMALL, SHORT, splits=1, seed=0, jobs=1, output=None, tensorboard=None, as_json=False)
    assert "note: training will most likely not fit into memory" in capsys.readouterr().err


def test_a_run_that_fails_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        (tmp_path / "runs" / "split-0").mkdir()
        raise RunError("the loss is no number")

    spec, output, logs = write_graph(tmp_path / "graph", split=False), tmp_path / "runs", tmp_path / "logs" / "first"
    monkeypatch.setattr("justjump.experiments.train.run_jobs", fail)
    with pytest.raises(RunError, match="the loss is no number"):
        train(spec, SMALL, SHORT, splits=1, seed=0, jobs=1, output=output, tensorboard=logs, as_json=False)
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


def test_nothing_is_written_if_the_curves_cannot_be(tmp_path: Path) -> None:
    spec, output = write_graph(tmp_path / "graph", split=False), tmp_path / "runs"
    (tmp_path / "file").touch()
    with pytest.raises((RunError, OSError, ValueError)):
        train(spec, SMALL, SHORT, splits=1, seed=0, jobs=1, output=output, tensorboard=tmp_path / "file", as_json=False)
    assert not output.exists()


def test_the_first_failure_ends_all() -> None:
    jobs = [RaisingJob(GraphSpec("cora"), SMALL, SHORT, 0), small_job(1)]
    with pytest.raises(RunError, match="this job\ncannot be done"):
        run_jobs(jobs, ["bad", "good"], jobs=1)


def test_a_task_that_is_named_is_not_advised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_graph(tmp_path / "graph", split=False)
    spec = GraphSpec(path=str(tmp_path / "graph"), label_column="x")
    for protocol, last in ((replace(SHORT, task="regression"), "for each node"), (SHORT, "accuracy")):
        train(spec, SMALL, protocol, splits=1, seed=0, jobs=1, output=None, tensorboard=None, as_json=False)
        printed = capsys.readouterr()
        assert "--task" not in printed.err
        assert last in (printed.err if protocol.task == "regression" else printed.out)


def test_what_training_chose_is_said_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 8)).round(3)
    labels = (x @ rng.normal(size=(8, 3))).argmax(1)
    rows = [f"{node},{labels[node]},{','.join(map(str, x[node]))}" for node in range(600)]
    (tmp_path / "nodes.csv").write_text("\n".join([f"id,label,{','.join('abcdefgh')}", *rows]))
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *(f"{i},{(7 * i) % 600}" for i in range(600))]))
    spec, output = GraphSpec(path=str(tmp_path)), tmp_path / "runs"
    config = replace(recommended(ModelConfig), hidden=16, groups=1, heads=1)
    train(spec, config, SHORT, splits=2, seed=3, jobs=1, output=output, tensorboard=None, as_json=True)
    shares = [Run.load(output / f"split-{seed}").config.linear_share for seed in (3, 4)]
    printed = capsys.readouterr()
    assert [run["linear_share"] for run in json.loads(printed.out)["runs"]] == shares
    words = " to ".join(f"{share:g}" for share in sorted({share or 0.0 for share in shares}))
    assert shares[0]
    assert shares[1]
    assert f"linear_share: {words}, since a linear model of the features alone is at least as good as" in printed.err
