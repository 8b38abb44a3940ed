"""What is printed about nodes and runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

from justjump.analysis import Influence
from justjump.analysis.receptive_field import ReceptiveFields
from justjump.analysis.subject import Subject, make_subject, open_subjects, with_names
from justjump.analysis.summaries import (
    class_name,
    graph_title,
    label_words,
    node_line,
    node_table,
    opinion,
    shown_number,
    summary,
    summary_table,
)
from justjump.data import Graph, load
from justjump.nn import ModelConfig
from justjump.train import Protocol, fit
from made_graphs import made_graph, made_graphs


def printed(table: Table) -> list[str]:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(table)
    return [" ".join(line.split()) for line in capture.get().splitlines()]


@pytest.fixture
def opened(people: Path, people_run: Path) -> tuple[Graph, Subject]:
    graph, (subject,) = open_subjects([people_run], str(people), False, None)
    return graph, subject


def test_names_are_those_of_the_paper_or_one_s_own(opened: tuple[Graph, Subject]) -> None:
    graph, _ = opened
    cora = load("cora")
    assert (graph_title(cora), graph_title(graph)) == ("Cora", "people")
    assert (class_name(cora, 0), class_name(cora, -1)) == ("Neural Networks", "unknown")
    assert node_line(graph, 1) == "node bob (number 1) of people, true class: dog"
    assert node_line(replace(cora, labels=np.full(2708, -1)), 7) == "node 7 of Cora, true class: unknown"


def test_an_opinion_is_right_or_wrong_where_the_class_is_known(opened: tuple[Graph, Subject]) -> None:
    graph, subject = opened
    subject = replace(subject, predicted=np.array([0, 0, 0]))
    assert [opinion(graph, subject, node) for node in range(3)] == ["cat (right)", "cat (wrong)", "cat (right)"]
    assert opinion(replace(graph, labels=np.full(3, -1)), subject, 1) == "cat"


def test_one_column_per_run(opened: tuple[Graph, Subject]) -> None:
    graph, _ = opened
    scores = [
        Influence(np.array([1, 0, 2]), np.array([0.5, 0.1, 0.4]), np.array([0, 1, 1])),
        Influence(np.array([1]), np.array([1.0]), np.array([0])),
    ]
    lines = printed(node_table(graph, ["[b]DNA[/b]", "GCN"], ["cat", "dog"], scores))
    assert "[b]DNA[/b] GCN" in lines
    assert "predicted class cat dog" in lines
    assert "influence from 0 hops 50.0% 100.0%" in lines
    assert "influence from 1 hop 50.0%" in lines
    assert "most influential 50.0% bob 100.0% bob" in lines
    assert "10.0% [b]ann[/b]" in lines


def test_all_nodes_in_one_row() -> None:
    field = ReceptiveFields(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([2, 1]), np.array([4, 3]))
    assert summary("DNA", field) == {
        "run": "DNA",
        "share_by_hop": [0.7, 0.3],
        "receptive_field_median": 1.5,
        "receptive_field_mean": 1.5,
        "reach_mean": 3.5,
    }
    deeper = ReceptiveFields(np.array([[0.5, 0.3, 0.2]]), np.array([3]), np.array([9]))
    lines = printed(summary_table(["DNA", "GCN"], [field, deeper]))
    assert "DNA 70.0 30.0 2, 1.5 4" in lines
    assert "GCN 50.0 30.0 20.0 3, 3.0 9" in lines


@pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")
def test_several_labels_and_numbers_in_words() -> None:
    config, protocol = ModelConfig("gcn", layers=1, hidden=8, groups=2), Protocol(max_epochs=1)
    graph = made_graph("multilabel", nodes=60)
    subject = make_subject(fit(graph, config, protocol), graph)
    labels = np.array([[1, 0, 1], [0, 0, np.nan], [np.nan] * 3] * 20, dtype=np.float32)
    graph, subject = replace(graph, labels=labels), replace(subject, predicted=np.array([[1, 0, 0]] * 60))
    assert [opinion(graph, subject, node) for node in range(3)] == [
        "0 (1 of 3 labels wrong)",
        "0 (1 of 2 labels wrong)",
        "0",
    ]
    assert node_line(graph, 0) == "node 0 of multilabel, true labels: 0, 2"
    assert node_line(graph, 1) == "node 1 of multilabel, true labels: none (2 unknown)"
    graph = made_graph("regression", nodes=60)
    subject = make_subject(fit(graph, config, protocol), graph)
    node = int(np.flatnonzero(graph.labelled)[0])
    off = float(subject.predicted[node, 0] - graph.labels[node, 0])
    assert opinion(graph, subject, node).endswith(f"(off by {'+' * (off > 0)}{shown_number(off)})")
    assert node_line(graph, node).startswith(f"node {node} of regression, true target: ")


def test_a_node_of_a_graph_is_told_with_its_graph() -> None:
    graph = with_names(made_graphs(40))
    assert node_line(graph, 0) == "node 0:0 (number 0) of graphs, in graph 0, whose true class is 0"


def test_few_of_many_labels_are_named() -> None:
    many = Graph(np.zeros((2, 0), int), np.eye(2), np.ones((2, 20)), tuple("abcdefghijklmnopqrst"), task="multilabel")
    assert label_words(many, many.labels[0]) == "a, b, c, d, e, f, g, h and 12 more"
