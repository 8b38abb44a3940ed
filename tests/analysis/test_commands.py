"""The commands influence and attention, on small networks."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from justjump.analysis import commands, influence
from justjump.analysis.attention_statistics import By
from justjump.analysis.subject import open_subjects
from justjump.experiments.graph_spec import GraphSpec, provide_graph
from justjump.nn import ModelConfig
from justjump.train import Protocol, RunError, fit
from made_graphs import made_graph, made_graphs


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")
@pytest.mark.parametrize("task", ["multilabel", "regression", "graphs"])
def test_every_task_has_influence_and_attention(task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = made_graphs(30) if task == "graphs" else made_graph(task, nodes=50)
    name, node = str(tmp_path / f"{task}.npz"), "3:1" if task == "graphs" else "3"
    provide_graph(GraphSpec.named(name), graph)
    config = ModelConfig(layers=2, hidden=8, heads=2, groups=2)
    fit(graph, config, Protocol(max_epochs=2), output=tmp_path / "run")
    commands.influence_of_one([tmp_path / "run"], node, 2, tmp_path / "one.svg", name, False, None)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith(f"node {node}")
    assert "influence from 1 hop" in printed
    commands.influence_of_all([tmp_path / "run"], tmp_path / "all.parquet", name, False, None, as_json=True)
    assert pd.read_parquet(tmp_path / "all.parquet")["node"].nunique() == graph.num_nodes
    commands.attention(tmp_path / "run", "head", None, tmp_path / "heads.png", None, name, False, None)
    with pytest.raises(RunError, match="--by class needs one class per node, but .*: choose all, layer or head"):
        commands.attention(tmp_path / "run", "class", None, tmp_path / "x.png", None, name, False, None)
    assert not (tmp_path / "x.png").exists()
