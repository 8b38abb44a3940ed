"""What is measured: layers and training steps, ours and PyTorch Geometric's, with the same weights."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from justjump.data import Graph, is_available, load
from justjump.experiments.paper import DATASETS
from justjump.nn import DNAConv, GATConv, GCNConv, ModelConfig, NodeClassifier
from justjump.ops import Adjacency
from justjump.train import Protocol, prepare
from justjump.train.epochs import train_epoch
from justjump.train.inputs import Inputs
from justjump.train.objective import Objective
from justjump.train.optimizer import make_optimizer
from justjump.train.part import Part

Step = Callable[[], Tensor]
ATTENTION_DROPOUT = 0.8
TRAINED = 5  # every fifth node is in the loss of a step


@dataclass(frozen=True)
class Case:
    """One measurement; ``steps`` is the length of the history of a single layer, or the layers of a network."""

    kind: str
    dataset: str
    steps: int
    channels: int
    heads: int
    groups: int
    bar: float

    @property
    def name(self) -> str:
        sizes = f"d={self.channels}"
        if self.kind.startswith("DNA"):
            sizes = f"T={self.steps} {sizes} h={self.heads} g={self.groups}"
        elif self.kind.startswith("GAT"):
            sizes = f"{sizes} h={self.heads}"
        return f"{self.kind}, {DATASETS[self.dataset].title}, {sizes}"


CASES = {
    "layer-cora": Case("DNA layer", "cora", 4, 128, 8, 16, 60),
    "layer-photo": Case("DNA layer", "amazon_photo", 1, 128, 16, 16, 60),
    "drop-in-cora": Case("DNA layer (edge_index)", "cora", 4, 128, 8, 16, 48),
    "drop-in-photo": Case("DNA layer (edge_index)", "amazon_photo", 1, 128, 16, 16, 48),
    "layer-computers-folds": Case("DNA layer", "amazon_computers", 2, 128, 16, 16, 120),
    "layer-computers": Case("DNA layer", "amazon_computers", 2, 128, 16, 8, 80),
    "layer-computers-deep": Case("DNA layer", "amazon_computers", 5, 128, 8, 1, 60),
    "step-cora": Case("DNA step", "cora", 4, 128, 8, 16, 30),
    "step-photo": Case("DNA step", "amazon_photo", 1, 128, 16, 16, 50),
    "step-computers": Case("DNA step", "amazon_computers", 2, 128, 16, 8, 80),
    "step-physics": Case("DNA step", "coauthor_physics", 1, 128, 16, 16, 80),
    "gat-computers": Case("GAT layer", "amazon_computers", 1, 128, 8, 1, 10),
    "gcn-computers": Case("GCN layer", "amazon_computers", 1, 128, 1, 1, 10),
    "gcn-computers-adj": Case("GCN layer (adj_t)", "amazon_computers", 1, 128, 1, 1, 0),
}


def graph_for(dataset: str, synthetic: bool, data_dir: str | None = None) -> Graph:
    """The dataset, or a random graph with its counts and a skewed degree distribution."""
    if not synthetic and is_available(dataset, data_dir):
        return load(dataset, data_dir)
    size = DATASETS[dataset]
    random = np.random.RandomState(zlib.crc32(dataset.encode()))
    edges = skewed_edges(size.nodes, size.edges, random)
    per_node = 30
    columns = random.randint(size.features, size=(size.nodes, per_node))
    features = np.zeros((size.nodes, size.features), dtype=np.float32)
    features[np.arange(size.nodes)[:, None], columns] = 1
    labels = random.randint(size.classes, size=size.nodes)
    return Graph(edges, features, labels, tuple(map(str, range(size.classes))), name=dataset)


def skewed_edges(nodes: int, edges: int, random: np.random.RandomState) -> np.ndarray:
    """Both directions of ``edges`` random pairs; low node numbers are hubs. ``[2, 2 * edges]``"""
    source = (nodes * random.rand(edges) ** 2).astype(np.int64)
    target = random.randint(nodes, size=edges)
    return np.stack([np.concatenate([source, target]), np.concatenate([target, source])])


def build(case: Case, side: str, graph: Graph) -> Step:
    """A function that does one forward and backward pass (and, for a step, one of Adam) and returns the output."""
    torch.manual_seed(0)
    if case.kind.endswith("step"):
        return _step(case, side, graph)
    if case.kind.startswith("DNA"):
        return _dna_layer(case, side, graph)
    return _baseline_layer(case, side, graph)


def _dna_layer(case: Case, side: str, graph: Graph) -> Step:
    x = torch.randn(graph.num_nodes, case.steps, case.channels, requires_grad=True)
    ours = DNAConv(case.channels, case.heads, case.groups, ATTENTION_DROPOUT)
    edge_index = torch.from_numpy(graph.edge_index)
    if side == "ours":
        sorted_once = Adjacency.build(edge_index, num_nodes=graph.num_nodes)
        return _forward_backward(ours, x, edge_index if "edge_index" in case.kind else sorted_once)
    import torch_geometric.nn as pyg

    theirs = pyg.DNAConv(case.channels, case.heads, case.groups, ATTENTION_DROPOUT, cached=True)
    theirs.load_state_dict(ours.state_dict())
    return _forward_backward(theirs, x, edge_index)


def _baseline_layer(case: Case, side: str, graph: Graph) -> Step:
    import torch_geometric.nn as pyg

    d, heads = case.channels, case.heads
    x = torch.randn(graph.num_nodes, d, requires_grad=True)
    edge_index = torch.from_numpy(graph.edge_index)
    gat = case.kind.startswith("GAT")
    ours = GATConv(d, d // heads, heads, dropout=ATTENTION_DROPOUT) if gat else GCNConv(d, d)
    if side == "ours":
        return _forward_backward(ours, x, Adjacency.build(edge_index, num_nodes=graph.num_nodes))
    theirs = pyg.GATConv(d, d // heads, heads, dropout=ATTENTION_DROPOUT) if gat else pyg.GCNConv(d, d, cached=True)
    theirs.load_state_dict({**ours.state_dict(), "lin.weight": ours.lin.weight[0].T})
    if "adj_t" in case.kind:
        ones = torch.ones(edge_index.size(1))
        size = (graph.num_nodes, graph.num_nodes)
        return _forward_backward(theirs, x, torch.sparse_coo_tensor(edge_index.flip(0), ones, size).to_sparse_csr())
    return _forward_backward(theirs, x, edge_index)


def _forward_backward(layer: nn.Module, x: Tensor, graph: Any) -> Step:
    grad = torch.randn(x.size(0), x.size(-1))

    def step() -> Tensor:
        layer.zero_grad()
        x.grad = None
        out: Tensor = layer(x, graph)
        if out.requires_grad:
            out.backward(grad)  # type: ignore[no-untyped-call]
        return out.detach()

    step.layer = layer  # type: ignore[attr-defined]
    return step


class PygNetwork(nn.Module):
    """The paper's network as one writes it with PyTorch Geometric."""

    def __init__(self, case: Case, features: int, classes: int) -> None:
        import torch_geometric.nn as pyg

        super().__init__()
        self.lin_in = nn.Linear(features, case.channels)
        self.convs = nn.ModuleList(
            pyg.DNAConv(case.channels, case.heads, case.groups, ATTENTION_DROPOUT, cached=True)
            for _ in range(case.steps)
        )
        self.lin_out = nn.Linear(case.channels, classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = F.dropout(x, 0.5, self.training)
        h = F.dropout(torch.relu(self.lin_in(x)), 0.5, self.training)
        history = h[:, None]
        for conv in self.convs:
            h = torch.relu(conv(history, edge_index))
            history = torch.cat([history, h[:, None]], dim=1)
        out: Tensor = self.lin_out(F.dropout(h, 0.5, self.training))
        return out


def _step(case: Case, side: str, graph: Graph) -> Step:
    """A step of training on a fifth of the nodes; without training, the logits of all.

    Ours is that of ``justjump.fit``, which computes the last layer for those nodes alone.
    """
    config = ModelConfig("dna", case.steps, case.channels, case.heads, case.groups)
    ours = NodeClassifier(config, graph.num_features, graph.num_classes)
    nodes = torch.arange(0, graph.num_nodes, TRAINED)
    if side == "ours":
        return _our_step(ours, prepare(graph), nodes)
    features: Any = graph.features
    x = torch.from_numpy(features if isinstance(features, np.ndarray) else features.toarray())
    edge_index, labels = torch.from_numpy(graph.edge_index), torch.from_numpy(graph.labels)
    model, state = PygNetwork(case, graph.num_features, graph.num_classes), ours.state_dict()
    model.load_state_dict({**state, "lin_in.weight": state["lin_in.weight"].T})
    optimizer = make_optimizer(model, Protocol())

    def step() -> Tensor:
        optimizer.zero_grad()
        logits: Tensor = model(x, edge_index)
        if model.training:
            F.cross_entropy(logits[nodes], labels[nodes]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        return logits.detach()

    step.layer = model  # type: ignore[attr-defined]
    return step


def _our_step(model: NodeClassifier, inputs: Inputs, nodes: Tensor) -> Step:
    optimizer, part, objective = make_optimizer(model, Protocol()), Part.of(inputs, nodes.numpy()), Objective()

    def step() -> Tensor:
        if model.training:
            return torch.tensor(train_epoch(model, optimizer, inputs, part, objective))
        with torch.no_grad():
            logits: Tensor = model(inputs.x, inputs.adj)
        return logits

    step.layer = model  # type: ignore[attr-defined]
    return step
