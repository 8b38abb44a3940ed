"""Positions of nodes on rings."""

import numpy as np
import pytest

from justjump.analysis import neighbourhood
from justjump.analysis.explore.rings import RING, ring_positions
from justjump.data import load


@pytest.mark.parametrize("node", [0, 163, 2707])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_nodes_do_not_touch_and_are_further_out_the_further_away(node: int, hops: int) -> None:
    around = neighbourhood(load("cora"), node, hops, limit=120)
    positions = ring_positions(around.hops, around.edge_index)
    distance = np.linalg.norm(positions[:, None] - positions[None], axis=-1)
    assert distance[~np.eye(len(positions), dtype=bool)].min() > 18  # the size of a node
    radius = np.linalg.norm(positions, axis=1)
    for hop in range(1, int(around.hops.max()) + 1):
        assert radius[around.hops == hop].min() > radius[around.hops == hop - 1].max()


def test_a_node_alone_is_in_the_middle() -> None:
    assert ring_positions(np.array([0]), np.zeros((2, 0), dtype=np.int64)).tolist() == [[0.0, 0.0]]


def test_an_edge_counts_in_either_direction() -> None:
    hops, edge_index = np.array([0, 1, 2]), np.array([[1, 1], [0, 2]])
    assert np.allclose(np.linalg.norm(ring_positions(hops, edge_index), axis=1), [0, RING, 2 * RING])


def test_nodes_that_no_path_connects_stand_around_the_centre() -> None:
    hops, edges = np.array([0, 1, 2, 2]), np.array([[1, 2], [0, 3]])
    positions = ring_positions(hops, edges)
    distance = np.hypot(*positions.T)
    assert distance[[2, 3]].min() >= 2 * RING - 1
    assert np.linalg.norm(positions[2] - positions[3]) > 20
