"""The commands influence and attention, on small networks."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import typer
from typer import BadParameter

from justjump.analysis import commands, influence, neighbourhood
from justjump.analysis.attention_statistics import By
from justjump.analysis.figures import layout
from justjump.analysis.receptive_field import effective_receptive_field
from justjump.analysis.subject import open_subjects, pick_node
from justjump.cli.app import app
from justjump.data import load
from justjump.nn import ModelConfig
from justjump.ops import SparseMatrix
from justjump.train import Protocol, RunError, fit, prepare


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """DNA and GCN JK-Pool with two layers, hardly trained."""
    folder = tmp_path_factory.mktemp("runs")
    torch.set_num_threads(1)
    fit(load("cora"), ModelConfig(layers=2, hidden=16, heads=8), Protocol(max_epochs=8), output=folder / "dna")
    gcn = ModelConfig("gcn", layers=2, hidden=16, jump="pool")
    fit(load("cora"), gcn, Protocol(max_epochs=5), output=folder / "gcn")
    return folder / "dna", folder / "gcn"


def test_a_picture_in_three_formats_is_the_same_every_time(runs: tuple[Path, Path], tmp_path: Path) -> None:
    first = [tmp_path / f"first.{kind}" for kind in ("png", "pdf", "svg")]
    commands.influence_of_one(list(runs), None, 2, tmp_path / "first", None, False, None)
    commands.influence_of_one(list(runs), None, 2, tmp_path / "second.svg", None, False, None)
    assert sorted(tmp_path.glob("first*")) == sorted(first)
    assert sorted(tmp_path.glob("second*")) == [tmp_path / "second.svg"]
    assert first[2].read_bytes() == (tmp_path / "second.svg").read_bytes()
    text = first[2].read_text()
    assert "GCN JK-Pool 2/16/16" in text
    assert "(right)" in text
    assert "(wrong)" in text


def test_the_picked_node_is_right_in_one_and_wrong_in_the_other(runs: tuple[Path, Path]) -> None:
    graph, (dna, gcn) = open_subjects(runs, None, False, None)
    node = pick_node(graph, dna, gcn)
    assert dna.predicted[node] == graph.labels[node]
    assert gcn.predicted[node] != graph.labels[node]
    assert not dna.trained[node]
    assert dna.trained.sum() == round(0.2 * graph.num_nodes)


def test_all_nodes_go_to_a_table(runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "influence.parquet"
    commands.influence_of_all(list(runs), output, None, False, None, as_json=True)
    summary = json.loads(capsys.readouterr().out)
    table = pd.read_parquet(output)
    assert list(table) == ["run", "node", "source", "hops", "share"]
    graph, subjects = open_subjects(runs, None, False, None)
    for row, subject in zip(summary, subjects, strict=True):
        own = table[table["run"] == subject.title]
        assert row["run"] == subject.title
        assert own["node"].nunique() == graph.num_nodes
        by_hop = own.groupby("hops")["share"].sum() / graph.num_nodes
        np.testing.assert_allclose(row["share_by_hop"], by_hop, atol=1e-5)
        found = influence(subject.run.model, graph, 77, inputs=subject.inputs)
        of_one = own[own["node"] == 77]
        assert of_one["source"].tolist() == found.nodes.tolist()
        np.testing.assert_allclose(of_one["share"], found.share, atol=1e-6)
    assert {path.suffix for path in tmp_path.iterdir()} == {".parquet", ".png", ".pdf", ".svg"}


@pytest.mark.slow
@pytest.mark.parametrize(("by", "rows"), [("all", 3), ("head", 24), ("class", 21), ("layer", 5)])
def test_attention_goes_to_a_picture_and_a_table(runs: tuple[Path, Path], tmp_path: Path, by: By, rows: int) -> None:
    commands.attention(runs[0], by, None, tmp_path / "boxes.png", None, None, False, None)
    assert len(pd.read_parquet(tmp_path / "boxes.parquet")) == rows
    assert (tmp_path / "boxes.png").stat().st_size > 10_000


def test_every_weight_goes_to_a_table(runs: tuple[Path, Path], tmp_path: Path) -> None:
    weights = tmp_path / "weights.parquet"
    commands.attention(runs[0], "all", None, tmp_path / "boxes.png", weights, None, False, None)
    table, boxes = pd.read_parquet(weights), pd.read_parquet(tmp_path / "boxes.parquet")
    edges = 2 * 5_278 + 2_708
    assert len(table) == 3 * 8 * edges
    means = table.groupby("given_to", observed=True)["weight"].mean()
    assert boxes["given_to"].tolist() == ["h(0)", "h(1)", "refused"]
    np.testing.assert_allclose(boxes["mean"], means[boxes["given_to"]], atol=1e-5)
    assert means.sum() == pytest.approx(1, abs=1e-5)


def test_the_layout_does_not_change() -> None:
    around = neighbourhood(load("cora"), 0, hops=2)
    places = layout(around)
    assert np.array_equal(places, layout(around))
    assert places.min() == 0
    assert places.max() == 1
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(len(places), 1)]
    assert apart.min() > 0.01
    lonely = neighbourhood(load("cora"), 0, hops=0)
    assert np.isfinite(layout(lonely)).all()


def test_the_effective_receptive_field() -> None:
    assert effective_receptive_field(np.full(10, 0.1)) == 9
    assert effective_receptive_field(np.array([0.9, 0.1])) == 1
    assert effective_receptive_field(np.array([1.0])) == 1
    assert effective_receptive_field(np.zeros(3)) == 0


def test_two_runs_with_one_title_are_told_apart(runs: tuple[Path, Path]) -> None:
    _, subjects = open_subjects([runs[0], runs[0]], None, False, None)
    assert str(runs[0]) in subjects[0].title
    with pytest.raises(RunError, match="there is no node that"):
        pick_node(load("cora"), *subjects)


def test_features_are_normalised_as_in_training(tmp_path: Path) -> None:
    cora = load("cora")
    protocol = Protocol(max_epochs=1, normalize_features=True)
    fit(cora, ModelConfig("gcn", layers=1, hidden=16), protocol, output=tmp_path)
    _, (subject,) = open_subjects([tmp_path], None, False, None)
    found, expected = subject.inputs.x, prepare(cora, normalize_features=True).x
    assert isinstance(found, SparseMatrix)
    assert isinstance(expected, SparseMatrix)
    torch.testing.assert_close(found.weight, expected.weight)


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


def test_what_is_known_of_a_node_is_printed(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.influence_of_one(list(runs), "7", 2, tmp_path / "x.png", None, False, None)
    printed = " ".join(capsys.readouterr().out.split())
    graph, subjects = open_subjects(runs, None, False, None)
    true_class = graph.class_names[graph.labels[7]].replace("_", " ")
    assert printed.startswith(f"node 7 of Cora, true class: {true_class}")
    for subject in subjects:
        assert subject.title in printed
        assert graph.class_names[subject.predicted[7]].replace("_", " ") in printed
        found = influence(subject.run.model, graph, 7, inputs=subject.inputs)
        assert f"{found.share[0]:.1%}" in printed
        for place in np.argsort(-found.share, kind="stable")[:5]:
            assert f"{found.share[place]:.1%} {found.nodes[place]}" in printed
    assert "influence from 0 hops" in printed


def test_names_are_printed_as_they_are(
    people: Path, people_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.influence_of_one([people_run], "[b]ann[/b]", 2, tmp_path / "x.svg", str(people), False, None)
    printed = capsys.readouterr().out
    assert "node [b]ann[/b] (number 0) of people, true class: cat" in printed
    assert "%  [b]ann[/b]" in printed


def test_tables_name_nodes_that_have_names(people: Path, people_run: Path, tmp_path: Path) -> None:
    commands.influence_of_all([people_run], tmp_path / "all.parquet", str(people), False, None, as_json=True)
    table = pd.read_parquet(tmp_path / "all.parquet")
    for column in ("node", "source"):
        names = dict(zip(table[column], table[f"{column}_name"], strict=True))
        assert names == {0: "[b]ann[/b]", 1: "bob", 2: "cy"}
    weights = tmp_path / "weights.parquet"
    commands.attention(people_run, "all", None, tmp_path / "x.png", weights, str(people), False, None)
    edges = set(pd.read_parquet(weights)[["source", "source_name", "target_name"]].itertuples(index=False, name=None))
    assert (1, "bob", "cy") in edges


def test_classes_need_labels(people_run: Path, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,age\nann,1\nbob,2\n")
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\n")
    with pytest.raises(RunError, match="--by class needs labels, and .* has none: choose all, layer or head"):
        commands.attention(people_run, "class", None, tmp_path / "x.png", None, str(tmp_path), False, None)


def test_help_is_easy_to_read() -> None:
    group = typer.main.get_group(app)
    texts = {}
    for name in ("influence", "attention", "explore"):
        command = group.commands[name]
        texts[name] = command.get_help(typer.Context(command, info_name=name, max_content_width=80, terminal_width=80))
        assert not command.get_short_help_str(60).endswith("...")
    assert texts["influence"].count("\n\n  Example: justjump influence") == 2
    assert "influence, with --all influence.parquet" in " ".join(texts["influence"].split())


def test_a_missing_extra_is_named(runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RunError, match=r"pyarrow is not installed: pip install 'justjump\[analysis\]'"):
        commands.attention(runs[0], "all", None, tmp_path / "x", None, None, False, None)


@pytest.mark.slow
def test_the_library_itself_needs_no_extra() -> None:
    blocked = "import sys; sys.modules.update(dict.fromkeys(['pandas', 'pyarrow', 'matplotlib', 'networkx']))"
    code = f"{blocked}; import justjump.analysis; print(justjump.analysis.influence.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "influence\n", done.stderr
