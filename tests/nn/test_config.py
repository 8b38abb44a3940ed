"""The options of a network: what does not go together is refused."""

from typing import Any

import numpy as np
import pytest

from justjump.nn import ModelConfig
from justjump.options import recommended


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heads": 8, "groups": 3, "hidden": 24}, "groups=3 does not divide heads=8"),
        ({"hidden": 100, "heads": 8}, "heads=8 does not divide hidden=100"),
        ({"hidden": 10**18, "heads": 3}, r"heads=3 does not divide hidden=10+: choose one of 1, 2, .* 4096, \.\.\.$"),
        ({"hidden": 10**18, "heads": 5, "groups": 4}, r"groups=4 .* choose groups from 1, 5, 10, .* 4000, \.\.\.$"),
        ({"hidden": 100, "heads": 5, "groups": 8}, "groups=8 does not divide hidden=100"),
        ({"model": "mlp"}, "model='mlp' is unknown: choose one of dna, gcn, gat"),
        ({"jump": "sum"}, "jump='sum' is unknown"),
        ({"layers": 0}, "layers=0 must be at least 1"),
        ({"dropout": 1.5}, "^dropout=1.5 is not in"),
        ({"attention_dropout": 1.5}, "^attention_dropout=1.5 is not in"),
        ({"model": "gcn", "window": 2}, "window=2 needs model='dna'"),
        ({"model": "gat", "attention": "equal"}, "attention='equal' needs model='dna', not 'gat'"),
        ({"model": "gcn", "attention": "steps"}, "attention='steps' needs model='dna', not 'gcn'"),
        ({"keep_first": True, "window": 0}, "keep_first=True needs a window"),
        ({"window": -1}, "window=-1 must be at least 1, or 0 for what suits the number of layers"),
        ({"keep_first": True}, "keep_first=True needs a window"),
    ],
)
def test_bad_configurations_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ModelConfig(**arguments)


@pytest.mark.parametrize("model", ["gcn", "gat"])
def test_what_is_recommended_for_dna_goes_with_other_layers(model: Any) -> None:
    assert recommended(ModelConfig, model=model).update == recommended(ModelConfig).update


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": "two"}, "layers='two' is of type str, expected an int"),
        ({"layers": 2.0}, "layers=2.0 is of type float, expected an int"),
        ({"layers": True}, "layers=True is of type bool"),
        ({"window": "3"}, "window='3' is of type str"),
        ({"layer_dropout": None}, "layer_dropout=None is of type NoneType, expected a float"),
        ({"dropout": "0.5"}, "dropout=.0.5. is of type str, expected a float"),
        ({"jump_input": 1}, "jump_input=1 is of type int, expected True or False"),
    ],
)
def test_options_of_another_type_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ModelConfig(**arguments)


def test_numbers_of_numpy_become_pythons() -> None:
    config = ModelConfig(layers=np.int64(2), dropout=0)  # type: ignore[arg-type]
    assert config == ModelConfig(layers=2, dropout=0.0)
    assert type(config.layers) is int
    assert type(config.dropout) is float


def test_rates_of_dropout_suit_features_and_task_where_none_were_chosen() -> None:
    auto, chosen = recommended(ModelConfig), ModelConfig()
    rates = [auto.input_rate(columns, sparse) for columns, sparse in ((15, False), (16, False), (3, True), (999, True))]
    assert rates == [0.0, 0.2, 0.5, 0.5]
    assert {chosen.input_rate(columns, sparse) for columns in (3, 99) for sparse in (False, True)} == {0.5}
    assert (auto.suited().dropout, auto.suited(regression=True).dropout) == (0.5, 0.2)
    assert auto.suited(regression=True).input_rate(999, sparse=True) == 0.0
    assert chosen.suited(regression=True) is chosen
