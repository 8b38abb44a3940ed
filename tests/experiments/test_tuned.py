"""What a search found for each dataset."""

import pytest

from justjump.experiments import paper
from justjump.experiments.tuned import TUNED, tuned
from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import Protocol


def test_every_kind_of_layer_was_tuned_for_the_same_datasets() -> None:
    assert set(TUNED) == {"dna", "gcn", "gat"}
    assert set(TUNED["dna"]) == set(TUNED["gcn"]) == set(TUNED["gat"]) <= set(paper.DATASETS)
    assert TUNED["dna"]


@pytest.mark.parametrize(("model", "dataset"), [(model, name) for model, own in TUNED.items() for name in own])
def test_only_differences_from_what_is_recommended_are_written_down(model: str, dataset: str) -> None:
    config, protocol = tuned(dataset, model)
    assert config.model == model
    usual = vars(recommended(ModelConfig)) | vars(recommended(Protocol))
    found = vars(config) | vars(protocol)
    for name, value in TUNED[model][dataset].items():
        assert found[name] == value != usual[name], name


def test_values_that_suit_the_depth_are_those_of_the_search() -> None:
    """What is recommended for deep networks is younger than the searches."""
    deep = {(model, name): tuned(name, model)[0].suited() for model, own in TUNED.items() for name in own}
    found = {key: (one.identity, one.initial_share) for key, one in deep.items() if one.layers > 4}
    assert found == {("gcn", "citeseer"): (0.0, 0.1)} | dict.fromkeys(((kind, "cora") for kind in TUNED), (0.5, 0.1))


def test_an_unknown_dataset_is_named() -> None:
    with pytest.raises(ValueError, match="there is no tuned 'gcn' network for 'reddit': choose from dna: cora"):
        tuned("reddit", "gcn")
