"""A grid of networks, and the choice on validation alone."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from command_line import justjump
from justjump.experiments.execute import Outcome
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.readings import DEFAULT, READINGS
from justjump.experiments.reproduce import Setting
from justjump.experiments.store import Store
from justjump.experiments.summary import Summary
from justjump.experiments.sweep import Candidate, Tried, best, candidates, sweep
from justjump.nn import ModelConfig
from justjump.train import Protocol

READING = READINGS[DEFAULT]


@pytest.mark.slow
def test_shards_cover_all_once_and_merge(tmp_path: Path) -> None:
    grid = ("--model", "gcn-none", "--grid", tmp_path / "grid.json", "--splits", "2")
    asked = ("sweep", "--dataset", "cora", *grid, "--jobs", "1")
    (tmp_path / "grid.json").write_text('{"hidden": [16, 32], "layers": [1], "groups": [1], "max_epochs": [2]}')
    for part in (1, 2):
        done = justjump(*asked, "--shard", f"{part}/2", "--store", tmp_path / f"part-{part}")
        assert f"shard {part} of 2: 2 of all 4 jobs, 0 done before" in done.stderr
        assert f"justjump results ALL --merge {tmp_path / f'part-{part}'} --merge ..." in done.stderr
        assert done.stdout == "", "a part has nothing to choose from"
    merged = justjump("results", tmp_path / "all", "--merge", tmp_path / "part-1", "--merge", tmp_path / "part-2")
    counts = [int(line.split(": ")[1].split()[0]) for line in merged.stderr.splitlines() if "results added" in line]
    assert sum(counts) == 4
    whole = justjump(*asked, "--store", tmp_path / "all")
    assert "4 jobs, 4 done before" in whole.stderr
    table = next(csv.DictReader((tmp_path / "all" / "sweep-cora-gcn-none-grid.csv").read_text().splitlines()))
    assert json.loads(table["options"]) == {"max_epochs": 2, "patience": 100}
    assert "1/128/16" in whole.stdout, "the paper's choice stands beside ours"


def write_graph(folder: Path) -> Path:
    folder.mkdir()
    nodes = [f"{i},{'abc'[i % 3]},{i % 3},{i % 7}" for i in range(60)]
    (folder / "nodes.csv").write_text("\n".join(["id,label,x,y", *nodes]))
    (folder / "edges.csv").write_text("\n".join(["source,target", *(f"{i},{(i + 3) % 60}" for i in range(60))]))
    return folder


@pytest.mark.slow
def test_a_sweep_names_the_graph_and_ends_with_commands_that_train_the_choice(tmp_path: Path) -> None:
    (tmp_path / "grid.json").write_text('{"hidden": [16], "layers": [1], "learning_rate": [0.02], "max_epochs": [30]}')
    graph = ("--graph", write_graph(tmp_path / "my-graph"), "--model", "gcn-pool", "--grid", tmp_path / "grid.json")
    done = justjump("sweep", *graph, "--splits", "1", "--jobs", "1", "--store", tmp_path)
    assert (
        "my-graph gcn-pool 1/16/16 learning_rate=0.02 patience=100 max_epochs=30 split 0: test accuracy" in done.stderr
    )
    assert "my-graph: chosen on validation" in done.stdout
    assert "1 of 1 configuration complete, 1 split each" in done.stdout
    assert "graph-" not in done.stdout.replace("my-graph-", "")
    assert "+-" not in done.stdout, "one split has no deviation"
    assert (tmp_path / "sweep-my-graph-gcn-pool-grid.csv").is_file()
    name, command = next(line for line in done.stdout.splitlines() if line.startswith("train ")).split(": ", 1)
    assert name == "train gcn-pool with learning_rate=0.02 patience=100 max_epochs=30"
    options = shlex.split(command)[1:]
    assert "--heads" not in options, "GCN has none"
    assert options[-1] == "runs/my-graph-gcn-pool-1-16-16-learning_rate-0.02-patience-100-max_epochs-30"
    options[-1] = str(tmp_path / "run")
    again = justjump(*options)
    test = re.search(r"gcn-pool +1/16/16 +\S+ +(\S+)", done.stdout)
    assert test is not None
    assert again.stdout.startswith(f"accuracy: {float(test[1]):.1f} (1 split)\n")


def test_the_choice_is_made_on_validation_alone() -> None:
    def one(val: float, loss: float, test: float) -> Tried:
        candidate = Candidate("dna-g1", ModelConfig(hidden=int(128 + 128 * test)), Protocol())
        return Tried(candidate, val, loss, 0.1, Summary(test, 0.1, 10), 1.0)

    found = [one(80, 0.5, 1), one(82, 0.6, 2), one(82, 0.5, 3), one(79, 0.1, 4)]
    assert best(found) is found[2]


def test_grids(tmp_path: Path) -> None:
    assert len(candidates("paper", "dna", READING)) == 120
    assert len(candidates("paper", "gcn", READING)) == 240
    assert 0 < len(candidates("small", "gat-none", READING)) < 20
    assert [len(candidates("small", row, READING)) for row in ("gcn-none", "dna-g1", "dna-g16")] == [12, 6, 6]
    for text, message in (
        ("[1]", "must map names to lists"),
        ('{"layers": "two"}', "'layers' needs a list of values, not \"two\""),
        ('{"layers": []}', "'layers' needs a list of values"),
        ('{"layers": ["two"]}', "grid.json: layers=two: "),
        ('{"patience": [null]}', "grid.json: patience=None: "),
        ('{"hidden": [16, 20]}', "grid.json: hidden=20: heads=8 does not divide hidden=20"),
        ('{"depth": [3]}', "'depth' is no option: choose from attention, attention_dropout, attention_warmup, "),
        ('{"groups": [8]}', "dna-g1 has groups=1: leave out 'groups', and choose rows with --model"),
        ('{"model": ["gcn"]}', "dna-g1 has model=dna: leave out 'model'"),
        ("{", "is no JSON"),
    ):
        (tmp_path / "grid.json").write_text(text)
        with pytest.raises(ValueError, match=message) as error:
            candidates(str(tmp_path / "grid.json"), "dna-g1", READING)
        assert "model, " not in str(error.value)
    (tmp_path / "grid.json").write_text('{"jump": ["lstm"]}')
    with pytest.raises(ValueError, match="gcn-pool has jump=pool"):
        candidates(str(tmp_path / "grid.json"), "gcn-pool", READING)
    assert candidates(str(tmp_path / "grid.json"), "dna-g8", READING)[0].config.jump == "lstm"
    (tmp_path / "grid.json").write_text('{"batch_size": [512]}')
    with pytest.raises(ValueError, match="GAT of the reading historic needs whole graphs: take --reading patience-100"):
        candidates(str(tmp_path / "grid.json"), "gat-none", READING)
    with pytest.raises(ValueError, match="write paper, small or a JSON file"):
        candidates("big", "dna-g1", READING)


@pytest.mark.slow
def test_numbers_are_chosen_by_their_own_measure(tmp_path: Path) -> None:
    folder = tmp_path / "prices"
    folder.mkdir()
    nodes = [f"{i},{i % 5 + i / 97:.3f},{i % 5},{i % 3}" for i in range(60)]
    (folder / "nodes.csv").write_text("\n".join(["id,price,x,y", *nodes]))
    (folder / "edges.csv").write_text("\n".join(["source,target", *(f"{i},{(i + 5) % 60}" for i in range(60))]))
    grid = tmp_path / "grid.json"
    grid.write_text('{"hidden": [16], "layers": [1], "groups": [1], "max_epochs": [2, 3]}')
    asked = ("sweep", "--graph", folder, "--label", "price", "--model", "gcn-none", "--grid", grid, "--splits", "1")
    done = justjump(*asked, "--jobs", "1", "--store", tmp_path / "store")
    assert "2 of 2 configurations complete" in done.stdout
    table = next((tmp_path / "store").glob("sweep-*.csv"))
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 2
    assert float(rows[0]["val_mean"]) >= float(rows[1]["val_mean"])
    assert float(rows[0]["val_mean"]) <= 1, "R2, not a share in percent"


def test_a_failure_on_few_splits_ends_a_race_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network that fails on its second split is left out of the final, and the command ends with a failure."""
    (tmp_path / "grid.json").write_text('{"hidden": [16, 32, 64], "layers": [1], "groups": [1]}')
    ran: list[tuple[int, int]] = []

    def run(setting: Setting, jobs: list[Job], store: Store) -> Outcome:
        failed = []
        for job in jobs:
            if job in store:
                continue
            ran.append((job.config.hidden, job.seed))
            if (job.config.hidden, job.seed) == (64, 1):
                failed.append((job, "it broke"))
            else:
                store.add(
                    job,
                    {"test_accuracy": 0.5, "val_accuracy": job.config.hidden / 100, "val_loss": 1.0, "seconds": 1.0},
                )
        return Outcome(tuple(failed), 0)

    monkeypatch.setattr(Setting, "run", run)
    setting = Setting(tmp_path, 1)
    with pytest.raises(SystemExit) as left:
        sweep(GraphSpec("cora"), "gcn-none", str(tmp_path / "grid.json"), 3, setting, READING, finalists=1)
    assert left.value.code == 1
    assert ran == [(16, 0), (32, 0), (64, 0), (64, 1), (32, 1), (16, 1), (32, 2)]


@pytest.mark.slow
def test_finalists_alone_run_on_all_splits(tmp_path: Path) -> None:
    (tmp_path / "grid.json").write_text('{"hidden": [16, 32], "layers": [1, 2], "groups": [1, 2], "max_epochs": [2]}')
    grid = ("--model", "gcn-none,gcn-pool", "--grid", tmp_path / "grid.json")
    asked = ("sweep", "--dataset", "cora", *grid, "--splits", "3", "--finalists", "2", "--reading", "patience-10")
    done = justjump(*asked, "--jobs", "2", "--store", tmp_path)
    assert "4 of 16 configurations complete, 3 splits each" in done.stdout
    table = list(
        csv.DictReader((tmp_path / "sweep-cora-gcn-none,gcn-pool-grid-patience-10.csv").read_text().splitlines())
    )
    for row in ("gcn-none", "gcn-pool"):
        ours = [one for one in table if one["model"] == row]
        assert sorted(int(one["splits"]) for one in ours) == [1] * 2 + [2] * 4 + [3] * 2
    assert all(json.loads(one["options"]) == {"max_epochs": 2} for one in table)
    refused = justjump(*asked, "--store", tmp_path, "--shard", "1/2", code=2)
    assert "--finalists needs all results to decide what runs next: leave out --shard" in refused.stderr
