"""One training run: early stopping, determinism, interruption, errors."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression, LogisticRegression

from generated_tables import TABLES, table_graph
from justjump.data import Graph, Split, Table, random_split
from justjump.files import FileError
from justjump.nn import ModelConfig
from justjump.nn.config import Model
from justjump.ops import native
from justjump.train import Protocol, Run, TrainingWarning, fit, prepare
from run_helpers import SHORT, SMALL, assert_same_run, stop_after, weights


def test_learns(tiny: Graph) -> None:
    run = fit(tiny, replace(SMALL, dropout=0.0, input_dropout=0.0, attention_dropout=0.0), Protocol(max_epochs=150))
    assert run.test_accuracy == 1.0
    assert run.finished
    assert run.split_sizes == (4, 4, 12)


@pytest.mark.parametrize("model", ["dna", "gcn", "gat"])
def test_same_seed_gives_the_same_bits(cora: Graph, model: Model) -> None:
    config = replace(SMALL, model=model)
    first = fit(cora, config, SHORT, seed=3)
    torch.manual_seed(99)  # the state of the global generator plays no part
    state = torch.get_rng_state()
    assert_same_run(first, fit(cora, config, SHORT, seed=3))
    assert torch.equal(state, torch.get_rng_state())
    other = fit(cora, config, SHORT, seed=4)
    assert not torch.equal(weights(first)["lin_in.weight"], weights(other)["lin_in.weight"])


@pytest.mark.slow
@pytest.mark.parametrize("model", ["dna", "gcn", "gat"])
def test_any_number_of_threads_gives_the_same_bits(cora: Graph, model: Model) -> None:
    config = replace(SMALL, model=model)
    one = fit(cora, config, SHORT)
    torch.set_num_threads(2)
    used = set()
    two = fit(cora, config, SHORT, on_epoch=lambda _: used.add((native.threads(), torch.get_num_threads())))
    assert used == {(2, 1)}
    assert_same_run(one, two)
    assert (native.threads(), torch.get_num_threads()) == (2, 2)


def test_best_epoch_is_restored(cora: Graph) -> None:
    seen: list[float] = []
    protocol = Protocol(max_epochs=60, learning_rate=0.05, patience=5)
    run = fit(cora, SMALL, protocol, on_epoch=lambda progress: seen.append(progress.val_loss[-1]))
    assert run.best_epoch == 1 + int(np.argmin(seen))
    assert run.epochs == min(60, run.best_epoch + 5)
    assert run.val_loss == min(seen)
    inputs, split = prepare(cora), random_split(cora.labels, 0)
    with torch.no_grad():
        logits = run.model.eval()(inputs.x, inputs.adj)[split.val]
    assert torch.nn.functional.cross_entropy(logits, inputs.labels[split.val]).item() == run.val_loss


def test_watching_accuracy_keeps_the_most_accurate_epoch(cora: Graph) -> None:
    seen: list[float] = []
    protocol = Protocol(max_epochs=20, patience=20, watch="accuracy")
    run = fit(cora, SMALL, protocol, on_epoch=lambda progress: seen.append(progress.val_score[-1] or 0.0))
    assert run.best_epoch == 1 + int(np.argmax(seen))


@pytest.mark.parametrize("model", ["dna", "gat"])
def test_interrupted_run_resumes_to_the_same_bits(
    cora: Graph, tmp_path: Path, model: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    config = replace(SMALL, model=model)
    whole = fit(cora, config, SHORT)
    stopped = fit(cora, config, SHORT, output=tmp_path, on_epoch=stop_after(3))
    assert not stopped.finished
    assert stopped.epochs == 3
    assert stopped.test_accuracy is not None
    assert 0 < stopped.test_accuracy < 1  # the best network so far
    assert not Run.load(tmp_path).finished
    assert "goes on" not in capsys.readouterr().err
    resumed = fit(cora, config, SHORT, output=tmp_path)
    assert f"{tmp_path}: the run goes on after epoch 3\n" in capsys.readouterr().err
    assert resumed.finished
    assert_same_run(whole, resumed)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "run.json", "split.safetensors"]


def test_folder_that_cannot_be_written(cora: Graph, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot write"):
        fit(cora, SMALL, Protocol(max_epochs=1), output=tmp_path / "file" / "run")


def test_nodes_without_a_label_are_predicted(tiny: Graph) -> None:
    labels = tiny.labels.copy()
    labels[[3, 15]] = -1
    config = replace(SMALL, dropout=0.0, input_dropout=0.0, attention_dropout=0.0)
    run = fit(replace(tiny, labels=labels), config, Protocol(max_epochs=150))
    assert sum(run.split_sizes) == 18
    classes, probabilities = run.predict(tiny)
    assert classes[[3, 15]].tolist() == [0, 1]
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)


def test_without_test_nodes_there_is_no_test_accuracy(tiny: Graph) -> None:
    assert (
        fit(tiny, SMALL, SHORT, split=Split(np.array([0, 10]), np.array([1, 11]), np.array([]))).test_accuracy is None
    )


TEACHER = Protocol(learning_rate=0.02, patience=20, max_epochs=120)
NETWORK = ModelConfig(layers=2, hidden=32, heads=4, groups=4)


@pytest.mark.slow
def test_columns_of_very_different_scale_are_learned_as_well_as_standardised_by_hand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    graph = table_graph("income_and_age", nodes=600)
    assert isinstance(graph.features, Table)
    raw = np.stack([column.values for column in graph.features.columns], axis=1)
    by_hand = replace(graph, features=(raw - raw.mean(axis=0)) / raw.std(axis=0))
    capsys.readouterr()
    found = {
        "default": fit(graph, NETWORK, TEACHER).test_accuracy,
        "array": fit(replace(graph, features=raw, feature_names=None), NETWORK, TEACHER).test_accuracy,
        "by hand": fit(by_hand, NETWORK, TEACHER).test_accuracy,
    }
    said = capsys.readouterr()
    assert said.out == ""
    assert "features: income: standardised, age: standardised\n" in said.err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)  # it predicts one class for all nodes
        found["raw"] = fit(graph, NETWORK, replace(TEACHER, scale="none")).test_accuracy
    accuracy = {name: value or 0 for name, value in found.items()}
    assert accuracy["default"] >= min(0.98, accuracy["by hand"] - 0.005), accuracy
    assert accuracy["array"] >= min(0.98, accuracy["by hand"] - 0.005), accuracy
    assert accuracy["raw"] < 0.65, accuracy


@pytest.mark.slow
@pytest.mark.parametrize("make", sorted(TABLES))
def test_generated_tables_are_learned(make: str) -> None:
    run = fit(table_graph(make), NETWORK, TEACHER)
    assert (run.test_accuracy or 0) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_few_columns_are_learned_as_well_as_by_a_linear_model(task: str) -> None:
    """Neighbours say nothing here, and each of three columns says what no other does."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(800, 3)).astype(np.float32)
    number = x @ np.array([2.0, 1.0, -1.0]) + 0.2 * rng.normal(size=800)
    labels = number.astype(np.float32)[:, None] if task == "regression" else np.digitize(number, [-1.0, 1.0])
    graph = Graph(
        edge_index=rng.integers(0, 800, (2, 2400)),
        features=x,
        labels=labels,
        class_names=("number",) if task == "regression" else ("low", "middle", "high"),
        task=task,  # type: ignore[arg-type]
    )
    run = fit(graph, seed=0)
    train, test = run.split.train, run.split.test  # type: ignore[union-attr]
    linear: Any = LinearRegression() if task == "regression" else LogisticRegression()
    score = linear.fit(x[train], labels[train]).score(x[test], labels[test])
    assert run.measures["test"]["r2" if task == "regression" else "accuracy"] > score - 0.03


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"config": 2}, "config is of type int, expected a ModelConfig: make one, or pass its options by their names"),
        ({"config": SHORT}, "config is of type Protocol, expected a ModelConfig"),
        ({"protocol": {"patience": 3}}, "protocol is of type dict, expected a Protocol"),
        ({"split": (0.5, 0.2, 0.3)}, "split is a tuple, expected a Split of node numbers: shares are fractions="),
        ({"workers": 2}, r"workers=... is for a graph in parts: make one with graph\.partition"),
        ({"lr": 0.1}, "there is no option 'lr': did you mean learning_rate?"),
        ({"hidden_channels": 8}, "there is no option 'hidden_channels': did you mean hidden?"),
    ],
)
def test_bad_arguments_are_explained(tiny: Graph, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message.replace("?", r"\?")):
        fit(tiny, **arguments)
