"""The program: its commands in order, the help of each, its version."""

import re
from pathlib import Path

import pytest
import typer

from command_line import justjump
from justjump.cli.app import graph_spec
from justjump.experiments.graph_spec import GraphSpec

COMMANDS = ["train", "predict", "datasets", "demo", "info", "bench", "reproduce", "sweep", "results"]
COMMANDS += ["influence", "attention", "explore"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str) -> None:
    assert f"Example: justjump {command}" in justjump(command, "--help").stdout


def test_no_command_shows_the_help_and_version_works() -> None:
    assert "Commands:" in justjump(code=2).stdout
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", justjump("--version").stdout)


@pytest.mark.slow
def test_help_lists_commands_in_order() -> None:
    listed = justjump("--help").stdout.split("Commands:")[1].split("\n  ")
    assert [line.split()[0] for line in listed[1:4]] == ["train", "predict", "explore"]
    for command in ("train", "predict", "reproduce", "sweep", "results"):
        assert next(line for line in listed if line.startswith(f"{command} ")).strip().endswith("."), "not cut off"


def test_a_graph_is_a_dataset_or_one_s_own(tmp_path: Path) -> None:
    assert graph_spec("cora", None, False, tmp_path) == GraphSpec("cora", data_dir=str(tmp_path))
    assert graph_spec(None, "mine.npz", True, None) == GraphSpec(path="mine.npz", directed=True)
    for dataset, graph in ((None, None), ("cora", "mine.npz")):
        with pytest.raises(typer.BadParameter, match="name either --dataset or --graph"):
            graph_spec(dataset, graph, False, None)
    with pytest.raises(typer.BadParameter, match="--directed is for --graph"):
        graph_spec("cora", None, True, None)
