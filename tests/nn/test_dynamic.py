"""Programs that take the graph as an input: compiled, exported, transformed; and layers on other devices."""

import copy
from typing import Any, get_args

import pytest
import torch
from scipy.sparse import random as random_matrix
from torch import Tensor, nn
from torch.export import Dim

from helpers import assert_same, gradients, random_graph
from justjump.nn import DNA, GAT, GCN, DNAConv, GATConv, GCNConv, ModelConfig, NodeClassifier
from justjump.nn.config import Model
from justjump.ops import Adjacency, History, SparseMatrix, native, without_native

SIZES = [(9, 30), (50, 333), (7, 20), (300, 2000)]  # with self-loops and edges that come twice


def classifier(model: Model) -> NodeClassifier:
    return NodeClassifier(ModelConfig(model, layers=2, hidden=16, heads=4, groups=4), 8, 3)


def networks() -> list[nn.Module]:
    layers = [
        DNAConv(8, 4, 4),
        DNAConv(8, 2, 4, qk_norm=True),
        DNAConv(8, 4, 1, flow="target_to_source"),
        GATConv(8, 2, 4, 2),
        GCNConv(8, 8, 2),
    ]
    stacks = [stack(8, 8, 2, out_channels=8, groups=2) for stack in (DNA, GCN, GAT)]
    return [*layers, *map(classifier, get_args(Model)), *stacks]


def name(network: nn.Module) -> str:
    return network.config.model if isinstance(network, NodeClassifier) else repr(network).split("\n")[0]


every_network = pytest.mark.parametrize("network", networks(), ids=name)


def inputs(network: nn.Module, nodes: int, edges: int) -> tuple[Tensor, Tensor]:
    return torch.randn((nodes, 2, 8) if isinstance(network, DNAConv) else (nodes, 8)), random_graph(nodes, edges, nodes)


def assert_equal(ours: Tensor, theirs: Tensor) -> None:
    """To the bit with the kernels. PyTorch sums in the same order up to edges of the same ends."""
    if native.available():
        assert torch.equal(ours, theirs)
    else:
        assert_same(ours, theirs)


@pytest.mark.slow
@every_network
def test_one_exported_program_takes_every_graph(network: nn.Module) -> None:
    network.eval()
    nodes, edges = Dim("nodes"), Dim("edges")
    example = inputs(network, *SIZES[0])
    program = torch.export.export(network, example, dynamic_shapes=({0: nodes}, {1: edges})).module()
    for size in SIZES:
        x, edge_index = inputs(network, *size)
        assert_equal(program(x, edge_index), network(x, edge_index))
    if native.available():
        with pytest.raises(ValueError, match="edge_index holds node 3, but there are 3 nodes"):
            program(inputs(network, 3, 4)[0], torch.tensor([[0, 1], [1, 3]]))


def compiled(network: nn.Module) -> Any:
    torch._dynamo.reset()
    return torch.compile(network, fullgraph=True, backend="aot_eager", dynamic=True)


# Each takes seconds: the layers, and whole networks.
COMPILED = [
    DNAConv(8, 4, 4, dropout=0.5),
    DNAConv(8, 4, 1, qk_norm=True),
    GATConv(8, 2, 4, 2),
    GCNConv(8, 8, 2),
    classifier("dna"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("network", COMPILED, ids=name)
def test_one_compiled_function_takes_every_graph(network: nn.Module) -> None:
    """Outputs and all gradients, with the same dropout, and compiled once."""
    program, parameters = compiled(network), list(network.parameters())
    with torch.compiler.set_stance("default"):
        for count, (nodes, edges) in enumerate(SIZES[:3]):
            x, edge_index = inputs(network, nodes, edges)
            weight = [] if isinstance(network, GATConv) else [torch.rand(edges, requires_grad=True)]
            if count == 1:
                torch.compiler.set_stance("fail_on_recompile")
            torch.manual_seed(3)
            ours = program(x, edge_index, *weight)
            torch.manual_seed(3)
            expected = network(x, edge_index, *weight)
            assert_equal(ours, expected)
            learned = [*parameters, *weight]
            for a, b in zip(gradients(ours, learned), gradients(expected, learned), strict=True):
                assert_same(a, b)


def test_tracing_leaves_nothing_in_a_graph() -> None:
    conv, (x, edge_index) = GCNConv(8, 8), (torch.randn(9, 8), random_graph(9, 30))
    adj = Adjacency.build(edge_index, num_nodes=9)
    torch.func.vmap(lambda x: x * adj.with_self_loops().normalized("gcn").target.sum())(x)
    assert_same(conv(x, adj), conv(x, edge_index))


@pytest.mark.parametrize("graph", ["edge_index", "adjacency"])
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*torch.jit.*:DeprecationWarning")
def test_a_layer_refuses_torch_jit(graph: str) -> None:
    conv, (x, edge_index) = DNAConv(8, 4, 4), (torch.randn(9, 2, 8), random_graph(9, 30))
    given = edge_index if graph == "edge_index" else Adjacency.build(edge_index, num_nodes=9)
    with pytest.raises(RuntimeError, match="torch.jit.trace cannot follow a graph: use torch.export.export"):
        torch.jit.trace(lambda x: conv(x, given), x)


@pytest.mark.parametrize("layer", [DNAConv(8, 4, 4), GATConv(8, 2, 4, 2), GCNConv(8, 8, 2)], ids=repr)
def test_forward_derivatives_are_right_or_refused(layer: nn.Module) -> None:
    layer = copy.deepcopy(layer).double()
    x, edge_index = inputs(layer, 9, 30)
    x = x.double()
    direction = torch.randn_like(x)
    adj = Adjacency.build(edge_index, num_nodes=9)

    def tangent(graph: Any) -> Tensor:
        out: Tensor = torch.func.jvp(lambda x: layer(x, graph), (x,), (direction,))[1]
        return out

    if native.available():
        with pytest.raises(NotImplementedError, match=r"call the layer inside justjump.ops.without_native\(\)"):
            tangent(edge_index)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, direction)
            with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
                layer(dual, adj)
    with without_native():
        found = tangent(edge_index), tangent(adj)
        grad = torch.func.grad(lambda x: (layer(x, edge_index) ** 2).sum())(x)
        both = torch.func.vmap(lambda x: layer(x, edge_index))(torch.stack([x, direction]))
    numeric = (layer(x + 1e-6 * direction, adj) - layer(x - 1e-6 * direction, adj)) / 2e-6
    for out in found:
        assert (out - numeric).abs().max() < 1e-7
    x.requires_grad_()
    assert_same(grad, torch.autograd.grad((layer(x, adj) ** 2).sum(), x)[0])
    assert_same(both[1], layer(direction, adj))


@every_network
def test_shapes_on_meta(network: nn.Module) -> None:
    network = copy.deepcopy(network).to("meta")
    x, edge_index = inputs(network, 9, 30)
    adj = Adjacency.build(edge_index, num_nodes=9)
    for graph in (edge_index.to("meta"), adj.to("meta")):
        features = x.to("meta").requires_grad_()
        out = network(features, graph)
        assert out.device.type == "meta"
        assert out.shape == (9, 3 if isinstance(network, NodeClassifier) else 8)
        out.sum().backward()
        assert features.grad is not None
        assert features.grad.shape == x.shape


def test_sparse_features_on_meta() -> None:
    features = SparseMatrix.from_scipy(random_matrix(9, 8, 0.3, format="csr", dtype="float32"))
    graph = Adjacency.build(random_graph(9, 30), num_nodes=9).to("meta")
    out = classifier("dna").to("meta")(features.to("meta"), graph)
    assert out.device.type == "meta"
    assert out.shape == (9, 3)


@every_network
def test_pytorch_alone_gives_the_same_numbers(network: nn.Module) -> None:
    network.eval()
    x, edge_index = inputs(network, 50, 300)
    expected = network(x, edge_index)
    with without_native():
        assert_same(network(x, edge_index), expected)


def test_a_history_goes_to_a_device() -> None:
    history = History.start(torch.randn(5, 8))
    DNAConv(8, 4, 4).extend(history, random_graph(5, 9))
    moved = history.to("meta")
    assert moved.device.type == "meta"
    assert (len(moved), moved.num_nodes, moved.channels) == (2, 5, 8)
    assert torch.equal(history.to("cpu")[1], history[1])


def test_two_devices_are_an_error() -> None:
    ours = "the graph is on meta, but x is not: bring both to one device"
    with pytest.raises((ValueError, RuntimeError), match=ours if native.available() else "device|meta"):
        GCNConv(8, 8)(torch.randn(9, 8), random_graph(9, 30).to("meta"))
