"""Readings of the paper's protocol."""

from pathlib import Path

import pytest

from command_line import justjump
from justjump.experiments import paper
from justjump.experiments.readings import DEFAULT, READINGS, find_reading
from justjump.nn import ModelConfig
from justjump.train import Protocol


def test_what_the_paper_writes_is_what_the_classes_have() -> None:
    reading = READINGS["patience-10"]
    for model in ("gcn", "gat", "dna"):
        assert reading.training(model) == Protocol()
    for model in paper.MODELS:
        config = paper.published(model, "cora")
        assert reading.network(config) == config


def test_a_reading_may_treat_gat_in_its_own_way() -> None:
    assert find_reading(DEFAULT).network(paper.published("gat-none", "cora")).softmax == "outgoing"
    historic = find_reading("benchmark-historic")
    gat, gcn = (historic.network(paper.published(f"{kind}-none", "cora")) for kind in ("gat", "gcn"))
    assert (gat.softmax, gat.vectors, gat.input_dropout) == ("outgoing", "one", 0.0)
    assert (gcn.softmax, gcn.vectors, gcn.input_dropout) == ("incoming", "two", 0.0)
    assert (historic.training("gat").max_epochs, historic.training("gat").patience) == (1000, 100)
    assert (historic.training("dna").max_epochs, historic.training("dna").patience) == (200, 10)


def test_readings_differ() -> None:
    kinds = [paper.published(model, "pubmed") for model in paper.MODELS]
    seen = {tuple((one.network(c), one.training(c.model)) for c in kinds) for one in READINGS.values()}
    assert len(seen) == len(READINGS)
    assert all(one.words and len(one.words) < 160 for one in READINGS.values())
    assert all(isinstance(one.network(ModelConfig()), ModelConfig) for one in READINGS.values())


def test_an_unknown_reading_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    done = justjump("reproduce", "--reading", "examples", "--store", tmp_path / "store", code=2)
    assert "there is no reading 'examples': choose from historic, " in done.stderr
    assert not (tmp_path / "store").exists()


@pytest.mark.slow
def test_results_of_readings_do_not_mix(tmp_path: Path) -> None:
    cell = ["--dataset", "cora", "--model", "gcn-none", "--splits", "1"]
    command = ["reproduce", *cell, "--jobs", "1", "--store", str(tmp_path)]
    justjump(*command)
    other = justjump(*command, "--reading", "example")
    assert "1 job, 0 done before" in other.stderr
    assert "reading example: the example's rule" in other.stdout
    assert (tmp_path / "table1.csv").read_text() != (tmp_path / "table1-example.csv").read_text()
    shown = justjump(*command, "--reading", "benchmark", "--show", code=2)
    assert "under the reading benchmark" in shown.stderr
