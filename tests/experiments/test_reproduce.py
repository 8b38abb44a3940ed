"""What is missing of Table 1 is run, once, and summed up."""

import csv
from pathlib import Path

import pytest

from command_line import justjump
from job_kinds import small_job
from justjump.experiments import paper
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.readings import DEFAULT, READINGS, Reading
from justjump.experiments.reproduce import Setting, chosen, parse_shard, reproduce, rows, shard_of, show
from justjump.experiments.store import Store
from justjump.experiments.summary import Summary
from justjump.train import RunError


def fake_result(seed: int) -> dict[str, object]:
    return {"test_accuracy": 0.8 + seed / 100, "seconds": 1.0, "finished": True}


def test_show_makes_the_table_of_what_is_there_and_downloads_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GraphSpec, "load", lambda spec: pytest.fail(f"{spec.name} was loaded"))
    with pytest.raises(RunError, match="there is no store"):
        show(["all"], ["all"], 3, tmp_path, READINGS[DEFAULT])
    training = READINGS[DEFAULT].training("dna")
    with Store(tmp_path / "results.sqlite") as store:
        for seed in range(2):
            store.add(
                Job(GraphSpec("cora_full"), paper.published("dna-g8", "cora_full"), training, seed), fake_result(seed)
            )
    show(["all"], ["all"], 3, tmp_path, READINGS[DEFAULT])
    shown = capsys.readouterr().out
    assert shown.count("DNA g=8") == 1
    assert "2/3" in shown, "one of its splits is missing"
    assert "GCN" not in shown
    assert "not run" not in shown
    assert "Cora Full" in (tmp_path / "table1.md").read_text()
    with pytest.raises(RunError, match="holds no result.*leave out --show"):
        show(["cora"], ["all"], 3, tmp_path, READINGS[DEFAULT])


@pytest.mark.slow
def test_a_dataset_that_was_named_and_is_not_there_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "data" / "citeseer"
    broken.mkdir(parents=True)
    (broken / "ind.citeseer.allx").touch()
    here = {name: paper.DATASETS[name] for name in ("cora", "citeseer")}
    monkeypatch.setattr(paper, "DATASETS", here)
    setting, short = Setting(tmp_path, 1), Reading(DEFAULT, "two epochs", protocol={"max_epochs": 2})
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
    cells = ("--dataset", "cora", "--model", "gcn-none,gcn-pool", "--splits", "2")
    asked = ("reproduce", *cells, "--jobs", "1", "--store", tmp_path)
    first = justjump(*asked)
    assert "4 jobs, 0 done before" in first.stderr
    assert "GCN JK-Pool" in first.stdout
    again = justjump(*asked)
    assert "4 jobs, 4 done before" in again.stderr
    assert "test accuracy" not in again.stderr
    shown = justjump("reproduce", "--dataset", "cora", "--show", "--store", tmp_path)
    assert "of 2 cells" in shown.stdout
    assert "2/10" in shown.stdout
    line = next(csv.DictReader((tmp_path / "table1.csv").read_text().splitlines()))
    with Store(tmp_path / "results.sqlite", read_only=True) as store:
        config, training = paper.published("gcn-none", "cora"), READINGS[DEFAULT].training("gcn")
        summary = Summary.of(store.results([Job(GraphSpec("cora"), config, training, seed) for seed in range(2)]))
    assert summary is not None
    assert line["accuracy_mean"] == f"{summary.mean:.2f}"
    assert (line["model"], line["config"], line["splits"]) == ("gcn-none", "1/128/16", "2")


def test_shards_are_equal_and_the_same_in_any_order() -> None:
    jobs = [small_job(seed) for seed in range(7)]
    shards = [shard_of(jobs, number, 3) for number in (1, 2, 3)]
    assert sorted(map(len, shards)) == [2, 2, 3]
    assert sorted(job.seed for shard in shards for job in shard) == list(range(7))
    assert shard_of([*jobs[::-1], jobs[0]], 2, 3) == shards[1]


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
