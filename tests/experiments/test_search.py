"""A search that learns from its trials."""

import re
from pathlib import Path

import optuna
import pytest

from command_line import justjump
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.reproduce import Setting
from justjump.experiments.search import propose, search
from justjump.train import Protocol


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


@pytest.mark.parametrize("model", ["gcn", "gat", "dna"])
def test_a_proposal_is_in_the_paper_s_grid_with_rates_that_a_person_may_type(model: str) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(20):
        candidate = propose(study.ask(), model, Protocol(patience=7))
        config, protocol = candidate.config, candidate.protocol
        assert (candidate.row, config.model, protocol.patience) == (f"{model}-search", model, 7)
        assert config.layers in range(1, 6)
        assert config.hidden in (16, 32, 64, 128)
        assert config.jump == "none" or model != "dna"
        for rate in (config.dropout, protocol.learning_rate, protocol.weight_decay):
            assert rate == float(f"{rate:.3g}")


def test_what_a_search_does_not_take(tmp_path: Path) -> None:
    for model, shard, message in (
        ("gcn-pool", None, "takes a kind of layer"),
        ("gcn", (1, 2), "--shard is for a grid"),
    ):
        with pytest.raises(ValueError, match=message):
            search(GraphSpec("cora"), model, 1, 1, Setting(tmp_path, 1, shard=shard), Protocol(), 0)
