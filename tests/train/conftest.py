"""Graphs to train on."""

import numpy as np
import pytest

from justjump.data import Graph, load


@pytest.fixture(scope="session")
def cora() -> Graph:
    return load("cora")


@pytest.fixture
def tiny() -> Graph:
    """Two cliques of ten nodes whose features tell them apart."""
    block = np.kron(np.eye(2), np.ones((10, 10))) - np.eye(20)
    labels = np.repeat([0, 1], 10)
    features = np.random.RandomState(0).rand(20, 6) + labels[:, None]
    return Graph(np.stack(block.nonzero()), features, labels, ("left", "right"), name="tiny")
