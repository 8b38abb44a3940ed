"""Estimators in a folder."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import justjump
from justjump import DNAClassifier, DNARegressor
from justjump.train import RunError
from made_graphs import made_graph


def test_what_comes_back(small: dict[str, Any], rows: np.ndarray, tmp_path: Path) -> None:
    model = DNAClassifier(**small)
    model.set_params(class_weight=None, patience=np.int64(9), fractions=(0.5, 0.5, 0)).fit(
        rows, 10 * (np.arange(60) % 3)
    )
    model.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "run.json", "split.safetensors"]
    loaded = DNAClassifier.load(tmp_path)
    assert loaded.get_params() == model.get_params()
    assert loaded.predict(rows).tolist() == model.predict(rows).tolist()
    assert set(loaded.classes_.tolist()) == {0, 10, 20}
    assert np.array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    assert loaded.split_.train.tolist() == model.split_.train.tolist()
    assert loaded.n_features_in_ == 3
    assert loaded.fit(rows, np.arange(60) % 3).run_.epochs > 0
    assert justjump.Run.load(tmp_path).class_names == ("0", "10", "20")


def test_a_regressor_of_a_graph(small: dict[str, Any], tmp_path: Path) -> None:
    graph = made_graph("regression", nodes=60)
    model = DNARegressor(**small, random_state=np.random.RandomState(0)).fit(graph)
    model.save(tmp_path)
    loaded = DNARegressor.load(tmp_path)
    assert loaded.score(graph) == model.score(graph)
    assert loaded.random_state == model.run_.seed
    with pytest.raises(RunError, match="holds a run of a regression task: read it with DNARegressor.load"):
        DNAClassifier.load(tmp_path)


def test_names_of_columns(small: dict[str, Any], tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": np.arange(40.0), "city": ["Bonn", "Ulm"] * 20})
    DNAClassifier(**small).fit(frame, frame["city"] == "Ulm").save(tmp_path)
    loaded = DNAClassifier.load(tmp_path)
    assert loaded.feature_names_in_.tolist() == ["age", "city"]
    assert loaded.classes_.tolist() == [False, True]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"age": "height"}))


def test_a_run_that_no_estimator_made(small: dict[str, Any], tmp_path: Path) -> None:
    graph = made_graph("multiclass", nodes=60)
    run = justjump.fit(graph, **small, seed=4, output=tmp_path)
    model = DNAClassifier.load(tmp_path)
    assert (model.hidden, model.max_epochs, model.random_state) == (8, 40, 4)
    assert model.score(graph) == pytest.approx(run.test_accuracy)
    (tmp_path / "split.safetensors").unlink()
    with pytest.raises(RunError, match="without its split"):
        DNAClassifier.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": {"colour": 1}}, "another kind, which has the parameter 'colour'"),
        ({"parameters": []}, "must have its four fields"),
        ({"extra": 1}, "must have its four fields"),
        ({"classes": ["a"]}, "classes of the estimator"),
        ({"n_features_in": 1}, "n_features_in of the estimator"),
        ({"feature_names_in": ["a"]}, "feature_names_in of the estimator"),
    ],
)
def test_damage(small: dict[str, Any], rows: np.ndarray, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    DNAClassifier(**{**small, "max_epochs": 1}).fit(rows, np.arange(60) % 3).save(tmp_path)
    values = json.loads((tmp_path / "run.json").read_text())
    values["estimator"] |= change
    (tmp_path / "run.json").write_text(json.dumps(values))
    with pytest.raises(RunError, match=message):
        DNAClassifier.load(tmp_path)
