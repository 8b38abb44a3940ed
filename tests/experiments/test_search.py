"""A search that learns from its trials."""

import csv
import re
from pathlib import Path

import pytest

from command_line import justjump
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.reproduce import STORE_FILE, Setting
from justjump.experiments.search import CHANGED, KEPT, ROUND, Search, search
from justjump.experiments.store import Store
from justjump.experiments.sweep import rungs
from justjump.train import Protocol


@pytest.mark.slow
def test_search_is_repeatable_and_ends_with_a_command(tmp_path: Path) -> None:
    network = ("--model", "gcn", "--search", "2", "--splits", "1")
    asked = ("sweep", "--dataset", "cora", *network, "--store", tmp_path, "--jobs", "1")
    first = justjump(*asked)
    again = justjump(*asked)
    assert first.stdout == again.stdout
    assert "test accuracy" not in again.stderr.replace("best so far", "")
    assert "train it: justjump train --dataset cora --model gcn" in first.stdout
    assert "--splits 1 --output runs/cora-" in first.stdout
    assert not re.search(r"0\.0*[1-9]\d{3,}", first.stdout.split("train it")[1]), "numbers that a person may type"
    lines = list(csv.DictReader((tmp_path / "search-cora-gcn.csv").read_text().splitlines()))
    assert [line["splits"] for line in lines] == ["1", "1"]


@pytest.mark.slow
def test_the_best_of_a_round_go_on(tmp_path: Path) -> None:
    """Nine networks on one split, three of them on two, the best of these on three: 9 + 3 + 1 runs."""
    protocol = Protocol(max_epochs=2)
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "nodes.csv").write_text("id,label,x\n" + "".join(f"{i},{i % 3},{i % 3}\n" for i in range(60)))
    (tmp_path / "graph" / "edges.csv").write_text("source,target\n" + "".join(f"{i},{i // 2}\n" for i in range(60)))
    race = Search.start(GraphSpec(path=str(tmp_path / "graph")), "all", 3, Setting(tmp_path, 1), protocol, 0)
    with Store(tmp_path / STORE_FILE) as store:
        race.round(ROUND, store)
        assert len(store) == 9 + 3 + 1
    reached = sorted(splits for splits, _ in race.found.values())
    assert reached == [1] * 6 + [2] * 2 + [3]
    assert len(race.finalists) == 1
    states = [trial.state.name for trial in race.study.trials]
    assert states.count("PRUNED") == ROUND - 1
    assert states.count("COMPLETE") == 1
    assert {one.candidate.config.model for _, one in race.found.values()} == {"dna", "gcn", "gat"}


@pytest.mark.slow
def test_later_trials_change_a_few_options_of_the_best(tmp_path: Path) -> None:
    """And a search that is started again tries the same."""
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "nodes.csv").write_text("id,label,x\n" + "".join(f"{i},{i % 3},{i % 3}\n" for i in range(60)))
    (tmp_path / "graph" / "edges.csv").write_text("source,target\n" + "".join(f"{i},{i // 2}\n" for i in range(60)))
    found = []
    for _ in range(2):
        spec, setting = GraphSpec(path=str(tmp_path / "graph")), Setting(tmp_path, 1)
        race = Search.start(spec, "gcn", 1, setting, Protocol(max_epochs=2), 0)
        with Store(tmp_path / STORE_FILE) as store:
            race.round(ROUND, store)
            first = race.study.best_trial.params
            race.round(ROUND, store)
        found.append([trial.params for trial in race.study.trials])
    assert found[0] == found[1]
    later = found[0][ROUND:]
    near = [sum(params.get(name) == value for name, value in first.items()) for params in later]
    assert sum(same >= len(first) - CHANGED for same in near) >= 2 * ROUND // 3


def test_rungs_and_rounds() -> None:
    assert list(rungs(10)) == [1, 5, 10]
    assert ROUND == KEPT**2


def test_what_a_search_does_not_take(tmp_path: Path) -> None:
    for model, shard, message in (
        ("gcn-pool", None, "takes a kind of layer"),
        ("gcn", (1, 2), "--shard is for a grid"),
    ):
        with pytest.raises(ValueError, match=message):
            search(GraphSpec("cora"), model, 1, 1, Setting(tmp_path, 1, shard=shard), Protocol(), 0)
