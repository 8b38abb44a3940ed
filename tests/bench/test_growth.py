"""How a training step grows with the graph."""

import math

import pytest

from justjump.bench.growth import CONFIG, Grown, grow


def test_time_per_edge_counts_the_representations_that_each_layer_attends_to() -> None:
    assert CONFIG.layers == 3
    assert Grown(edges=1000, nodes=62, seconds=6e-3, memory_mb=1.0).nanoseconds_per_edge == pytest.approx(1000)


@pytest.mark.slow
def test_one_size_in_a_process_of_its_own() -> None:
    row = grow(edges=3200, threads=1)
    assert (row.edges, row.nodes) == (3200, 200)
    assert row.seconds > 0
    assert row.memory_mb > 0 or math.isnan(row.memory_mb)
