"""What is printed about nodes and runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

from justjump.analysis import Influence
from justjump.analysis.receptive_field import ReceptiveFields
from justjump.analysis.subject import Subject, open_subjects
from justjump.analysis.summaries import class_name, graph_title, node_line, node_table, opinion, summary, summary_table
from justjump.data import Graph, load


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
