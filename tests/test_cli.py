"""The command line as a user meets it: output, files, errors, exit codes."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from justjump.data import load
from justjump.train import Run

QUICK = ["--layers", "1", "--hidden", "16", "--heads", "4", "--groups", "4", "--max-epochs", "3"]
COMMANDS = ["train", "predict", "datasets", "demo", "info", "bench", "reproduce", "sweep", "results"]
COMMANDS += ["influence", "attention", "explore"]


def justjump(*arguments: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "justjump", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **kwargs)


def read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str) -> None:
    done = justjump(command, "--help")
    assert done.returncode == 0
    assert f"Example: justjump {command}" in done.stdout


@pytest.mark.slow
def test_train_prints_the_accuracy() -> None:
    done = justjump("train", "--dataset", "cora", *QUICK, "--splits", "2", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"accuracy: \d+\.\d \+- \d+\.\d \(2 splits\)\n", done.stdout)
    assert "[2/2] split 1: test accuracy" in done.stderr


@pytest.mark.slow
def test_json_and_any_number_of_jobs() -> None:
    reports = []
    for jobs in ("1", "2"):
        done = justjump("train", "--dataset", "cora", *QUICK, "--splits", "3", "--jobs", jobs, "--json")
        assert done.returncode == 0, done.stderr
        reports.append(json.loads(done.stdout))
    for report in reports:
        assert {"accuracy_mean", "accuracy_std", "splits", "config", "seconds"} <= set(report)
        assert report["splits"] == 3
        assert report["config"]["hidden"] == 16
    accuracies = [[run["test_accuracy"] for run in report["runs"]] for report in reports]
    assert accuracies[0] == accuracies[1]
    assert reports[0]["accuracy_mean"] == pytest.approx(np.mean(accuracies[0]))
    assert reports[0]["accuracy_std"] == pytest.approx(np.std(accuracies[0], ddof=1))


@pytest.mark.slow
def test_train_then_predict_on_own_graph(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    nodes = [f"n{i},{'' if i % 5 == 0 else 'ab'[i % 2]},{i % 2}.0,{i}" for i in range(20)]
    (folder / "nodes.csv").write_text("id,label,parity,number\n" + "\n".join(nodes) + "\n")
    edges = [f"n{i},n{(i + 2) % 20}" for i in range(20)]
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(edges) + "\n")
    runs = tmp_path / "runs"
    done = justjump("train", "--graph", str(folder), *QUICK, "--splits", "2", "--jobs", "1", "--output", str(runs))
    assert done.returncode == 0, done.stderr
    assert json.loads((runs / "summary.json").read_text())["splits"] == 2
    target = tmp_path / "predictions.csv"
    done = justjump("predict", str(runs), "--graph", str(folder), "--output", str(target))
    assert done.returncode == 0, done.stderr
    rows = read_csv(target)
    assert [row["node"] for row in rows] == [f"n{i}" for i in range(20)]
    assert {row["class"] for row in rows} <= {"a", "b"}
    assert all(0.5 <= float(row["probability"]) <= 1 for row in rows)


@pytest.mark.slow
def test_datasets_without_a_folder_downloads_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "JUSTJUMP_DATA": str(tmp_path)}
    done = justjump("datasets", "--json", env=environment)
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows if row["here"]] == ["cora"]
    assert rows[0]["here"] == {key: rows[0]["paper"][key] for key in ("nodes", "edges", "features", "classes")}
    assert "2,708 / 5,278 / 1,433 / 7" in justjump("datasets", env=environment).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--dataset", "corra"], "there is no dataset 'corra': did you mean cora?"),
        (["train", "--dataset", "cora", "--groups", "6"], "groups=6 does not divide hidden=128"),
        (["train", "--dataset", "cora", "--groups", "3", "--hidden", "24"], "groups=3 does not divide heads=8"),
        (["train", "--dataset", "cora", "--model", "mlp"], "mlp"),
        (["train"], "name either --dataset or --graph"),
        (["train", "--graph", "/nowhere.npz"], "/nowhere.npz does not exist"),
        (["train", "--dataset", "cora", "--watch", "f1"], "f1"),
        (["train", "--dataset", "cora", "--patience", "0"], "patience=0 must be at least 1"),
        (["predict", "/nowhere", "--graph", "cora", "--output", "x.csv"], "/nowhere holds no run"),
        (["train", "--dataset", "cora", "--layer", "3"], "--layer"),
        (["fly"], "fly"),
        (["train", "--dataset", "cora", "--output", "/dev/null/x"], "--output /dev/null/x cannot be created"),
        (["train", "--graph", "mygraph"], "mygraph does not exist"),
        (["train", "--dataset", "cora", "--directed"], "--directed is for --graph"),
        (["train", "--dataset", "cora", "--layers", "two"], "'--layers': 'two' "),
        (["attention", "runs/dna", "--by", "foo"], "'--by': 'foo' is not one of 'all'"),
        (["sweep", "--dataset", "cora", "--search", "2", "--grid", "small"], "leave out --search or --grid"),
        (["sweep", "--dataset", "cora", "--model", "foo"], "no model 'foo': choose from all, gcn, gat, dna, gcn-none"),
        (["reproduce", "--dataset", "cora", "--store", __file__], "test_cli.py is a file: a store is a folder"),
        (["results", "nowhere"], "there is no store at nowhere"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = justjump(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_help_lists_commands_in_order_and_what_may_be_chosen() -> None:
    listed = justjump("--help").stdout.split("Commands:")[1].split("\n  ")
    assert [line.split()[0] for line in listed[1:4]] == ["train", "predict", "explore"]
    for command in ("train", "predict", "reproduce", "sweep", "results"):
        assert next(line for line in listed if line.startswith(f"{command} ")).strip().endswith("."), "not cut off"
    wide = {**os.environ, "COLUMNS": "500", "TERMINAL_WIDTH": "500"}
    helps = {command: justjump(command, "--help", env=wide).stdout for command in ("reproduce", "sweep")}
    assert helps["reproduce"].count("[default: all]") == 2
    choices = justjump("sweep", "--dataset", "cora", "--model", "foo").stderr.split("choose from ")[1].split(", ")
    for text in helps.values():
        assert set(map(str.strip, choices)) <= set(re.findall(r"[\w-]+", text.replace("-\n  ", "-")))


def test_no_command_shows_the_help_and_version_works() -> None:
    assert "Commands:" in justjump().stdout
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", justjump("--version").stdout)


@pytest.mark.slow
def test_columns_in_another_order_give_the_same_predictions(tmp_path: Path) -> None:
    predictions = {}
    for name, columns in {"a": ["id", "label", "x", "y"], "b": ["y", "id", "x"]}.items():
        folder = tmp_path / name
        folder.mkdir()
        rows = [{"id": i, "label": "ab"[i % 2], "x": i % 2, "y": 1 - i % 2} for i in range(30)]
        lines = [",".join(columns), *(",".join(str(row[column]) for column in columns) for row in rows)]
        (folder / "nodes.csv").write_text("\n".join(lines) + "\n")
        edges = [f"{i},{(i + 2) % 30}" for i in range(30)]
        (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
        run, output = str(tmp_path / "run"), tmp_path / f"{name}.csv"
        if name == "a":
            done = justjump("train", "--graph", str(folder), *QUICK, "--output", run)
            assert done.returncode == 0, done.stderr
        assert justjump("predict", run, "--graph", str(folder), "--output", str(output)).returncode == 0
        predictions[name] = output.read_text()
    assert predictions["a"] == predictions["b"]


@pytest.mark.slow
def test_output_may_be_a_pipe_or_a_link(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert justjump("train", "--dataset", "cora", "--model", "gcn", *QUICK, "--output", str(run)).returncode == 0
    (tmp_path / "target.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("target.csv")
    assert justjump("predict", str(run), "--graph", "cora", "--output", str(tmp_path / "link.csv")).returncode == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text().startswith("node,class,probability")
    done = justjump("predict", str(run), "--graph", "cora", "--output", "/dev/stdout")
    assert done.stdout.startswith("node,class,probability")


@pytest.mark.slow
def test_debug_shows_the_traceback() -> None:
    done = justjump("train", "--dataset", "cora", "--groups", "6", "--debug")
    assert done.returncode != 0
    assert "Traceback" in done.stderr


def start_training(output: Path, jobs: str, splits: str = "2", **kwargs: Any) -> subprocess.Popen[str]:
    settings = ["--layers", "1", "--hidden", "16", "--heads", "4", "--groups", "4", "--patience", "1000"]
    arguments = ["train", "--dataset", "cora", *settings, "--max-epochs", "300", "--splits", splits]
    command = [sys.executable, "-m", "justjump", *arguments, "--jobs", jobs, "--output", str(output)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)


def wait_for_first_epoch(process: subprocess.Popen[str], output: Path) -> None:
    while not list(output.glob("split-*/state.safetensors")):
        assert process.poll() is None
        time.sleep(0.05)


@pytest.mark.slow
def test_ctrl_c_ends_splits_that_have_not_begun(tmp_path: Path) -> None:
    process = start_training(tmp_path, "2", splits="9")
    wait_for_first_epoch(process, tmp_path)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "of 9 splits: the same command goes on" in errors
    assert errors.count("stopping: running jobs end after their epoch") == 1


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_split_that_is_finished_is_said_to_be_there(tmp_path: Path, jobs: str) -> None:
    asked = ["train", "--dataset", "cora", *QUICK, "--jobs", jobs, "--output", str(tmp_path), "--splits"]
    assert "already there" not in justjump(*asked, "3").stderr, "however short an epoch is"
    again = justjump(*asked, "4").stderr
    for split in range(3):
        assert f"split {split} is already there: test accuracy" in again
    assert re.search(r"\[4/4\] split 3: test accuracy .* after 3 epochs", again)


@pytest.mark.slow
def test_ctrl_c_while_workers_start(tmp_path: Path) -> None:
    process = start_training(tmp_path, "2", start_new_session=True)
    time.sleep(3)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "process pool" not in errors
    assert "SpawnProcess" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_what_was_done_and_the_same_command_goes_on(tmp_path: Path, jobs: str) -> None:
    whole = start_training(tmp_path / "whole", jobs)
    accuracy = whole.communicate(timeout=300)[0]
    process = start_training(tmp_path / "stopped", jobs)
    wait_for_first_epoch(process, tmp_path / "stopped")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "the same command goes on" in errors
    stopped = [Run.load(path.parent) for path in (tmp_path / "stopped").glob("split-*/run.json")]
    assert stopped
    assert not all(run.finished for run in stopped)
    assert start_training(tmp_path / "stopped", jobs).communicate(timeout=300)[0] == accuracy
    for split in ("split-0", "split-1"):
        a, b = (Run.load(tmp_path / kind / split) for kind in ("whole", "stopped"))
        for name, value in a.model.state_dict().items():
            assert (b.model.state_dict()[name] == value).all()


@pytest.mark.slow
def test_predictions_for_an_embedded_dataset(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = justjump("train", "--dataset", "cora", "--model", "gcn", *QUICK, "--output", str(run))
    assert done.returncode == 0, done.stderr
    done = justjump("predict", str(run), "--graph", "cora", "--output", str(tmp_path / "out.csv"))
    assert done.returncode == 0, done.stderr
    rows = read_csv(tmp_path / "out.csv")
    assert len(rows) == 2708
    assert {row["class"] for row in rows} <= set(load("cora").class_names)
