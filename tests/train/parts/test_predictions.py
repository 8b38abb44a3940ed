"""Predictions part by part are those of the whole graph, in a file that is there completely or not at all."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from justjump import fit
from justjump.data import Graph
from justjump.data.labels import Task
from justjump.train import Run, RunError
from justjump.train.parts.inference import Inference

from .conftest import Make, random_graph

pytestmark = pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")
SMALL: dict[str, Any] = {"layers": 2, "hidden": 16, "heads": 4, "groups": 4, "max_epochs": 3}


def graph_of(task: Task) -> Graph:
    graph = random_graph(sparse=task == "multilabel")
    if task == "multiclass":
        return replace(graph, node_names=tuple(f'n, "{number}"' for number in range(60)))
    labels = np.random.default_rng(0).standard_normal((60, 2)).astype(np.float32)
    labels[3] = np.nan
    labels = labels if task == "regression" else np.where(np.isnan(labels), np.nan, labels > 0).astype(np.float32)
    return replace(graph, labels=labels, class_names=("x", "y"), task=task)


@pytest.mark.parametrize("task", ["multiclass", "multilabel", "regression"])
def test_they_are_those_of_the_whole_graph(make_parts: Make, tmp_path: Path, task: Task) -> None:
    graph = graph_of(task)
    parts = make_parts(graph)
    run = fit(parts, **SMALL)
    whole = run.predict(graph)
    found = run.predict(parts)
    classes, probabilities = np.empty_like(whole.classes), np.empty_like(whole.probabilities)
    for part in found:
        classes[part.nodes], probabilities[part.nodes] = part.classes, part.probabilities
    np.testing.assert_allclose(probabilities, whole.probabilities, atol=1e-5)
    np.testing.assert_allclose(classes, whole.classes, atol=1e-5)

    measures = found.save(tmp_path / "found.parquet")
    assert {role: values for role, (_, values) in measures.items()} == {
        role: pytest.approx(values, abs=1e-6) for role, values in run.measures.items()
    }
    assert measures["train"][0] == run.split_sizes[0]
    found.save(tmp_path / "found.csv")
    table, text = pd.read_parquet(tmp_path / "found.parquet"), pd.read_csv(tmp_path / "found.csv")
    pd.testing.assert_frame_equal(table, text.astype({"split": table["split"].dtype}), check_dtype=False, atol=1e-5)
    order = np.concatenate([part.original for part in parts])
    assert table["node"].tolist() == ([graph.node_names[one] for one in order] if graph.node_names else order.tolist())
    assert run.split is not None
    assert set(order[table["split"] == "val"]) == set(run.split.val)
    np.testing.assert_allclose(table[list(graph.class_names)], whole.probabilities[order], atol=1e-5)


def test_another_graph_has_no_split(make_parts: Make, tmp_path: Path) -> None:
    run = fit(make_parts(), **SMALL)
    other = random_graph(seed=1)
    measures = run.predict(make_parts(other)).save(tmp_path / "out.csv")
    assert measures["all"][0] == 60
    assert measures["all"][1]["accuracy"] == np.mean(run.predict(other).classes == other.labels)
    assert "split" not in pd.read_csv(tmp_path / "out.csv")
    without = replace(other, labels=np.full(60, -1), class_names=())
    assert run.predict(make_parts(without)).save(tmp_path / "out.csv") == {}


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_what_breaks_leaves_nothing(
    make_parts: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    parts = make_parts()
    found = fit(parts, **SMALL).predict(parts)
    outputs = Inference.outputs

    def full(self: Inference, number: int) -> torch.Tensor:
        if number == 2:
            raise OSError(28, "No space left on device")
        return outputs(self, number)

    monkeypatch.setattr(Inference, "outputs", full)
    with pytest.raises(OSError, match=f"cannot write .*{name}: No space left on device; free some space"):
        found.save(tmp_path / "out" / name)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": np.zeros((60, 5), np.float32)}, "random has 5 features per node, but the model expects 9"),
        ({"feature_names": tuple("abcdefghz")}, "random lacks features that the model was trained with: i"),
        ({"feature_names": tuple("bacdefghi")}, "in another order"),
    ],
)
def test_other_features_are_refused(make_parts: Make, change: dict[str, Any], words: str) -> None:
    graph = replace(random_graph(), feature_names=tuple("abcdefghi"))
    run = fit(make_parts(graph), **SMALL | {"max_epochs": 1})
    names = {"feature_names": None} if "features" in change else {}
    with pytest.raises(RunError, match=words):
        run.predict(make_parts(replace(graph, **names | change)))


def test_other_scales_and_options_are_refused(make_parts: Make, tmp_path: Path) -> None:
    graph = random_graph()
    run: Run = fit(make_parts(graph), **SMALL | {"max_epochs": 1})
    scaled = graph.partition(2, tmp_path / "scaled", method=np.arange(60) % 2, scale="standard")
    with pytest.raises(RunError, match="were scaled or encoded in another way than those of the run"):
        run.predict(scaled)
    with pytest.raises(ValueError, match="5 workers cannot share 4 parts"):
        run.predict(make_parts(graph), workers=5)
    with pytest.raises(ValueError, match="workers and scratch are for a graph in parts"):
        run.predict(graph, workers=2)  # type: ignore[call-overload]
