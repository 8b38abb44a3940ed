"""Options come from the fields of dataclasses, and help lists them in groups."""

from typing import Any

import pytest
import typer

from justjump.cli import options
from justjump.cli.app import app
from justjump.nn import ModelConfig
from justjump.options import command_options, recommended
from justjump.train import Protocol


@pytest.fixture(scope="module")
def train() -> Any:
    """The command train, as the command line knows it."""
    return typer.main.get_group(app).commands["train"]


@pytest.mark.parametrize("kind", [ModelConfig, Protocol])
def test_train_offers_every_option_with_what_is_recommended_and_its_help(train: Any, kind: type) -> None:
    offered = {parameter.name: parameter for parameter in train.params}
    for option in command_options(kind):
        assert offered[option.name].default == getattr(recommended(kind), option.name)
        assert offered[option.name].help == option.metadata["help"]


def test_flags_have_a_negative_form_only_if_they_are_on_by_default(train: Any) -> None:
    flags = {parameter.name: parameter.secondary_opts for parameter in train.params}
    assert flags["jump_input"] == ["--no-jump-input"]
    assert flags["stratified"] == ["--no-stratified"]
    assert flags["keep_first"] == []


def test_help_lists_options_in_groups(train: Any) -> None:
    text = train.get_help(typer.Context(train, info_name="train"))
    titles = ["Graph", "Network", "Training", "Runs", "Output", "Other"]
    places = [text.index(f"\n{title}:\n") for title in titles]
    assert places == sorted(places)
    assert "\n  --heads " in text[places[1] : places[2]]
    assert "\n  --patience " in text[places[2] : places[3]]


def test_lists_of_whole_numbers(train: Any) -> None:
    assert options._whole_numbers("15,-1") == (15, -1)
    with pytest.raises(typer.BadParameter, match="'15;10' is no list of whole numbers such as 15,10"):
        options._whole_numbers("15;10")
    assert "--fanout INTEGERS" in train.get_help(typer.Context(train, info_name="train"))
