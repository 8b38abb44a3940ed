"""The commands influence, attention, explore and report."""

import sys
from pathlib import Path

import pytest
import typer
from typer import BadParameter

from justjump.cli.app import app
from justjump.data import load
from justjump.nn import ModelConfig
from justjump.train import Protocol, RunError, fit


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """DNA and GCN with two layers, trained for one epoch."""
    folder = tmp_path_factory.mktemp("runs")
    for config in (ModelConfig("dna", layers=2, hidden=16), ModelConfig("gcn", layers=2, hidden=16)):
        fit(load("cora"), config, Protocol(max_epochs=1), output=folder / config.model)
    return folder / "dna", folder / "gcn"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["influence", "RUN"], "name one node with --node, or use --pick or --all"),
        (["influence", "RUN", "--node", "0", "--all"], "name one node with --node, or use --pick or --all"),
        (["influence", "RUN", "--pick"], "name the second run with --against"),
        (["influence", "RUN", "--node", "0", "--json"], "--json is for --all"),
        (["influence", "RUN", "--node", "9999"], "there is no node '9999': name one of 2708 nodes"),
        (["influence", "RUN", "--all", "--output", "x.csv"], "--output x.csv must end in .parquet"),
        (["influence", "RUN", "--node", "0", "--output", "x.foo"], "--output x.foo must end in .png, .pdf, .svg, or"),
        (["influence", "RUN", "--node", "0", "--output", "x.parquet"], "--output x.parquet must end in .png, .pdf"),
        (["attention", "RUN", "--output", "x.foo"], "--output x.foo must end in .png, .pdf, .svg, or have no ending"),
        (["attention", "RUN", "--weights", "x.foo"], "--weights x.foo must end in .parquet"),
        (["attention", "RUN", "--output", "x.png", "--weights", "x.parquet"], "--weights x.parquet is the table that"),
        (["attention", "GCN"], "model='gcn' has no attention over former representations"),
        (["attention", "RUN", "--layer", "3"], "there is no layer 3: the network has layers 1 to 2"),
        (["attention", "RUN", "--layer", "1", "--by", "layer"], "leave out --layer"),
    ],
)
def test_errors_say_what_to_do(runs: tuple[Path, Path], arguments: list[str], message: str) -> None:
    folders = {"RUN": str(runs[0]), "GCN": str(runs[1])}
    with pytest.raises(Exception, match=message) as error:
        app([folders.get(argument, argument) for argument in arguments], standalone_mode=False)
    assert isinstance(error.value, ValueError | BadParameter)


@pytest.mark.parametrize(
    "arguments",
    [
        ["influence", "none", "--node", "0", "--output", "x.foo"],
        ["influence", "none", "--all", "--output", "x.foo"],
        ["attention", "none", "--output", "x.foo"],
        ["attention", "none", "--weights", "x.foo"],
    ],
)
def test_odd_endings_are_refused_before_anything_is_read(arguments: list[str]) -> None:
    with pytest.raises(RunError, match="x.foo must end in"):
        app(arguments, standalone_mode=False)


def test_help_is_easy_to_read() -> None:
    group = typer.main.get_group(app)
    texts = {}
    for name in ("influence", "attention", "explore", "report"):
        command = group.commands[name]
        texts[name] = command.get_help(typer.Context(command, info_name=name, max_content_width=80, terminal_width=80))
        assert not command.get_short_help_str(60).endswith("...")
    assert texts["influence"].count("\n\n  Example: justjump influence") == 2
    assert "influence, with --all influence.parquet" in " ".join(texts["influence"].split())


def test_explore_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("justjump.analysis.explore")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dash", None)
    with pytest.raises(RuntimeError, match=r"the page needs dash: pip install 'justjump\[explore\]'"):
        app(["explore", "none"], standalone_mode=False)


def test_report_writes_where_it_is_told(runs: tuple[Path, Path], tmp_path: Path) -> None:
    app(["report", str(runs[0]), "--output", str(tmp_path / "told")], standalone_mode=False)
    assert (tmp_path / "told" / "report.md").read_text().startswith("# DNA 2/16/16/8 on cora")
    with pytest.raises(RunError, match="holds no run"):
        app(["report", str(tmp_path), "--output", str(tmp_path / "nothing")], standalone_mode=False)
    assert not (tmp_path / "nothing").exists()
