"""Labels, masks and splits are those of the data that was partitioned."""

from dataclasses import replace

import numpy as np

from justjump.train.parts.nodes import Chosen, labels_of, split_hash
from justjump.train.protocol import Protocol
from justjump.train.start import default_split

from .conftest import Make, random_graph


def test_a_split_is_that_of_the_whole_graph(make_parts: Make) -> None:
    graph = random_graph()
    parts = make_parts(graph)
    expected, found = (default_split(some, Protocol(), seed=3) for some in (graph, labels_of(parts)))
    for role in ("train", "val", "test"):
        assert np.array_equal(getattr(expected, role), getattr(found, role))
    assert split_hash(parts, found) == split_hash(parts, expected)
    assert split_hash(parts, found) != split_hash(parts, default_split(graph, Protocol(), seed=4))


def test_masks_are_those_of_the_whole_graph(make_parts: Make) -> None:
    role = np.random.default_rng(0).integers(0, 3, 60)
    graph = replace(random_graph(), masks=(role == 0, role == 1, role == 2))
    found = default_split(labels_of(make_parts(graph)), Protocol(), seed=0)
    assert np.array_equal(found.val, np.flatnonzero(role == 1))


def test_regression_labels_are_in_their_order(make_parts: Make) -> None:
    values = np.random.default_rng(0).standard_normal((60, 2)).astype(np.float32)
    values[7] = np.nan
    graph = replace(random_graph(), labels=values, class_names=("x", "y"), task="regression")
    assert np.array_equal(labels_of(make_parts(graph)).labels, values, equal_nan=True)


def test_chosen_nodes_are_counted(make_parts: Make) -> None:
    parts = make_parts()
    rows = np.arange(0, 60, 7)
    chosen = Chosen.of(parts, rows)
    found = [parts[p].original[nodes] for p, nodes in enumerate(chosen.nodes)]
    assert sorted(np.concatenate(found)) == rows.tolist()
    assert len(chosen) == len(rows)
    assert chosen.first_nodes == np.cumsum([0, *map(len, found)])[:-1].tolist()
    same, wanted = Chosen.everyone(parts), Chosen.of(parts, np.arange(60))
    assert (same.first_nodes, same.first_edges) == (wanted.first_nodes, wanted.first_edges)
    assert [nodes.tolist() for nodes in same.nodes] == [nodes.tolist() for nodes in wanted.nodes]
    edges = [np.diff(parts[p].rowptr)[nodes].sum() for p, nodes in enumerate(chosen.nodes)]
    assert chosen.first_edges == np.cumsum([0, *edges])[:-1].tolist()
