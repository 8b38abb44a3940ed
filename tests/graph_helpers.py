"""What tests of graphs ask of an ``Adjacency``."""

from typing import get_args

import torch
from torch import Tensor

from helpers import random_graph
from justjump.ops import Adjacency, Aggregate

AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)


def edges_of(adj: Adjacency) -> list[tuple[int, ...]]:
    return sorted(map(tuple, adj.edge_index.T.tolist()))


def weights_of(adj: Adjacency) -> Tensor:
    assert adj.weight is not None
    return adj.weight


def weighted() -> Adjacency:
    return Adjacency.build(random_graph(9, 30), torch.rand(30, dtype=torch.float64), 9)
