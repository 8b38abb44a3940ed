"""The text of a model card."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import justjump
from justjump.data import Graph
from justjump.train import Run, fit
from justjump.train.card import card_text
from made_graphs import made_graph


def train(graph: Graph) -> Run:
    return fit(graph, layers=1, hidden=8, heads=2, groups=2, max_epochs=2, watch="loss", scale="standard")


@pytest.fixture(scope="module", params=["multiclass", "multilabel", "regression"])
def run(request: pytest.FixtureRequest) -> Run:
    return train(made_graph(request.param, nodes=60))


def test_everything_about_the_run_is_there(run: Run) -> None:
    text = card_text(run, "me/first")
    assert text.startswith("# first\n")
    assert f'`task="{run.task}"`' in text
    assert "`layers=1`, `hidden=8`, `heads=2`, `groups=2`" in text
    assert "`max_epochs=2`, `scale='standard'`" in text
    assert run.preprocessing.describe() in text
    assert " / ".join(map(str, run.split_sizes)) in text
    for measure in run.measures["test"]:
        assert len(re.findall(rf"^\| .*{measure.split('_')[0]}", text, flags=re.MULTILINE | re.IGNORECASE)) >= 1
    assert text.count("\n- the network") == len([note for note in run.notes if note.startswith("the network")])


def test_notes_and_measures_in_words(run: Run) -> None:
    noted = replace(run, notes=("no training node has the class 'x'",))
    assert "- no training node has the class 'x'" in card_text(noted, "run")
    assert "older version, without its measures" in card_text(replace(run, measures={}), "run")
    assert "stopped early" in card_text(replace(run, finished=False), "run")


def test_names_of_the_data_are_plain_text(run: Run) -> None:
    odd = replace(run, graph_name="<b>`x`\n# y", class_names=tuple(f"|{n}|" for n in range(30)))
    text = card_text(odd, "run")
    assert r"trained on \<b\>\`x\` \# y with" in text
    assert r"\|0\|, \|1\|" in text
    assert "... (30 in all)" in text


@pytest.mark.parametrize("task", ["multiclass", "multilabel", "regression"])
def test_the_snippet_runs(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my-graph").mkdir()
    label = {"multiclass": "a b", "multilabel": "0 1", "regression": "0.5 1.5"}[task].split()
    rows = [f"{n},{n % 2},{n},{label[n % 2]}" for n in range(40)]
    Path("my-graph/nodes.csv").write_text("\n".join(["id,x,z,label", *rows]))
    Path("my-graph/edges.csv").write_text("source,target\n" + "\n".join(f"{n},{(n + 2) % 40}" for n in range(40)))
    graph = justjump.read_graph("my-graph").with_task(task)  # type: ignore[arg-type]
    run = train(graph)
    run.save("first")
    found = re.search(r"```python\n(.*?)```", card_text(run, "first"), flags=re.DOTALL)
    assert found
    scope: dict[str, object] = {}
    exec(found[1], scope)
    loaded = scope["run"]
    assert isinstance(loaded, Run)
    assert loaded.class_names == run.class_names
    assert {"multiclass": "classes", "multilabel": "labels", "regression": "numbers"}[task] in scope


def test_the_snippet_of_a_dataset_loads_it() -> None:
    run = train(made_graph("multiclass", nodes=60))
    assert 'graph = justjump.load("cora")' in card_text(replace(run, graph_name="cora"), "x")
    assert 'graph = justjump.read_graph("my-graph")' in card_text(run, "x")
