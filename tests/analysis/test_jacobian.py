"""Influence against the whole Jacobian."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from helpers import random_graph, simple_graph
from justjump.analysis import Influence, influence, influences, jacobian
from justjump.data import Graph, load
from justjump.nn import GCNConv, ModelConfig, NodeClassifier
from justjump.nn.config import Jump, Model, Update
from justjump.ops import History, native
from justjump.train import Inputs, prepare
from specification import NO_KERNELS

NODES, FEATURES, CLASSES = 14, 6, 3
COMBINATIONS = list(product(["dna", "gcn", "gat"], ["none", "concat", "pool", "lstm"], ["none", "skip", "gru"]))


def own_graph(seed: int = 0, weighted: bool = False) -> Graph:
    """A sparse directed graph with duplicate edges, loops and a node without edges."""
    generator = np.random.default_rng(seed)
    edge_index = random_graph(NODES, 18, seed).numpy()
    weight = generator.uniform(0.1, 2, edge_index.shape[1:]) if weighted else None
    features = generator.normal(size=(NODES, FEATURES))
    labels = np.arange(NODES) % CLASSES
    return Graph(edge_index, features, labels, ("a", "b", "c"), edge_weight=weight)


def in_double(model: NodeClassifier, graph: Graph) -> tuple[NodeClassifier, Inputs]:
    inputs = prepare(graph)
    assert isinstance(inputs.x, torch.Tensor)
    return model.double(), replace(inputs, x=inputs.x.double())


def expected_shares(model: NodeClassifier, inputs: Inputs, node: int) -> np.ndarray:
    """``[N]`` by autograd through the whole network on the whole graph."""
    model.eval()
    projected = torch.relu(model.lin_in(inputs.x)).detach()

    def final(h: torch.Tensor) -> torch.Tensor:
        history = History.start(h)
        for t in range(1, model.config.layers + 1):
            model.layer(t, history, inputs.adj)
        return model.final(history)[node]

    score = torch.autograd.functional.jacobian(final, projected).abs().sum((0, 2))  # [D, N, d] -> [N]
    return (score / score.sum()).numpy() if score.sum() > 0 else score.numpy()


def dense(found: Influence) -> np.ndarray:
    share = np.zeros(NODES)
    share[found.nodes] = found.share
    return share


def assert_equal_shares(model: NodeClassifier, inputs: Inputs, nodes: tuple[int, ...] = (0, 5)) -> None:
    for node, found in zip(nodes, influences(model, inputs, nodes), strict=True):
        np.testing.assert_allclose(dense(found), expected_shares(model, inputs, node), atol=1e-12)


@pytest.fixture(params=["native", "torch"])
def _path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "torch":
        monkeypatch.setattr(native, "available", lambda: False)
    elif not native.available():
        pytest.skip(NO_KERNELS)


@pytest.mark.usefixtures("_path")
@pytest.mark.parametrize(("model", "jump", "update"), COMBINATIONS)
def test_equals_the_whole_jacobian(model: Model, jump: Jump, update: Update) -> None:
    config = ModelConfig(model, layers=3, hidden=8, heads=4, groups=2, jump=jump, update=update)
    net, inputs = in_double(NodeClassifier(config, FEATURES, CLASSES), own_graph())
    assert_equal_shares(net, inputs)


@pytest.mark.parametrize(("heads", "groups"), [(1, 1), (4, 1), (1, 4), (4, 4), (2, 8), (8, 2)])
@pytest.mark.parametrize("model", ["dna", "gat"])
def test_equals_it_for_all_heads_and_groups(model: Model, heads: int, groups: int) -> None:
    config = ModelConfig(model, layers=2, hidden=8, heads=heads, groups=groups)
    net, inputs = in_double(NodeClassifier(config, FEATURES, CLASSES), own_graph(weighted=True))
    assert_equal_shares(net, inputs)


@pytest.mark.parametrize(("window", "keep_first"), [(1, False), (2, False), (2, True)])
def test_equals_it_with_a_window(window: int, keep_first: bool) -> None:
    config = ModelConfig(layers=4, hidden=8, heads=2, groups=4, window=window, keep_first=keep_first)
    net, inputs = in_double(NodeClassifier(config, FEATURES, CLASSES), own_graph(1))
    assert_equal_shares(net, inputs)


@pytest.mark.parametrize("jump_input", [False, True])
def test_equals_it_where_jumping_knowledge_takes_the_features_or_not(jump_input: bool) -> None:
    config = ModelConfig("gcn", layers=2, hidden=8, groups=2, jump="concat", jump_input=jump_input)
    net, inputs = in_double(NodeClassifier(config, FEATURES, CLASSES), own_graph(2))
    assert_equal_shares(net, inputs)


def test_small_sweeps_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, config = own_graph(), ModelConfig(layers=3, hidden=16, heads=4, groups=4)
    net = NodeClassifier(config, FEATURES, CLASSES)
    whole = list(influences(net, prepare(graph), range(NODES)))
    for elements in (1, 500, 2000):
        monkeypatch.setattr(jacobian, "SWEEP_ELEMENTS", elements)
        for a, b in zip(whole, influences(net, prepare(graph), range(NODES)), strict=True):
            np.testing.assert_array_equal(a.nodes, b.nodes)
            np.testing.assert_allclose(a.share, b.share, atol=1e-6)


def test_threads_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jacobian, "SWEEP_ELEMENTS", 2000)
    net, inputs = NodeClassifier(ModelConfig(layers=3, hidden=16), FEATURES, CLASSES), prepare(own_graph())
    one = list(influences(net, inputs, range(NODES)))
    torch.set_num_threads(2)
    two = list(influences(net, inputs, range(NODES)))
    assert torch.get_num_threads() == 2
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.share, b.share)


def test_nodes_come_nearest_first_with_their_distances() -> None:
    path = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]).numpy()  # 0 -> 1 -> 2 -> 3 -> 4
    graph = Graph(path, np.ones((5, FEATURES)), np.zeros(5, int), ("a", "b", "c"))
    found = influence(NodeClassifier(ModelConfig("gcn", layers=2, hidden=16), FEATURES, CLASSES), graph, node=3)
    assert found.nodes.tolist() == [3, 2, 1]
    assert found.hops.tolist() == [0, 1, 2]


def test_shares_sum_to_one_and_the_model_stays_as_it_was() -> None:
    cora = load("cora")
    net = NodeClassifier(ModelConfig(layers=2, hidden=32), cora.num_features, cora.num_classes)
    state = torch.get_rng_state()
    found = influence(net, cora, node=5)
    assert found.share.sum() == pytest.approx(1)
    assert (found.share >= 0).all()
    assert net.training
    assert all(p.requires_grad and p.grad is None for p in net.parameters())
    assert torch.equal(state, torch.get_rng_state())


def test_a_dead_node_has_no_influences() -> None:
    graph = own_graph()
    net = NodeClassifier(ModelConfig("gcn", layers=1, hidden=16), FEATURES, CLASSES)
    with torch.no_grad():
        assert isinstance(net.convs[0], GCNConv)
        assert net.convs[0].bias is not None
        net.convs[0].bias.fill_(-1e6)
    assert not influence(net, graph, node=0).share.any()


def test_an_unknown_node_is_refused() -> None:
    net = NodeClassifier(ModelConfig(layers=1, hidden=16), FEATURES, CLASSES)
    with pytest.raises(ValueError, match="there is no node 14: the graph has 14 nodes, 0 to 13"):
        influence(net, own_graph(), node=14)


def test_an_undirected_graph_without_duplicates() -> None:
    edge_index = simple_graph(NODES, 20).numpy()
    graph = replace(own_graph(), edge_index=np.concatenate([edge_index, edge_index[::-1]], axis=1))
    net, inputs = in_double(NodeClassifier(ModelConfig(layers=4, hidden=16), FEATURES, CLASSES), graph)
    assert_equal_shares(net, inputs, tuple(range(NODES)))
