"""What a search tries."""

from typing import Any

import optuna
import pytest

from justjump.experiments.search import ROUND
from justjump.experiments.space import GROUPS, HIDDEN, LAYERS, first_points, propose
from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import Protocol


@pytest.mark.parametrize("model", ["gcn", "gat", "dna", "all"])
def test_a_proposal_has_rates_that_a_person_may_type(model: str) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    kinds = set()
    for _ in range(30):
        candidate = propose(study.ask(), model, Protocol(patience=7))
        config, protocol = candidate.config, candidate.protocol
        kinds.add(config.model)
        assert (candidate.row, protocol.patience) == (f"{config.model}-search", 7)
        assert protocol.pick == "watched"  # another choice of epoch is better on validation nodes, whatever the network
        assert config.layers in LAYERS
        assert config.hidden in HIDDEN
        assert config.groups in GROUPS
        for rate in (config.layer_dropout, protocol.learning_rate, protocol.weight_decay):
            assert rate == float(f"{rate:.2g}")
    assert kinds == ({"gcn", "gat", "dna"} if model == "all" else {model})


def test_mini_batches_sample_edges_already() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    proposals = [propose(study.ask(), "dna", Protocol(batch_size=100)) for _ in range(10)]
    assert {one.config.drop_edge for one in proposals} == {0.0}


@pytest.mark.parametrize("model", ["gcn", "gat", "dna"])
def test_the_first_proposal_is_what_is_recommended_and_the_others_are_changes_of_it(model: str) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    points = first_points(model)
    for point in points:
        study.enqueue_trial(point)
    protocol = recommended(Protocol)
    first, *others = [propose(study.ask(), model, protocol) for _ in points]
    own: dict[str, Any] = {"model": model}
    own |= {} if model == "dna" else {"start": "paper", "attention": "learned"}
    own |= {"heads": 1, "attention_dropout": 0.8} if model == "gcn" else {}
    assert (first.config, first.protocol) == (recommended(ModelConfig, **own), protocol)
    assert len({first, *others}) == ROUND
    for point, candidate in zip(points[1:], others, strict=True):
        found = vars(candidate.config) | vars(candidate.protocol)
        assert {name: found[name] for name in ("layers", "hidden")} == {
            name: point[name] for name in ("layers", "hidden")
        }
