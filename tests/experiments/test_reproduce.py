"""The commands reproduce, sweep and results."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from justjump.experiments import paper, table1
from justjump.experiments.jobs import Job, Source
from justjump.experiments.reproduce import Setting, chosen, parse_shard, write_all
from justjump.experiments.search import train_command
from justjump.experiments.store import Store
from justjump.experiments.summary import Summary
from justjump.experiments.sweep import Candidate, Tried, best, candidates, rows
from justjump.nn import ModelConfig
from justjump.train import Protocol


def justjump(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "justjump", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def cells() -> list[table1.Cell]:
    """A table with a cell that agrees, one that is close, one that is off, and some that are missing."""
    shifts = {"gcn-none": 0.5, "gcn-concat": 0.95, "gat-none": 3.0}
    return [
        table1.Cell(dataset, model, _shifted(model, dataset, shifts.get(model)), 12.0, "not run: data not at hand")
        for dataset in ("cora", "cora_full")
        for model in paper.MODELS
    ]


def _shifted(model: str, dataset: str, by: float | None) -> Summary | None:
    if by is None or dataset == "cora_full":
        return None
    return Summary(paper.TABLE1[model][dataset].mean + by, 0.4, 10)


def test_verdicts(cells: list[table1.Cell]) -> None:
    found = {cell.model: cell.verdict for cell in cells if cell.dataset == "cora"}
    assert found["gcn-none"] == "yes"
    assert found["gcn-concat"] == "close"
    assert found["gat-none"] == "no"
    assert found["dna-g1"] == "-"
    assert table1.summary_line(cells).startswith("1 of 3 cells are within the spread, 2 within one point")
    assert table1.summary_line(cells).endswith("19 were not run")


def test_every_form_shows_figures_and_what_is_missing(cells: list[table1.Cell], tmp_path: Path) -> None:
    write_all(cells, tmp_path)
    mean = f"{paper.TABLE1['gcn-none']['cora'].mean + 0.5:.2f}"
    markdown = (tmp_path / "table1.md").read_text()
    assert f"**{mean} ± 0.40**" in markdown
    assert markdown.count("not run: data not at hand") == 2 * 19
    latex = (tmp_path / "table1.tex").read_text()
    assert rf"${mean} \pm 0.40$" in latex
    assert latex.count("--") == 19
    lines = list(csv.DictReader((tmp_path / "table1.csv").read_text().splitlines()))
    assert len(lines) == 22
    assert list(lines[0]) == list(table1.COLUMNS)
    assert lines[0]["accuracy_mean"] == mean
    assert (lines[-1]["accuracy_mean"], lines[-1]["splits"]) == ("", "0")
    assert (tmp_path / "table1.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "table1.png").stat().st_size > 20_000


def test_reproduce_runs_once_and_sums_up(tmp_path: Path) -> None:
    asked = ("reproduce", "--dataset", "cora", "--model", "gcn-none,dna-g8", "--splits", "2", "--store", tmp_path)
    first = justjump(*asked)
    assert "4 jobs, 0 of them" in first.stderr
    assert "DNA g=8" in first.stdout
    again = justjump(*asked)
    assert "4 of them" in again.stderr
    assert "test accuracy" not in again.stderr
    shown = justjump("reproduce", "--dataset", "cora", "--show", "--store", tmp_path)
    assert "9 were not run" in shown.stdout
    justjump(*asked)
    line = next(csv.DictReader((tmp_path / "table1.csv").read_text().splitlines()))
    with Store(tmp_path / "results.sqlite", read_only=True) as store:
        config = paper.published("gcn-none", "cora")
        summary = Summary.of(store.results([Job(Source("cora"), config, Protocol(), seed) for seed in range(2)]))
    assert summary is not None
    assert line["accuracy_mean"] == f"{summary.mean:.2f}"
    assert (line["model"], line["config"], line["splits"]) == ("gcn-none", "1/128/16", "2")

    done = justjump("results", tmp_path, "--csv", tmp_path / "all.csv", "--parquet", tmp_path / "all.parquet")
    assert "cora" in done.stdout
    frame = pd.read_parquet(tmp_path / "all.parquet")
    assert len(frame) == len(pd.read_csv(tmp_path / "all.csv")) == 4
    assert frame["test_accuracy"].between(0.5, 1).all()
    assert len(json.loads(justjump("results", tmp_path, "--json").stdout)["results"]) == 4


def test_shards_cover_all_once_and_merge(tmp_path: Path) -> None:
    asked = ("sweep", "--dataset", "cora", "--model", "gcn-none", "--grid", tmp_path / "grid.json", "--splits", "2")
    (tmp_path / "grid.json").write_text('{"hidden": [16, 32], "layers": [1], "groups": [1], "max_epochs": [2]}')
    for part in (1, 2):
        justjump(*asked, "--shard", f"{part}/2", "--store", tmp_path / f"part-{part}")
    merged = justjump("results", tmp_path / "all", "--merge", tmp_path / "part-1", "--merge", tmp_path / "part-2")
    counts = [int(line.split(": ")[1].split()[0]) for line in merged.stderr.splitlines() if "results added" in line]
    assert sum(counts) == 4
    whole = justjump(*asked, "--store", tmp_path / "all")
    assert "4 jobs, 4 of them" in whole.stderr
    table = next(csv.DictReader((tmp_path / "all" / "sweep-cora-gcn-none.csv").read_text().splitlines()))
    assert json.loads(table["options"]) == {"max_epochs": 2}
    assert "1/128/16" in whole.stdout, "the paper's choice stands beside ours"


def test_search_is_repeatable_and_ends_with_a_command(tmp_path: Path) -> None:
    asked = ("sweep", "--dataset", "cora", "--model", "gcn", "--search", "2", "--splits", "1", "--store", tmp_path)
    first = justjump(*asked)
    again = justjump(*asked)
    assert first.stdout == again.stdout
    assert "test accuracy" not in again.stderr.replace("best so far", "")
    assert "train it: justjump train --dataset cora --model gcn" in first.stdout


def test_the_choice_is_made_on_validation_alone() -> None:
    def one(val: float, loss: float, test: float) -> Tried:
        candidate = Candidate("dna-g1", ModelConfig(hidden=int(128 + 128 * test)), Protocol())
        return Tried(candidate, val, loss, 0.1, Summary(test, 0.1, 10), 1.0)

    found = [one(80, 0.5, 1), one(82, 0.6, 2), one(82, 0.5, 3), one(79, 0.1, 4)]
    assert best(found) is found[2]


def test_grids(tmp_path: Path) -> None:
    assert len(candidates("paper", "dna", Protocol())) == 120
    assert len(candidates("paper", "gcn", Protocol())) == 240
    assert 0 < len(candidates("small", "gat-none", Protocol())) < 20
    assert rows("gat-pool") == ["gat-pool"]
    for text, message in (
        ("[1]", "must map names to lists"),
        ('{"layers": 3}', "must map names to lists"),
        ('{"depth": [3]}', "'depth' is no option"),
        ("{", "is no JSON"),
    ):
        (tmp_path / "grid.json").write_text(text)
        with pytest.raises(ValueError, match=message):
            candidates(str(tmp_path / "grid.json"), "dna-g1", Protocol())
    with pytest.raises(ValueError, match="write paper, small or a JSON file"):
        candidates("big", "dna-g1", Protocol())


def test_bad_names_and_shards() -> None:
    assert chosen(["cora,pubmed"], list(paper.DATASETS), "dataset") == ["cora", "pubmed"]
    assert chosen(["all"], paper.MODELS, "model") == list(paper.MODELS)
    with pytest.raises(ValueError, match="no dataset 'ogb'"):
        chosen(["ogb"], list(paper.DATASETS), "dataset")
    for text in ("0/2", "3/2", "2", "a/b", "1/0"):
        with pytest.raises(ValueError, match="write i/n"):
            parse_shard(text)
    with pytest.raises(ValueError, match="--address is for --engine ray"):
        Setting(Path("x"), 1, "local", "auto").make_engine()


def test_the_command_of_a_search_names_every_option_that_differs() -> None:
    candidate = Candidate("gat-search", ModelConfig("gat", layers=2, jump="pool"), Protocol(learning_rate=0.01))
    command = train_command(Source(path="my graph.npz", directed=True), candidate)
    assert command == (
        "justjump train --graph 'my graph.npz' --directed --model gat --layers 2 --jump pool --learning-rate 0.01 "
        "--output runs/best"
    )
