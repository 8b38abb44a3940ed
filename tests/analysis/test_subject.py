"""Which node is meant, and which runs and graphs go together."""

from pathlib import Path

import numpy as np
import pytest
import torch

from justjump.analysis.subject import find_node, open_subjects, pick_node
from justjump.data import Graph, load
from justjump.nn import ModelConfig
from justjump.ops import SparseMatrix
from justjump.train import Protocol, RunError, fit, prepare


def named(*names: str) -> Graph:
    nodes = len(names)
    return Graph(np.zeros((2, 0), int), np.eye(nodes), np.zeros(nodes, int), ("a",), node_names=names)


def test_a_name_comes_before_a_number() -> None:
    assert find_node(named("2", "0", "1"), "0") == 1
    assert find_node(named("ann", "bob"), "1") == 1
    assert find_node(load("cora"), "1") == 1


def test_where_names_are_numbers_a_number_is_a_name() -> None:
    with pytest.raises(RunError, match="there is no node '1': names look like 400"):
        find_node(named("400", "500", "bob"), "1")
    with pytest.raises(RunError, match="there is no node '102': did you mean 1024, 1002?"):
        find_node(named("1002", "1024", "7"), "102")


def test_similar_names_are_suggested() -> None:
    graph = named("Anna Karenina", "Anna Kern", "Levin")
    with pytest.raises(RunError, match="there is no node 'ana karenin': did you mean Anna Karenina, Anna Kern?"):
        find_node(graph, "ana karenin")
    with pytest.raises(RunError, match="there is no node 'Oblonsky': names look like Anna Karenina"):
        find_node(graph, "Oblonsky")


def test_a_run_that_does_not_fit_is_named_with_what_helps(people: Path, people_run: Path, tmp_path: Path) -> None:
    cora_run = tmp_path / "cora"
    fit(load("cora"), ModelConfig("gcn", layers=1, hidden=16), Protocol(max_epochs=1), output=cora_run)
    classes = r"Neural_Networks, Rule_Learning, Reinforcement_Learning, \.\.\."
    why = rf"{people_run}: .* \(cat, dog\) than cora has \({classes}\): compare it with a run on people"
    with pytest.raises(RunError, match=why):
        open_subjects([cora_run, people_run], None, False, None)
    why = rf"{cora_run}: this run on cora .* than people has \(cat, dog\): name another graph with --graph"
    with pytest.raises(RunError, match=why):
        open_subjects([people_run, cora_run], str(people), False, None)
    unlabelled = tmp_path / "unlabelled"
    unlabelled.mkdir()
    (unlabelled / "nodes.csv").write_text("id,age\nann,1\nbob,2\n")
    (unlabelled / "edges.csv").write_text("source,target\nann,bob\n")
    with pytest.raises(RunError, match=rf"{cora_run}: unlabelled has 1 features per node, but the model expects 1433"):
        open_subjects([people_run, cora_run], str(unlabelled), False, None)


def test_the_picked_node_is_right_in_one_and_wrong_in_the_other(runs: tuple[Path, Path]) -> None:
    graph, (dna, gcn) = open_subjects(runs, None, False, None)
    node = pick_node(graph, dna, gcn)
    assert dna.predicted[node] == graph.labels[node]
    assert gcn.predicted[node] != graph.labels[node]
    assert not dna.trained[node]
    assert dna.trained.sum() == round(0.2 * graph.num_nodes)


def test_two_runs_with_one_title_are_told_apart(runs: tuple[Path, Path]) -> None:
    _, subjects = open_subjects([runs[0], runs[0]], None, False, None)
    assert str(runs[0]) in subjects[0].title
    with pytest.raises(RunError, match="there is no node that"):
        pick_node(load("cora"), *subjects)


def test_features_are_normalised_as_in_training(tmp_path: Path) -> None:
    cora = load("cora")
    protocol = Protocol(max_epochs=1, scale="rows")
    fit(cora, ModelConfig("gcn", layers=1, hidden=16), protocol, output=tmp_path)
    _, (subject,) = open_subjects([tmp_path], None, False, None)
    found, expected = subject.inputs.x, prepare(cora, "rows").x
    assert isinstance(found, SparseMatrix)
    assert isinstance(expected, SparseMatrix)
    torch.testing.assert_close(found.weight, expected.weight)
