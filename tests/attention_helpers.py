"""A small graph and a network whose attention is worth looking at."""

from typing import Any

import numpy as np
import torch

from helpers import random_graph
from justjump.data import Graph
from justjump.nn import DNAConv, ModelConfig, NodeClassifier
from justjump.train import Inputs, prepare

NODES, FEATURES, CLASSES = 40, 6, 3


def small_inputs() -> Inputs:
    """A random graph; some of its labels are unknown."""
    generator = np.random.default_rng(0)
    labels = np.arange(NODES) % (CLASSES + 1) - 1
    edge_index = random_graph(NODES, 120).numpy()
    return prepare(Graph(edge_index, generator.normal(size=(NODES, FEATURES)), labels, ("a", "b", "c")))


def network(**options: Any) -> NodeClassifier:
    """Four DNA layers with sharp weights: those of a fresh network are all alike."""
    net = NodeClassifier(ModelConfig(layers=4, hidden=16, heads=4, groups=4, **options), FEATURES, CLASSES)
    with torch.no_grad():
        for conv in net.convs:
            assert isinstance(conv, DNAConv)
            conv.multi_head.lin_q.weight.mul_(8)
    return net
