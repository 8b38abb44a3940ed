"""Graphs without nodes, edges or targets, and graphs of one node: every layer and network gives rows and gradients."""

from typing import Any

import pytest
import scipy.sparse
import torch
from torch import nn

from justjump.nn import DNAConv, GATConv, GCNConv, GroupedLinear, ModelConfig, NodeClassifier
from justjump.nn.jump import jumping_knowledge, update_module
from justjump.ops import Adjacency, History, SparseMatrix, native

pytestmark = pytest.mark.slow  # many cases

NO_EDGES = torch.zeros(2, 0, dtype=torch.long)
LOOP = torch.zeros(2, 1, dtype=torch.long)
GRAPHS = {"no nodes": (0, NO_EDGES), "one node": (1, NO_EDGES), "one loop": (1, LOOP), "no edges": (3, NO_EDGES)}
LAYERS = {
    "dna folded": lambda: DNAConv(8, 4, 4),
    "dna separate": lambda: DNAConv(8, 4, 2),
    "dna separate, dense": lambda: DNAConv(8, 4, 1),
    "dna dropout, window": lambda: DNAConv(8, 2, 2, dropout=0.5, window=1),
    "dna without self-loops": lambda: DNAConv(8, 2, 2, normalize=False),
    "dna update": lambda: DNAConv(8, 2, 2, update=nn.Linear(8, 8)),
    "gat": lambda: GATConv(8, 4, 2),
    "gat groups, dropout": lambda: GATConv(8, 4, 2, 4, dropout=0.5),
    "gcn": lambda: GCNConv(8, 8),
    "gcn groups": lambda: GCNConv(8, 8, 2),
}


@pytest.fixture(autouse=True)
def _torch_has_a_reason(_path: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of a layer asks why there are no kernels."""
    if not native.available():
        monkeypatch.setattr(native, "why_not", lambda: "a test switched them off")


@pytest.fixture(params=GRAPHS)
def graph(request: pytest.FixtureRequest) -> tuple[int, torch.Tensor]:
    return GRAPHS[request.param]


def check_gradients(out: torch.Tensor, *inputs: torch.Tensor) -> None:
    """Backward runs and gives every input its shape in finite numbers."""
    grads = torch.autograd.grad(out.sum(), inputs, allow_unused=True)
    for x, grad in zip(inputs, grads, strict=True):
        assert grad is None or grad.shape == x.shape
        assert grad is None or grad.isfinite().all()


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("targets", [None, []], ids=["all", "no targets"])
def test_layers(name: str, graph: tuple[int, torch.Tensor], targets: list[int] | None) -> None:
    (nodes, edge_index), layer = graph, LAYERS[name]()
    x = torch.randn((nodes, 2, 8) if isinstance(layer, DNAConv) else (nodes, 8), requires_grad=True)
    adj: Any = edge_index
    if targets is not None:
        adj = Adjacency.build(edge_index, num_nodes=nodes).with_self_loops().toward(targets)
    out = layer(x, adj)
    assert out.shape == (nodes, 8)
    assert out.isfinite().all()
    check_gradients(out, x, *layer.parameters())


@pytest.mark.parametrize("nodes", [0, 1])
def test_gat_equals_pyg(nodes: int) -> None:
    from torch_geometric.nn import GATConv as PyGConv

    out = PyGConv(8, 4, heads=2)(torch.randn(nodes, 8), NO_EDGES)
    assert out.shape == GATConv(8, 4, heads=2)(torch.randn(nodes, 8), NO_EDGES).shape == (nodes, 8)


@pytest.mark.parametrize("nodes", [0, 1])
def test_extend(nodes: int) -> None:
    for name, make in LAYERS.items():
        if name.startswith("dna"):
            start, layer = torch.randn(nodes, 8, requires_grad=True), make()
            assert isinstance(layer, DNAConv)
            history = History.start(start)
            for _ in range(2):
                layer.extend(history, NO_EDGES)
            assert history.newest.shape == (nodes, 8)
            assert len(history) == 3
            check_gradients(history.newest, start, *layer.parameters())


@pytest.mark.parametrize("nodes", [0, 1])
def test_attention(nodes: int) -> None:
    _, attention = DNAConv(8, 2, 2)(torch.randn(nodes, 3, 8), NO_EDGES, return_attention=True)
    assert attention.weight.shape == (nodes, 3, 2)  # the self-loops
    assert attention.edge_index.shape == (2, nodes)


@pytest.mark.parametrize("groups", [1, 4])
def test_grouped_linear(groups: int) -> None:
    layer, x = GroupedLinear(8, 8, groups), torch.randn(0, 8, requires_grad=True)
    assert layer(x).shape == (0, 8)
    check_gradients(layer(x), x, *layer.parameters())


@pytest.mark.parametrize("jump", ["concat", "pool", "lstm"])
def test_jumps(jump: Any) -> None:
    module = jumping_knowledge(jump, 8, 3)
    assert module is not None
    rows = [torch.randn(0, 8, requires_grad=True) for _ in range(3)]
    out = module(rows)
    assert out.shape == (0, 24 if jump == "concat" else 8)
    check_gradients(out, *rows, *module.parameters())


@pytest.mark.parametrize("update", ["skip", "gru"])
def test_updates(update: Any) -> None:
    module = update_module(update, 8)
    assert module is not None
    former, new = (torch.randn(0, 8, requires_grad=True) for _ in range(2))
    out = module(former, new)
    assert out.shape == (0, 8)
    check_gradients(out, former, new, *module.parameters())


@pytest.mark.parametrize("update", ["none", "skip", "gru"])
@pytest.mark.parametrize("jump", ["none", "concat", "pool", "lstm"])
@pytest.mark.parametrize("model", ["dna", "gcn", "gat"])
def test_networks(model: Any, jump: Any, update: Any, graph: tuple[int, torch.Tensor]) -> None:
    nodes, edge_index = graph
    config = ModelConfig(model=model, layers=2, hidden=8, heads=2, groups=2, jump=jump, update=update)
    network, dense = NodeClassifier(config, 5, 3), torch.randn(nodes, 5)
    adj = Adjacency.build(edge_index, num_nodes=nodes)
    for x in (dense, SparseMatrix.from_scipy(scipy.sparse.csr_matrix(dense.numpy()))):
        for graph_, rows in ((edge_index, nodes), (adj, nodes), (adj.with_self_loops().toward([]), 0)):
            for training in (True, False):
                out = network.train(training)(x, graph_)
                assert out.shape == (rows, 3)
                assert out.isfinite().all()
                check_gradients(out, *network.parameters())
