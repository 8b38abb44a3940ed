"""The commands train and predict as a user meets them: output, files, Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import QUICK, justjump, read_csv
from justjump import fit
from justjump.cli import main
from justjump.data import Graph, Parts, load
from justjump.train import Run


@pytest.mark.slow
def test_train_prints_the_accuracy() -> None:
    done = justjump("train", "--dataset", "cora", *QUICK, "--splits", "2", "--jobs", "1")
    first, second, *_ = done.stdout.splitlines()
    assert re.fullmatch(r"accuracy: \d+\.\d \+- \d+\.\d \(2 splits\)", first)
    assert second.startswith("balanced accuracy ")
    assert "[2/2] split 1: test accuracy" in done.stderr


@pytest.mark.slow
def test_json_and_any_number_of_jobs() -> None:
    reports = []
    for jobs in ("1", "2"):
        done = justjump("train", "--dataset", "cora", *QUICK, "--splits", "3", "--jobs", jobs, "--json")
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
    justjump("train", "--graph", folder, *QUICK, "--splits", "2", "--jobs", "1", "--output", runs)
    assert json.loads((runs / "summary.json").read_text())["splits"] == 2
    target = tmp_path / "predictions.csv"
    justjump("predict", runs, "--graph", folder, "--output", target)
    rows = read_csv(target)
    assert [row["node"] for row in rows] == [f"n{i}" for i in range(20)]
    assert {row["class"] for row in rows} <= {"a", "b"}
    assert all(0.5 <= float(row["probability"]) <= 1 for row in rows)


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
        run, output = tmp_path / "run", tmp_path / f"{name}.csv"
        if name == "a":
            justjump("train", "--graph", folder, *QUICK, "--output", run)
        justjump("predict", run, "--graph", folder, "--output", output)
        predictions[name] = read_csv(output)
    assert {row.pop("split") for row in predictions["a"]} == {"train", "val", "test"}  # b has no labels, so no split
    assert predictions["a"] == predictions["b"]


@pytest.mark.slow
def test_output_may_be_a_pipe_or_a_link(tmp_path: Path) -> None:
    run = tmp_path / "run"
    justjump("train", "--dataset", "cora", "--model", "gcn", *QUICK, "--output", run)
    (tmp_path / "target.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("target.csv")
    justjump("predict", run, "--graph", "cora", "--output", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text().startswith("node,class,probability")
    done = justjump("predict", run, "--graph", "cora", "--output", "/dev/stdout")
    assert done.stdout.startswith("node,class,probability")


def training(output: Path, jobs: str, splits: str = "2") -> list[str]:
    settings = ["--layers", "1", "--hidden", "16", "--heads", "4", "--groups", "4", "--patience", "1000"]
    arguments = ["train", "--dataset", "cora", *settings, "--max-epochs", "150", "--splits", splits]
    return [*arguments, "--jobs", jobs, "--output", str(output)]


def start_training(output: Path, jobs: str, splits: str = "2", **kwargs: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "justjump", *training(output, jobs, splits)]
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
    assert re.search(r"\[[1-4]/4\] split 3: test accuracy .* after 3 epochs", again)  # workers end in any order


@pytest.mark.slow
def test_ctrl_c_while_workers_start(tmp_path: Path) -> None:
    process = start_training(tmp_path, "2", start_new_session=True)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "process pool" not in errors
    assert "SpawnProcess" not in errors


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a training that nobody stops, and what it prints."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return folder, justjump(*training(folder, "1")).stdout


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_what_was_done_and_the_same_command_goes_on(
    tmp_path: Path, jobs: str, undisturbed: tuple[Path, str]
) -> None:
    whole, accuracy = undisturbed
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
    again = justjump(*training(tmp_path / "stopped", jobs))
    assert again.stdout == accuracy
    for run in stopped:
        if not run.finished:
            assert f"split {run.seed} goes on after epoch {run.epochs}\n" in again.stderr
    for split in ("split-0", "split-1"):
        a, b = (Run.load(folder / split) for folder in (whole, tmp_path / "stopped"))
        for name, value in a.model.state_dict().items():
            assert (b.model.state_dict()[name] == value).all()


@pytest.mark.slow
def test_predictions_for_an_embedded_dataset(tmp_path: Path) -> None:
    run = tmp_path / "run"
    justjump("train", "--dataset", "cora", "--model", "gcn", *QUICK, "--output", run)
    justjump("predict", run, "--graph", "cora", "--output", tmp_path / "out.csv")
    rows = read_csv(tmp_path / "out.csv")
    assert len(rows) == 2708
    assert {row["class"] for row in rows} <= set(load("cora").class_names)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A table as people have it, with its labels in a column called class."""
    folder = tmp_path / "people"
    folder.mkdir()
    nodes = [
        f"n{i},{'ab'[i % 2]},{20000 + 9000 * (i % 2) + i if i % 7 else ''},{['Bonn', 'Ulm'][i % 2]}" for i in range(30)
    ]
    (folder / "nodes.csv").write_text("id,class,income,city\n" + "\n".join(nodes) + "\n")
    edges = [f"n{i},n{(i + 2) % 30}" for i in range(30)]
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(edges) + "\n")
    return folder


@pytest.mark.slow
def test_a_table_is_trained_on_and_predicted(people: Path, tmp_path: Path) -> None:
    done = justjump(
        "train", "--graph", people, *QUICK, "--splits", "2", "--jobs", "2", "--output", tmp_path / "run", "--json"
    )
    assert json.loads(done.stdout)["splits"] == 2
    said = done.stderr.splitlines()
    assert said[0].startswith(f"note: {people}/nodes.csv: the column 'class' is taken as the label; choose another")
    assert said[1] == "task: multiclass, 2 classes (a, b) for each node"
    done_with = "features: income: standardised (missing values marked), city: 2 categories"
    assert said[2] == f"{done_with}; 2 columns become 5 inputs"
    assert done.stderr.count("is taken as the label") == 1
    nodes = (people / "nodes.csv").read_text().splitlines()
    turned = [",".join(reversed(line.split(","))) for line in nodes]
    (people / "nodes.csv").write_text("\n".join(turned).replace("Bonn", "Rome") + "\n")
    done = justjump("predict", tmp_path / "run", "--graph", people, "--output", tmp_path / "out.csv")
    assert "taken as the label" not in done.stderr, "the run knows it"
    assert len(read_csv(tmp_path / "out.csv")) == 30


@pytest.mark.parametrize(
    ("nodes", "options", "message"),
    [
        ("id,x,target\na,1,0\nb,2,1\n", [], "if 'target' is the label, say so with --label target"),
        ("id,label,x\na,u,1\nb,v,inf\n", [], "line 3: the feature 'x' must be a finite number, got inf"),
        ("id,label,x\na,u,1\nb,v,2\n", ["--label", "kind"], "no column 'kind' for the label: choose from label, x"),
        ("id,label,x\na,u,1e39\nb,v,2\n", ["--scale", "none"], "node 0 has 1e+39 in 'x', which is too large"),
        ("id,label,x\na,u,1\nb,v,2\n", ["--scale", "all"], "'all' is not one of 'auto', 'none', 'standard', 'rows'"),
    ],
)
def test_bad_tables_are_one_sentence_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    nodes: str,
    options: list[str],
    message: str,
) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    (folder / "nodes.csv").write_text(nodes)
    (folder / "edges.csv").write_text("source,target\na,b\n")
    command = ["train", "--graph", str(folder), *QUICK, "--output", str(tmp_path / "run"), *options]
    monkeypatch.setattr(sys, "argv", ["justjump", *command])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main changes it
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_predictions_over_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cora = load("cora")
    parts = cora.partition(3, tmp_path / "parts", method=np.arange(2708) % 3)
    run = fit(parts, model="gcn", layers=1, hidden=16, groups=1, max_epochs=2, output=tmp_path / "run")

    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main changes it

    def predict(*arguments: object, run: str = "run", code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["justjump", "predict", str(tmp_path / run), *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code or 0) == code
        return capsys.readouterr().err

    output = tmp_path / "out.csv"
    said = predict("--graph", parts.folder, "--output", output, "--scratch", tmp_path / "new")
    assert (
        f"{run.split_sizes[2]:,} test nodes: accuracy {100 * (run.test_accuracy or 0):.1f}, balanced accuracy" in said
    )
    assert said.endswith(f"the classes of 2708 nodes are in {output}\n")
    rows = {int(row["node"]): row for row in read_csv(output)}
    classes, probabilities = run.predict(cora)
    assert [rows[node]["class"] for node in range(2708)] == [cora.class_names[one] for one in classes]
    assert float(rows[5]["probability"]) == pytest.approx(probabilities[5].max(), abs=1e-5)

    small, damaged = random_parts(tmp_path / "small"), random_parts(tmp_path / "damaged").folder
    (damaged / "manifest.json").unlink()
    for arguments, run_folder, words in (
        (("--graph", small.folder), "run", "error: small has 2 features per node, but the model expects 1433"),
        (("--graph", parts.folder), "no", "holds no run: it has no run.json"),
        (("--graph", tmp_path / "run"), "run", "nodes.csv does not exist"),
        (("--graph", damaged), "run", "damaged has no manifest.json, so it is no graph in parts"),
        (("--graph", "cora", "--workers", "2"), "run", "--workers and --scratch are for a graph in parts"),
        (("--graph", parts.folder, "--directed"), "run", "--directed was chosen when"),
        (("--graph", parts.folder, "--workers", "4"), "run", "4 workers cannot share 3 parts"),
    ):
        said = predict(*arguments, "--output", tmp_path / "none.csv", run=run_folder, code=2)
        assert words in said
        assert len(said.splitlines()) == 1
    assert not (tmp_path / "none.csv").exists()


def random_parts(folder: Path) -> Parts:
    graph = Graph(np.array([[0], [1]]), np.eye(2, dtype=np.float32), np.array([0, 1]), ("a", "b"), name="small")
    return graph.partition(2, folder, method=np.array([0, 1]), scale="none")
