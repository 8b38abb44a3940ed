"""Graphs and comparisons that many tests share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from justjump.data import Graph

TOLERANCE = {torch.bfloat16: 1e-1, torch.float32: 1e-5, torch.float64: 1e-12}
# The fields of a small graph.
VALID: dict[str, Any] = {
    "edge_index": np.array([[0, 1, 2, 2], [1, 0, 2, 2]]),
    "features": np.eye(3),
    "labels": np.array([0, 1, -1]),
    "class_names": ("a", "b"),
}


def random_graph(nodes: int, edges: int, seed: int = 0, isolated: int = 1) -> Tensor:
    """``edge_index`` of a directed graph with duplicates and self-loops; the last ``isolated`` nodes have no edge."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(max(1, nodes - isolated), (2, edges), generator=generator)


def simple_graph(nodes: int, edges: int, seed: int = 0, isolated: int = 1) -> Tensor:
    """The same without duplicates and self-loops."""
    edge_index = random_graph(nodes, edges, seed, isolated)
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    return torch.unique(edge_index, dim=1)


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    """Equal to within the tolerance of the dtype, relative to the largest value."""
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    scale = max(1.0, theirs.abs().max().item()) if theirs.numel() else 1.0
    worst = (ours - theirs).abs().max().item() if ours.numel() else 0.0
    allowed = TOLERANCE[ours.dtype] * scale
    assert worst <= allowed, f"off by {worst:.2e}, allowed {allowed:.2e}"


def gradients(out: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Gradients of a fixed random functional of ``out``; zero where an input plays no part."""
    generator = torch.Generator().manual_seed(7)
    direction = torch.randn(out.shape, generator=generator, dtype=out.dtype)
    grads = torch.autograd.grad((out * direction).sum(), list(inputs), allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, grads, strict=True)]


def array_features(graph: Graph) -> np.ndarray:
    """The features of a graph that has an array of them."""
    assert isinstance(graph.features, np.ndarray)
    return graph.features


def sparse_features(graph: Graph) -> Any:
    """The features of a graph that has sparse ones."""
    assert isinstance(graph.features, csr_matrix)
    return graph.features
