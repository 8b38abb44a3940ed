"""The commands reproduce, sweep and results."""

import csv
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from job_kinds import small_job
from justjump.experiments import paper, table1
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.picture import draw
from justjump.experiments.reproduce import Setting, chosen, parse_shard, reproduce, rows, shard_of, show, write_all
from justjump.experiments.store import Store
from justjump.experiments.summary import Summary
from justjump.experiments.sweep import Candidate, Tried, best, candidates
from justjump.experiments.words import train_command
from justjump.nn import ModelConfig
from justjump.train import Protocol, RunError


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
    assert table1.summary_line(cells).startswith("within the spread: 1 of 3 cells; within one point")
    assert table1.summary_line(cells).endswith(": 2; 19 not run")


def test_every_form_shows_figures_and_what_is_missing(cells: list[table1.Cell], tmp_path: Path) -> None:
    write_all(cells, tmp_path)
    mean = f"{paper.TABLE1['gcn-none']['cora'].mean + 0.5:.2f}"
    markdown = (tmp_path / "table1.md").read_text()
    assert f"**{mean} ± 0.40**" in markdown
    assert markdown.count("not run: data not at hand") == 2 * 19
    latex = (tmp_path / "table1.tex").read_text()
    assert rf"${mean} \pm 0.40$" in latex
    assert latex.count("--") == 19
    assert latex.startswith(r"% needs \usepackage{booktabs}")
    lines = list(csv.DictReader((tmp_path / "table1.csv").read_text().splitlines()))
    assert len(lines) == 22
    assert list(lines[0]) == list(table1.COLUMNS)
    assert lines[0]["accuracy_mean"] == mean
    assert (lines[-1]["accuracy_mean"], lines[-1]["splits"]) == ("", "0")
    assert (tmp_path / "table1.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "table1.png").stat().st_size > 20_000


@pytest.mark.slow
@pytest.mark.parametrize(("datasets", "models"), [(1, 1), (1, 11), (2, 2), (3, 11), (8, 11)])
def test_no_text_of_the_picture_is_cut_off(datasets: int, models: int) -> None:
    names, rows = list(paper.DATASETS)[-datasets:], paper.MODELS[:models]
    figure = draw([table1.Cell(name, row, Summary(80.0, 1.0, 10)) for name in names for row in rows])
    figure.draw_without_rendering()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()  # around everything, texts included
    assert 0 <= drawn.x0 < drawn.x1 <= width
    assert 0 <= drawn.y0 < drawn.y1 <= height


def fake_result(seed: int) -> dict[str, object]:
    return {"test_accuracy": 0.8 + seed / 100, "seconds": 1.0, "finished": True}


def test_show_makes_the_table_of_what_is_there_and_downloads_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GraphSpec, "load", lambda spec: pytest.fail(f"{spec.name} was loaded"))
    with pytest.raises(RunError, match="there is no store"):
        show(["all"], ["all"], 3, tmp_path, Protocol())
    with Store(tmp_path / "results.sqlite") as store:
        for seed in range(2):
            store.add(
                Job(GraphSpec("cora_full"), paper.published("dna-g8", "cora_full"), Protocol(), seed), fake_result(seed)
            )
    show(["all"], ["all"], 3, tmp_path, Protocol())
    shown = capsys.readouterr().out
    assert shown.count("DNA g=8") == 1
    assert "2/3" in shown, "one of its splits is missing"
    assert "GCN" not in shown
    assert "not run" not in shown
    assert "Cora Full" in (tmp_path / "table1.md").read_text()
    with pytest.raises(RunError, match="holds no result.*leave out --show"):
        show(["cora"], ["all"], 3, tmp_path, Protocol())


@pytest.mark.slow
def test_a_dataset_that_was_named_and_is_not_there_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "data" / "citeseer"
    broken.mkdir(parents=True)
    (broken / "ind.citeseer.allx").touch()
    here = {name: paper.DATASETS[name] for name in ("cora", "citeseer")}
    monkeypatch.setattr(paper, "DATASETS", here)
    setting, short = Setting(tmp_path, 1), Protocol(max_epochs=2)
    with pytest.raises(SystemExit):
        reproduce(["citeseer"], ["gcn-none"], 1, setting, short, str(tmp_path / "data"))
    assert "no run has ended yet: no table" in capsys.readouterr().out
    assert not (tmp_path / "table1.md").exists()
    with pytest.raises(SystemExit) as left:
        reproduce(["citeseer,cora"], ["gcn-none"], 1, setting, short, str(tmp_path / "data"))
    assert left.value.code == 1
    said = capsys.readouterr()
    assert "not run: citeseer" in said.err
    assert "within the spread: 0 of 1 cell;" in said.out, "the rest was run"
    assert "1 job, 0 done before" in said.err
    reproduce(["all"], ["gcn-none"], 1, setting, short, str(tmp_path / "data"))
    assert "not run: citeseer" in capsys.readouterr().err


@pytest.mark.slow
def test_reproduce_runs_once_and_sums_up(tmp_path: Path) -> None:
    asked = ("reproduce", "--dataset", "cora", "--model", "gcn-none,dna-g8", "--splits", "2", "--store", tmp_path)
    first = justjump(*asked)
    assert "4 jobs, 0 done before" in first.stderr
    assert "DNA g=8" in first.stdout
    again = justjump(*asked)
    assert "4 jobs, 4 done before" in again.stderr
    assert "test accuracy" not in again.stderr
    shown = justjump("reproduce", "--dataset", "cora", "--show", "--store", tmp_path)
    assert "of 2 cells" in shown.stdout
    assert "2/10" in shown.stdout
    line = next(csv.DictReader((tmp_path / "table1.csv").read_text().splitlines()))
    with Store(tmp_path / "results.sqlite", read_only=True) as store:
        config = paper.published("gcn-none", "cora")
        summary = Summary.of(store.results([Job(GraphSpec("cora"), config, Protocol(), seed) for seed in range(2)]))
    assert summary is not None
    assert line["accuracy_mean"] == f"{summary.mean:.2f}"
    assert (line["model"], line["config"], line["splits"]) == ("gcn-none", "1/128/16", "2")

    done = justjump("results", tmp_path, "--csv", tmp_path / "all.csv", "--parquet", tmp_path / "all.parquet")
    assert "cora" in done.stdout
    frame = pd.read_parquet(tmp_path / "all.parquet")
    assert len(frame) == len(pd.read_csv(tmp_path / "all.csv")) == 4
    assert frame["test_accuracy"].between(0.5, 1).all()
    assert len(json.loads(justjump("results", tmp_path, "--json").stdout)["results"]) == 4


@pytest.mark.slow
def test_shards_cover_all_once_and_merge(tmp_path: Path) -> None:
    asked = ("sweep", "--dataset", "cora", "--model", "gcn-none", "--grid", tmp_path / "grid.json", "--splits", "2")
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
    assert json.loads(table["options"]) == {"max_epochs": 2}
    assert "1/128/16" in whole.stdout, "the paper's choice stands beside ours"


def test_shards_are_equal_and_the_same_in_any_order() -> None:
    jobs = [small_job(seed) for seed in range(7)]
    shards = [shard_of(jobs, number, 3) for number in (1, 2, 3)]
    assert sorted(map(len, shards)) == [2, 2, 3]
    assert sorted(job.seed for shard in shards for job in shard) == list(range(7))
    assert shard_of([*jobs[::-1], jobs[0]], 2, 3) == shards[1]


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
    assert "my-graph gcn-pool 1/16/16 learning_rate=0.02 max_epochs=30 split 0: test accuracy" in done.stderr
    assert "my-graph: chosen on validation" in done.stdout
    assert "1 of 1 configuration complete, 1 split each" in done.stdout
    assert "graph-" not in done.stdout.replace("my-graph-", "")
    assert "+-" not in done.stdout, "one split has no deviation"
    assert (tmp_path / "sweep-my-graph-gcn-pool-grid.csv").is_file()
    name, command = next(line for line in done.stdout.splitlines() if line.startswith("train ")).split(": ", 1)
    assert name == "train gcn-pool with learning_rate=0.02 max_epochs=30"
    options = shlex.split(command)[1:]
    assert "--heads" not in options, "GCN has none"
    assert options[-1] == "runs/my-graph-gcn-pool-1-16-16-learning_rate-0.02-max_epochs-30"
    options[-1] = str(tmp_path / "run")
    again = justjump(*options)
    test = re.search(r"gcn-pool +1/16/16 +\S+ +(\S+)", done.stdout)
    assert test is not None
    assert again.stdout == f"accuracy: {float(test[1]):.1f} (1 split)\n"


@pytest.mark.slow
def test_search_is_repeatable_and_ends_with_a_command(tmp_path: Path) -> None:
    asked = ("sweep", "--dataset", "cora", "--model", "gcn", "--search", "2", "--splits", "1", "--store", tmp_path)
    first = justjump(*asked)
    again = justjump(*asked)
    assert first.stdout == again.stdout
    assert "test accuracy" not in again.stderr.replace("best so far", "")
    assert "train it: justjump train --dataset cora --model gcn" in first.stdout
    assert "--splits 1 --output runs/cora-" in first.stdout
    assert not re.search(r"0\.0*[1-9]\d{3,}", first.stdout.split("train it")[1]), "numbers that a person may type"


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
    assert [len(candidates("small", row, Protocol())) for row in ("gcn-none", "dna-g1", "dna-g16")] == [12, 6, 6]
    for text, message in (
        ("[1]", "must map names to lists"),
        ('{"layers": "two"}', "'layers' needs a list of values, not \"two\""),
        ('{"layers": []}', "'layers' needs a list of values"),
        ('{"layers": ["two"]}', "grid.json: layers=two: "),
        ('{"patience": [null]}', "grid.json: patience=None: "),
        ('{"hidden": [16, 20]}', "grid.json: hidden=20: heads=8 does not divide hidden=20"),
        ('{"depth": [3]}', "'depth' is no option: choose from attention_dropout, decay"),
        ('{"groups": [8]}', "dna-g1 has groups=1: leave out 'groups', and choose rows with --model"),
        ('{"model": ["gcn"]}', "dna-g1 has model=dna: leave out 'model'"),
        ("{", "is no JSON"),
    ):
        (tmp_path / "grid.json").write_text(text)
        with pytest.raises(ValueError, match=message) as error:
            candidates(str(tmp_path / "grid.json"), "dna-g1", Protocol())
        assert "model, " not in str(error.value)
    (tmp_path / "grid.json").write_text('{"jump": ["lstm"]}')
    with pytest.raises(ValueError, match="gcn-pool has jump=pool"):
        candidates(str(tmp_path / "grid.json"), "gcn-pool", Protocol())
    assert candidates(str(tmp_path / "grid.json"), "dna-g8", Protocol())[0].config.jump == "lstm"
    with pytest.raises(ValueError, match="write paper, small or a JSON file"):
        candidates("big", "dna-g1", Protocol())


def test_bad_names_and_shards() -> None:
    assert chosen(["cora,pubmed"], list(paper.DATASETS), "dataset") == ["cora", "pubmed"]
    assert rows(["all"]) == list(paper.MODELS)
    assert rows(["gat-pool", "dna"]) == ["gat-pool", "dna-g1", "dna-g8", "dna-g16"]
    with pytest.raises(ValueError, match="no model 'mlp': choose from all, gcn, gat, dna, gcn-none"):
        rows(["mlp"])
    with pytest.raises(ValueError, match="no dataset 'ogb'"):
        chosen(["ogb"], list(paper.DATASETS), "dataset")
    for text in ("0/2", "3/2", "2", "a/b", "1/0"):
        with pytest.raises(ValueError, match="write i/n"):
            parse_shard(text)
    with pytest.raises(ValueError, match="--address is for --engine ray"):
        Setting(Path("x"), 1, "local", "auto").make_engine()


def test_the_command_that_trains_a_network_names_every_option_that_differs() -> None:
    graph = GraphSpec(path="my graph.npz", directed=True)
    config = ModelConfig("gat", layers=2, jump="pool", jump_input=False)
    command = train_command(graph, config, Protocol(learning_rate=0.01), 3)
    assert command == (
        "justjump train --graph 'my graph.npz' --directed --model gat --layers 2 --jump pool --no-jump-input "
        "--learning-rate 0.01 --splits 3 "
        "--output runs/my-graph-gat-pool-2-128-16-8-jump_input-False-learning_rate-0.01"
    )
    halves = Protocol(fractions=(0.5, 0.25, 0.25))
    assert train_command(graph, config, halves, 3).endswith("# in Python, with Protocol(fractions=(0.5, 0.25, 0.25))")
