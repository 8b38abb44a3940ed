"""Stars in which one neighbour alone decides: an explanation must name its edge and its feature."""

from typing import Any, get_args

import torch
from torch import Tensor
from torch.nn import functional as F

from justjump.nn import ModelConfig, NodeClassifier
from justjump.nn.config import Model

LEAVES, FEATURES, SIGNAL = 5, 4, 2
NAMES = get_args(Model)


def star(seed: int) -> tuple[Tensor, Tensor, int]:
    """Features, edges from the leaves to node 0 and back, and the leaf whose feature ``SIGNAL`` is the class."""
    generator = torch.Generator().manual_seed(seed)
    leaf = 1 + int(torch.randint(LEAVES, (), generator=generator))
    x = 0.1 * torch.randn(1 + LEAVES, FEATURES, generator=generator)
    x[leaf, SIGNAL] = 2.0 if seed % 2 else -2.0
    leaves = torch.arange(1, 1 + LEAVES)
    return x, torch.stack([torch.cat([leaves, 0 * leaves]), torch.cat([0 * leaves, leaves])]), leaf


def planted_network(model: Model, epochs: int = 30) -> NodeClassifier:
    """A network that has learned the classes of many stars."""
    stars = [star(1000 + seed) for seed in range(60)]
    x = torch.cat([s[0] for s in stars])
    edge_index = torch.cat([s[1] + i * (1 + LEAVES) for i, s in enumerate(stars)], dim=1)
    centres, labels = torch.arange(60) * (1 + LEAVES), torch.arange(60) % 2
    config = ModelConfig(model, layers=1, hidden=16, heads=2, groups=2, dropout=0, input_dropout=0, attention_dropout=0)
    network = NodeClassifier(config, FEATURES, 2)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(epochs):
        optimizer.zero_grad()
        F.cross_entropy(network(x, edge_index)[centres], labels).backward()
        optimizer.step()
    optimizer.zero_grad()
    return network.eval()


def explained(explainer: Any, network: NodeClassifier, algorithm: Any, seed: int) -> tuple[bool, bool]:
    """Whether the explanation of one star finds its edge, and its leaf and feature."""
    x, edge_index, leaf = star(seed)
    task = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
    explanation = explainer(
        network, algorithm, explanation_type="model", node_mask_type="attributes", edge_mask_type="object",
        model_config=task,
    )(x, edge_index, index=0)  # fmt: skip
    edge = edge_index[:, int(explanation.edge_mask.argmax())].tolist()
    return edge == [leaf, 0], int(explanation.node_mask.argmax()) == leaf * FEATURES + SIGNAL
