"""Which node is meant, and which runs and graphs go together."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from justjump.analysis import influence
from justjump.analysis.subject import (
    Subject,
    as_read_for,
    find_node,
    make_subject,
    open_subjects,
    pick_node,
    row_of,
    with_names,
)
from justjump.data import Graph, Table, load
from justjump.nn import ModelConfig
from justjump.ops import SparseMatrix
from justjump.train import Protocol, RunError, fit, prepare
from made_graphs import made_graph, made_graphs


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


def subject_on(graph: Graph) -> Subject:
    config = ModelConfig("gcn", layers=1, hidden=8, groups=2)
    return make_subject(fit(graph, config, Protocol(max_epochs=2)), graph)


@pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")
@pytest.mark.parametrize("task", ["multiclass", "multilabel", "regression"])
def test_the_split_of_the_run_is_known_on_its_own_graph(task: str) -> None:
    graph = made_graph(task, nodes=60)
    subject = subject_on(graph)
    assert subject.split is subject.run.split
    assert subject.trained.sum() == subject.run.split_sizes[0]
    other = make_subject(subject.run, made_graph(task, nodes=60, seed=1))
    assert other.split is None
    assert not other.trained.any()


@pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")
def test_several_labels_are_right_if_all_known_ones_are() -> None:
    graph = made_graph("multilabel", nodes=60)
    subject = replace(subject_on(graph), predicted=np.nan_to_num(graph.labels))
    assert subject.is_right(graph.labels).tolist() == graph.labelled.tolist()
    subject.predicted[:, 0] = 1 - subject.predicted[:, 0]
    unknown = np.isnan(graph.labels)
    assert subject.is_right(graph.labels).tolist() == (unknown[:, 0] & ~unknown[:, 1:].all(axis=1)).tolist()
    with pytest.raises(RunError, match="there is no node that"):
        pick_node(graph, subject, subject)


@pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")
def test_labels_are_read_for_the_task_of_the_run() -> None:
    graph = made_graph("multiclass", nodes=60)
    run = fit(graph, ModelConfig("gcn", layers=1, hidden=8, groups=2), Protocol(max_epochs=2, task="multilabel"))
    read = as_read_for(run, graph)
    assert read.task == "multilabel"
    assert make_subject(run, read).split is not None
    bare = replace(graph, labels=np.full(60, -1), class_names=())
    assert not as_read_for(run, bare).labelled.any()
    assert make_subject(run, as_read_for(run, bare)).probability.shape == (60, 3)
    with pytest.raises(RunError, match="this run on multiclass predicts other labels"):
        make_subject(run, graph)


@pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")
def test_numbers_and_graphs_are_not_picked() -> None:
    graph = made_graph("regression", nodes=60)
    subject = subject_on(graph)
    with pytest.raises(RunError, match="here numbers are neither right nor wrong: name one with --node"):
        pick_node(graph, subject, subject)
    graphs = with_names(made_graphs(40))
    several = subject_on(graphs)
    assert several.predicted.shape == (40,)
    with pytest.raises(RunError, match="here whole graphs have the labels: name one with --node"):
        pick_node(graphs, several, several)


def test_nodes_of_several_graphs_are_named_by_graph_and_number() -> None:
    graph = with_names(made_graphs(40))
    batch = graph.batch
    assert batch is not None
    assert find_node(graph, "3:2") == np.flatnonzero(batch == 3)[2]
    assert find_node(graph, "3") == np.flatnonzero(batch == 3)[0]  # the middle of a star
    assert row_of(graph, find_node(graph, "3:2")) == 3
    with pytest.raises(RunError, match="name one of 40 graphs, 0 to 39, or a node such as 0:0"):
        find_node(graph, "40")


def test_columns_of_a_table_become_numbers_as_in_training() -> None:
    random = np.random.RandomState(0)
    table = Table.of({"income": random.rand(40) * 50_000, "city": ["Bonn", "Ulm"] * 20})
    edges = random.randint(0, 40, (2, 80))
    graph = Graph(edges, table, np.arange(40) % 2, ("a", "b"))
    subject = subject_on(graph)
    assert isinstance(subject.inputs.x, torch.Tensor)
    expected = subject.run.preprocessing.apply(table)
    torch.testing.assert_close(subject.inputs.x, torch.from_numpy(np.asarray(expected)))
    assert influence(subject.run.model, graph, 0, inputs=subject.inputs).share.sum() == pytest.approx(1)
