"""The commands reproduce, sweep and results: what they offer, and what they hand on."""

import os
import re
from pathlib import Path

import pytest
import typer

from command_line import justjump
from justjump.cli.app import app
from justjump.experiments import reproduce, results, search, sweep
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.readings import READINGS
from justjump.experiments.reproduce import Setting
from justjump.options import recommended
from justjump.train import Protocol


@pytest.mark.slow
def test_help_names_what_may_be_chosen() -> None:
    wide = {**os.environ, "COLUMNS": "500", "TERMINAL_WIDTH": "500"}
    helps = {command: justjump(command, "--help", env=wide).stdout for command in ("reproduce", "sweep")}
    assert helps["reproduce"].count("[default: all]") == 2
    choices = (
        justjump("sweep", "--dataset", "cora", "--model", "foo", code=2).stderr.split("choose from ")[1].split(", ")
    )
    for text in helps.values():
        assert set(map(str.strip, choices)) <= set(re.findall(r"[\w-]+", text.replace("-\n  ", "-")))


def asked(monkeypatch: pytest.MonkeyPatch, module: object, name: str, *arguments: str) -> tuple[object, ...]:
    """The arguments that a command hands to a function."""
    handed: list[tuple[object, ...]] = []
    monkeypatch.setattr(module, name, lambda *values: handed.append(values))
    app(arguments, standalone_mode=False)
    (values,) = handed
    return values


def test_reproduce_asks_for_all_of_table_1(monkeypatch: pytest.MonkeyPatch) -> None:
    shard = ("reproduce", "--jobs", "3", "--shard", "2/4", "--splits", "5")
    setting = Setting(Path("justjump-results"), 3, "local", None, (2, 4), None)
    expected = (["all"], ["all"], 5, setting, READINGS["historic"], None)
    assert asked(monkeypatch, reproduce, "reproduce", *shard) == expected
    show = ("reproduce", "--show", "--store", "here", "--dataset", "cora", "--reading", "example")
    assert asked(monkeypatch, reproduce, "show", *show) == (["cora"], ["all"], 10, Path("here"), READINGS["example"])


def test_sweep_takes_a_grid_or_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    cora, setting = GraphSpec("cora"), Setting(Path("justjump-results"), 1)
    command = ("sweep", "--dataset", "cora", "--jobs", "1")
    assert asked(monkeypatch, sweep, "sweep", *command) == (
        cora,
        "dna",
        "paper",
        10,
        setting,
        READINGS["historic"],
        None,
    )
    found = asked(monkeypatch, search, "search", *command, "--search", "7", "--seed", "3", "--model", "gat")
    assert found == (cora, "gat", 7, 10, setting, recommended(Protocol), 3)
    for option in (("--finalists", "2"), ("--reading", "historic")):
        with pytest.raises(typer.BadParameter, match=f"{option[0]} is for a grid"):
            asked(monkeypatch, search, "search", *command, "--search", "7", *option)


def test_results_of_the_usual_store(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, results, "results", "results", "--merge", "a", "--merge", "b", "--json")
    assert found == (Path("justjump-results"), [Path("a"), Path("b")], None, None, True)
