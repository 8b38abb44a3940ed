"""Graphs whose neighbours add much or nothing to a node's own features."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from justjump.data import Graph, Split
from justjump.nn import ModelConfig
from justjump.options import recommended
from justjump.train import Protocol, prepare
from justjump.train.choices import with_share
from justjump.train.neighbors import Gain, features_alone
from justjump.train.start import default_split

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
from wins_study import MADE, logistic_regression

__all__ = ["logistic_regression"]

NODES, CLASSES = 3000, 3


def graph_of(features: np.ndarray, pairs: np.ndarray, labels: np.ndarray) -> Graph:
    x = torch.from_numpy(features.astype(np.float32))
    return Graph.of(Data(x=x, edge_index=torch.from_numpy(pairs), y=torch.from_numpy(labels)))


def made(noise: float, edges: str, sparse: bool = False) -> Graph:
    """Nodes whose features show their class through noise, and whose edges lead to their class or to any node."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, NODES)
    features = np.eye(CLASSES)[labels] + noise * rng.normal(size=(NODES, CLASSES))
    if sparse:  # words: columns of zeros and a few ones
        features = np.concatenate([features > 0.5, rng.random((NODES, 40)) < 0.05], axis=1)
    source = np.repeat(np.arange(NODES), 3)
    members = [np.flatnonzero(labels == one) for one in range(CLASSES)]
    same = np.array([rng.choice(members[labels[node]]) for node in source])
    target = same if edges == "within" else rng.integers(0, NODES, len(source))
    pairs = np.stack([np.r_[source, target], np.r_[target, source]])
    return graph_of(features, pairs, labels)


def gain_of(graph: Graph) -> Gain | None:
    inputs, split = prepare(graph), first_split(graph)
    return Gain.of(features_alone(graph, inputs, split), inputs, split)


def first_split(graph: Graph) -> Split:
    return default_split(graph, Protocol(), 0)


def chosen_share(graph: Graph, **options: Any) -> float | None:
    return with_share(replace(recommended(ModelConfig), **options), gain_of(graph)).initial_share


def random_edges() -> Graph:
    """2,000 nodes of five classes, whose 32 columns say much and whose edges say nothing."""
    found: Graph = MADE["random edges"].graph("random edges")
    return found
