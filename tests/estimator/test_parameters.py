"""The parameters are the options of networks and of training."""

import inspect
from dataclasses import fields

import pytest

from justjump.estimator import DNAClassifier, DNARegressor
from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import Protocol


def test_parameters_have_the_recommended_values_as_defaults() -> None:
    defaults = {name: p.default for name, p in inspect.signature(DNAClassifier).parameters.items()}
    assert defaults.pop("random_state") == 0
    assert defaults.pop("fractions") is None
    options = {**vars(recommended(ModelConfig)), **vars(recommended(Protocol))}
    del options["fractions"]
    assert defaults == options


def test_a_regressor_has_no_options_for_classes() -> None:
    both = set(DNAClassifier().get_params()), set(DNARegressor().get_params())
    assert both[0] - both[1] == {"task", "class_weight", "calibrate"}
    assert both[1] < both[0]


def test_sizes_may_be_given_by_position() -> None:
    model = DNAClassifier(2, 64, 4, 8)
    assert (model.layers, model.hidden, model.heads, model.groups) == (2, 64, 4, 8)
    with pytest.raises(TypeError, match="takes layers, hidden, heads, groups by position, the others by name"):
        DNAClassifier(2, 64, 4, 8, 0.5)


def test_get_and_set_params() -> None:
    model = DNAClassifier(hidden=64)
    assert model.get_params()["hidden"] == 64
    assert model.set_params(layers=3, groups=8) is model
    assert repr(model) == "DNAClassifier(groups=8, hidden=64, layers=3)"
    assert repr(DNAClassifier()) == "DNAClassifier()"


def test_names_that_do_not_exist() -> None:
    model = DNAClassifier(hidden=64)
    with pytest.raises(ValueError, match="DNAClassifier has no parameter 'layer': did you mean layers?"):
        model.set_params(hidden=32, layer=2)
    assert model.hidden == 64
    with pytest.raises(TypeError, match="DNARegressor has no parameter 'task': choose from layers, hidden"):
        DNARegressor(task="regression")


def test_the_docstring_tells_what_each_of_them_is() -> None:
    for one in [*fields(ModelConfig), *fields(Protocol)]:
        assert f"\n    {one.name}: " in str(DNAClassifier.__doc__)
    assert "\n    class_weight: " not in str(DNARegressor.__doc__)
