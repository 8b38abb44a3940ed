"""A run on disk: what comes back is what was saved, and nothing in it is executed."""

import json
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from helpers import sparse_features
from justjump.data import Column, DataError, Graph, Table, load
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, RunError, fit, saved
from justjump.train.run import find_run


@pytest.fixture(scope="module")
def run() -> Run:
    config = ModelConfig("gat", layers=1, hidden=16, heads=4, groups=4, jump="pool")
    return fit(load("cora"), config, Protocol(max_epochs=2, stratified=False))


def test_round_trip(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path)
    loaded = Run.load(tmp_path)
    assert loaded.to_dict() == run.to_dict()
    cora = load("cora")
    for a, b in zip(loaded.predict(cora), run.predict(cora), strict=True):
        assert np.array_equal(a, b)


def test_other_features_are_refused(run: Run) -> None:
    cora = load("cora")
    with pytest.raises(RunError, match="1000 features per node, but the model expects 1433"):
        run.predict(replace(cora, features=sparse_features(cora)[:, :1000]))


def test_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no run"):
        Run.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"config": {"model": "dna", "unknown": 1}},
        {"config": {"model": "dna", "groups": 7}},
        {"num_features": 5},
        {"num_features": "many"},
        {"class_names": []},
        {"seed": None, "extra": 1},
        {"task": "regression", "measures": {}},
        {"outputs": {"temperature": 10**400}},
        {"outputs": {"temperature": float("nan")}},
    ],
)
def test_changed_settings_are_refused(run: Run, tmp_path: Path, change: dict[str, object]) -> None:
    run.save(tmp_path)
    values = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(values | change))
    with pytest.raises(RunError):
        Run.load(tmp_path)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit('executed')",))


@pytest.mark.parametrize("name", ["run.json", "model.safetensors"])
@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe" * 40, pickle.dumps(Bomb())])
def test_broken_or_hostile_files_are_refused(run: Run, tmp_path: Path, name: str, content: bytes) -> None:
    run.save(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RunError):
        Run.load(tmp_path)


@pytest.mark.parametrize("name", ["run.json", "model.safetensors", "split.safetensors"])
def test_a_pipe_or_a_device_is_not_waited_for(run: Run, tmp_path: Path, name: str) -> None:
    run.save(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(RunError, match=f"{name} cannot be read: it is a pipe or a device|holds no run"):
        Run.load(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(RunError, match=f"{name} cannot be read: it is a pipe or a device|holds no run"):
        Run.load(tmp_path)


def test_the_best_of_several_splits_on_validation(run: Run, tmp_path: Path) -> None:
    for number, accuracy in enumerate((0.3, 0.9, 0.6)):
        replace(run, seed=number, val_accuracy=accuracy).save(tmp_path / f"split-{number}")
    assert find_run(tmp_path).seed == 1
    assert find_run(tmp_path / "split-2").seed == 2
    with pytest.raises(RunError, match="holds no run"):
        find_run(tmp_path / "split-9")


def change_run_file(folder: Path, change: dict[str, object]) -> None:
    values = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(values | change))


def without_digests(folder: Path) -> None:
    """Make the folder what the version before digests wrote."""
    values = json.loads((folder / "run.json").read_text())
    del values["weights_sha256"], values["split_sha256"]
    (folder / "run.json").write_text(json.dumps(values, indent=2))


@pytest.mark.parametrize("text", ["5", "null", "[]", '"run"', "[" * 100_000, "9" * 5000, "{}"])
def test_a_run_file_that_holds_no_run_is_named(run: Run, tmp_path: Path, text: str) -> None:
    run.save(tmp_path)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(RunError, match="run.json (is damaged|was written by another version).*train again"):
        Run.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_features": 40_000_000}, "num_features is 40000000 there, but 1433 in the weights"),
        ({"num_features": 0}, "num_features is 0, expected a whole number of at least 1"),
        ({"num_features": True}, "num_features is True"),
        ({"class_names": ["a"]}, "the number of class_names is 1 there, but 7 in the weights"),
        ({"class_names": "abcdefg"}, "class_names is 'abcdefg', expected a list"),
        ({"config": {"layers": 30_000}}, "layers is 30000 there, but 1 in the weights"),
        ({"config": {"layers": 1, "hidden": 10**15, "groups": 7}}, "hidden is 10{15} there, but 16 in the weights"),
        (
            {"config": {"layers": 1, "hidden": 16, "heads": 4, "groups": 4}},
            "it has 'convs.0.att_dst', which no network with these settings has",
        ),
        ({"config": {"model": "gat", "layers": 1, "hidden": 16, "heads": 4, "groups": 2}}, "convs.0.lin.weight is"),
        ({"protocol": {"patience": "long"}}, "patience='long' is of type str"),
        ({"split_sizes": [1, 2]}, "split_sizes is"),
        ({"feature_names": ["one"]}, "it names 1 features, but its preprocessing takes 1433"),
        ({"val_accuracy": "high"}, "val_accuracy is 'high', expected null or a number from 0 to 1"),
        ({"val_accuracy": float("nan")}, "val_accuracy is nan, expected null or a number from 0 to 1"),
        ({"test_accuracy": -1}, "test_accuracy is -1, expected null or a number from 0 to 1"),
        ({"val_loss": float("inf")}, "val_loss is inf, expected null or a finite number"),
        ({"confusion": [[], *[[1] * 7] * 6]}, "confusion is .* expected null or as many rows of counts as columns"),
        ({"confusion": [[1]]}, "the number of rows of confusion is 1 there, but 7 in the weights"),
        ({"protocol": {"fractions": "x"}}, "fractions must be three numbers of 0..1 that add up to 1, got x"),
        ({"protocol": {"fractions": [0.2, "0.2", 0.6]}}, "fractions must be three numbers"),
        ({"protocol": {"fractions": 5}}, "fractions must be three numbers"),
        ({"weights_sha256": 5}, "weights_sha256 is 5"),
        ({"test_accuracy": 10**400}, "'test_accuracy' holds a whole number of more than 64 bits"),
        ({"calibration": [[1, 10**400, 3]]}, "'calibration' holds a whole number of more than 64 bits"),
        ({"class_names": ["a", "\ud800", *"cdefg"]}, "'class_names' holds text that is not Unicode"),
        ({"notes": ["\udfff"]}, "'notes' holds text that is not Unicode"),
        ({"whole_graphs": "no"}, "whole_graphs is 'no', expected null, true or false"),
        ({"unknown": 5}, "nothing is called 'unknown'"),
    ],
)
def test_a_wrong_value_is_named_before_a_network_is_built(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], message: str
) -> None:
    run.save(tmp_path)
    change_run_file(tmp_path, change)
    real = torch.nn.Parameter.__new__

    def without_memory(kind: type, data: torch.Tensor, *arguments: bool) -> torch.nn.Parameter:
        assert data.is_meta, "the network was built"
        return real(kind, data, *arguments)

    monkeypatch.setattr(torch.nn.Parameter, "__new__", without_memory)
    with pytest.raises(RunError, match=f"(run.json|model.safetensors).*{message}.*train again"):
        Run.load(tmp_path)


def test_every_damaged_byte_of_the_weights_is_noticed(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path)
    path = tmp_path / "model.safetensors"
    good = path.read_bytes()
    positions = [*range(0, 400, 9), *range(400, len(good), len(good) // 40), len(good) - 1]
    for position in positions:
        damaged = bytearray(good)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(RunError, match="model.safetensors is damaged.*train again"):
            Run.load(tmp_path)
    for length in (0, 7, 100, len(good) - 1):
        path.write_bytes(good[:length])
        with pytest.raises(RunError, match="model.safetensors is damaged"):
            Run.load(tmp_path)
    path.unlink()
    with pytest.raises(RunError, match="model.safetensors is missing"):
        Run.load(tmp_path)


def test_runs_without_digests_load(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path)
    without_digests(tmp_path)
    loaded = Run.load(tmp_path)
    assert loaded.to_dict() == run.to_dict()
    for name, value in run.model.state_dict().items():
        assert torch.equal(value, loaded.model.state_dict()[name])


def test_a_save_that_is_cut_off_leaves_the_old_run_or_the_new_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = fit(load("cora"), ModelConfig("gcn", layers=1, hidden=16), Protocol(max_epochs=1))
    calls = {"replace_file": 2, "move_file": 1}
    for function, count in calls.items():
        for number in range(count):
            folder = tmp_path / f"{function}-{number}"
            other.save(folder)
            real = getattr(saved, function)
            called: list[Any] = []

            def cut_off(*arguments: Any, real: Any = real, called: Any = called, last: int = number) -> None:
                if len(called) == last:
                    raise SystemExit
                called.append(real(*arguments))

            monkeypatch.setattr(saved, function, cut_off)
            with pytest.raises(SystemExit):
                run.save(folder)
            monkeypatch.undo()
            expected = run if function == "move_file" else other
            assert Run.load(folder).to_dict() == expected.to_dict(), (function, number)
            assert not list(folder.glob(".*.[0-9]*"))


PEOPLE = Table.of(
    {
        "income": [20_000 + 10 * number for number in range(19)] + [None],
        "city": ["Bonn", "Ulm"] * 10,
        "note": [f"{number} " * 100 for number in range(20)],
    }
)


def people(table: Table) -> Graph:
    ends = np.arange(20)
    return Graph(np.stack([ends, (ends + 1) % 20]), table, ends % 2, ("a", "b"), name="people")


@pytest.fixture(scope="module")
def people_run() -> Run:
    config = ModelConfig("gcn", layers=1, hidden=8, groups=2)
    return fit(people(PEOPLE), config, Protocol(max_epochs=2))


def test_a_table_is_prepared_again_by_the_names_of_its_columns(people_run: Run, tmp_path: Path) -> None:
    people_run.save(tmp_path)
    loaded = Run.load(tmp_path)
    assert loaded.preprocessing == people_run.preprocessing
    assert loaded.preprocessing.left_out == ("note",)
    assert loaded.settings == people_run.settings
    assert loaded.model.lin_in.in_features == 5  # income, its missing values, Bonn, Ulm, other
    expected = people_run.predict(people(PEOPLE)).probabilities
    turned = Table((PEOPLE["city"], Column("more", "number", np.arange(20.0)), PEOPLE["income"]))
    assert np.array_equal(loaded.predict(people(turned)).probabilities, expected)
    unseen = Table.of({"income": [1e300] * 20, "city": ["Rome", ""] * 10})
    assert np.isfinite(loaded.predict(people(unseen)).probabilities).all()
    numbers = np.arange(40.0).reshape(20, 2)
    whole = replace(people(PEOPLE), features=numbers, feature_names=("income", "city"))
    assert np.isfinite(loaded.predict(whole).probabilities).all()


def test_tables_that_do_not_fit_are_refused(people_run: Run) -> None:
    with pytest.raises(RunError, match="people lacks features that the model was trained with: city"):
        people_run.predict(people(Table.of({"income": [1] * 20})))
    words = [f"{'a long text ' * 20}{number}" for number in range(20)]
    with pytest.raises(
        RunError, match="the column 'city' of people holds free text, which is left out, but not in the"
    ):
        people_run.predict(people(Table.of({"income": [1] * 20, "city": words})))
    with pytest.raises(DataError, match="the column 'income' must hold numbers, or yes and no, but node 0 has 'much'"):
        people_run.predict(people(Table.of({"income": ["much"] * 20, "city": ["Bonn"] * 20})))
    with pytest.raises(RunError, match="people has 3 features per node, but the model expects 2"):
        people_run.predict(replace(people(PEOPLE), features=np.ones((20, 3)), feature_names=None))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"preprocessing": 5}, "preprocessing is 5, expected an object"),
        ({"preprocessing": {}}, "preprocessing must be an object of its fields"),
        ({"num_features": 4}, "num_features is 4 there, but 5 in the weights"),
        ({"feature_names": ["income"]}, "it names 1 features, but its preprocessing takes 2"),
    ],
)
def test_a_damaged_preprocessing_is_refused(
    people_run: Run, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    people_run.save(tmp_path)
    change_run_file(tmp_path, change)
    with pytest.raises(RunError, match=f"run.json.*{message}.*train again"):
        Run.load(tmp_path)


def test_recipes_of_another_size_are_refused(people_run: Run, tmp_path: Path) -> None:
    people_run.save(tmp_path)
    kept = people_run.preprocessing.to_json()
    kept["recipes"][1]["values"].append("Kiel")
    change_run_file(tmp_path, {"preprocessing": kept})
    with pytest.raises(RunError, match="the number of columns after preprocessing is 6 there, but 5 in the weights"):
        Run.load(tmp_path)


@pytest.mark.parametrize("divided", [False, True])
def test_runs_of_versions_without_a_preprocessing(run: Run, tmp_path: Path, divided: bool) -> None:
    run.save(tmp_path)
    values = json.loads((tmp_path / "run.json").read_text())
    del values["preprocessing"]
    del values["protocol"]["scale"]
    values["protocol"]["normalize_features"] = divided
    (tmp_path / "run.json").write_text(json.dumps(values))
    loaded = Run.load(tmp_path)
    assert loaded.protocol.scale == ("rows" if divided else "auto")
    same = loaded.predict(load("cora")).probabilities == run.predict(load("cora")).probabilities
    assert same.all() != divided
    if not divided:
        assert loaded.settings == run.settings


@pytest.fixture(scope="module")
def whole() -> tuple[Run, list[Data]]:
    """A run on whole graphs, and some of them."""
    graphs = [
        Data(x=torch.full((3, 2), float(kind)), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([kind]))
        for kind in (0, 1) * 10
    ]
    return fit(graphs, layers=1, hidden=8, heads=2, groups=2, max_epochs=2), graphs


def test_one_graph_is_a_list_of_one_for_a_run_of_whole_graphs(whole: tuple[Run, list[Data]], tmp_path: Path) -> None:
    run, graphs = whole
    run.save(tmp_path)
    again = Run.load(tmp_path)
    assert again.whole_graphs
    expected = run.predict(graphs).probabilities[[1]]
    labelled = Graph(graphs[1].edge_index.numpy(), graphs[1].x.numpy(), np.array([0, 1, 0]), ("a", "b"), name="one")
    unlabelled = Data(x=graphs[1].x, edge_index=graphs[1].edge_index)
    of_nodes = Data(x=graphs[1].x, edge_index=graphs[1].edge_index, y=torch.tensor([0, 1, 0]))
    for one in (graphs[1], [graphs[1]], unlabelled, [unlabelled], of_nodes, [of_nodes], labelled):
        found = again.predict(one)
        assert found.classes.shape == (1,)
        np.testing.assert_allclose(found.probabilities, expected, rtol=1e-6)
    assert again.predict([unlabelled, unlabelled]).classes.shape == (2,), "labels are not needed"
    assert again.own_graph(labelled).graph_names == ("one",)


def test_whole_graphs_are_refused_by_a_run_of_nodes(run: Run, whole: tuple[Run, list[Data]]) -> None:
    assert run.whole_graphs is False
    with pytest.raises(RunError, match=r"graphs has 20 whole graphs, but the run predicts nodes: .*Batch"):
        run.predict(whole[1])


def test_graphs_without_labels_are_nothing_to_learn_from(whole: tuple[Run, list[Data]]) -> None:
    graphs = [Data(x=one.x, edge_index=one.edge_index) for one in whole[1]]
    with pytest.raises(DataError, match="no labels to learn from: give the graphs a label each, as y of their Data"):
        fit(graphs)


def test_every_changed_bit_of_the_split_is_noticed(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path)
    assert run.split is not None
    path = tmp_path / "split.safetensors"
    whole = path.read_bytes()
    for at in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        with pytest.raises(
            RunError, match="split.safetensors is damaged or of another run, its SHA-256 is not the one"
        ):
            Run.load(tmp_path)
    path.write_bytes(whole)
    path.rename(tmp_path / ".split.safetensors.next")  # as a process leaves it that is killed in its last steps
    found = Run.load(tmp_path).split
    assert found is not None
    assert found.test.tolist() == run.split.test.tolist()
    path.write_bytes(whole)
    without_digests(tmp_path)
    assert Run.load(tmp_path).split is not None
