"""What a search tries."""

from typing import Any

import optuna
import pytest

from justjump.experiments.space import GROUPS, HIDDEN, LAYERS, propose, recommended_point
from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import Protocol


@pytest.mark.parametrize("model", ["gcn", "gat", "dna", "all"])
def test_a_proposal_has_rates_that_a_person_may_type(model: str) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    kinds = set()
    for _ in range(30):
        candidate = propose(study.ask(), model, Protocol(patience=7), "r2")
        config, protocol = candidate.config, candidate.protocol
        kinds.add(config.model)
        assert (candidate.row, protocol.patience) == (f"{config.model}-search", 7)
        assert protocol.pick in ("watched", "r2")
        assert config.layers in LAYERS
        assert config.hidden in HIDDEN
        assert config.groups in GROUPS
        for rate in (config.dropout, protocol.learning_rate, protocol.weight_decay):
            assert rate == float(f"{rate:.2g}")
    assert kinds == ({"gcn", "gat", "dna"} if model == "all" else {model})


def test_mini_batches_sample_edges_already() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    proposals = [propose(study.ask(), "dna", Protocol(batch_size=100), "accuracy") for _ in range(10)]
    assert {one.config.drop_edge for one in proposals} == {0.0}


@pytest.mark.parametrize("model", ["gcn", "gat", "dna"])
def test_the_first_proposal_is_what_is_recommended(model: str) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.enqueue_trial(recommended_point(model))
    protocol = recommended(Protocol)
    candidate = propose(study.ask(), model, protocol, "accuracy")
    own: dict[str, Any] = {"model": model} | ({} if model == "dna" else {"start": "paper"})
    own |= {"heads": 1, "attention_dropout": 0.8} if model == "gcn" else {}
    assert (candidate.config, candidate.protocol) == (recommended(ModelConfig, **own), protocol)
