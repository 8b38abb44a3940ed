"""Options are declared once: Python, the command line and the documentation agree."""

import subprocess
import sys
from dataclasses import fields

import pytest
import typer

from justjump.cli import app
from justjump.nn import ModelConfig
from justjump.options import command_options
from justjump.train import Protocol

KINDS = [ModelConfig, Protocol]


@pytest.mark.parametrize("kind", KINDS)
def test_train_offers_every_option_with_its_default_and_help(kind: type) -> None:
    offered = {parameter.name: parameter for parameter in typer.main.get_command(app).commands["train"].params}
    for option in command_options(kind):
        assert offered[option.name].default == option.default
        assert offered[option.name].help == option.metadata["help"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_docstring_describes_every_field(kind: type) -> None:
    for option in fields(kind):
        assert f"    {option.name}: {option.metadata['help'].rstrip('.')}" in kind.__doc__


def test_flags_have_a_negative_form_only_if_they_are_on_by_default() -> None:
    flags = {p.name: p.secondary_opts for p in typer.main.get_command(app).commands["train"].params}
    assert flags["jump_input"] == ["--no-jump-input"]
    assert flags["stratified"] == ["--no-stratified"]
    assert flags["keep_first"] == flags["normalize_features"] == []


def test_the_command_line_does_not_wait_for_torch() -> None:
    code = "import sys, justjump.cli; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
