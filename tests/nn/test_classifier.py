"""The paper's network in every combination."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import nn

from helpers import assert_same, gradients, random_graph
from justjump.nn import ModelConfig, NodeClassifier
from justjump.nn.classifier import FeatureLinear
from justjump.ops import Adjacency, SparseMatrix

NODES, FEATURES, CLASSES = 12, 9, 4


@pytest.mark.parametrize(
    ("model", "jump", "update"),
    list(product(["dna", "gcn", "gat"], ["none", "concat", "pool", "lstm"], ["none", "skip", "gru"])),
)
def test_every_combination_trains(model: str, jump: str, update: str) -> None:
    config = ModelConfig(model, layers=2, hidden=16, heads=4, groups=2, jump=jump, update=update)
    net = NodeClassifier(config, FEATURES, CLASSES)
    logits = net(torch.randn(NODES, FEATURES), random_graph(NODES, 40))
    assert logits.shape == (NODES, CLASSES)
    torch.nn.functional.cross_entropy(logits, torch.randint(CLASSES, (NODES,))).backward()
    for name, parameter in net.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize(("model", "weights"), [("dna", 3), ("gcn", 1), ("gat", 1)])
@pytest.mark.parametrize("groups", [1, 8, 16])
def test_parameter_counts_follow_the_groups(model: str, weights: int, groups: int) -> None:
    d, layers = 64, 3
    net = NodeClassifier(ModelConfig(model, layers, d, heads=8, groups=groups), FEATURES, CLASSES)
    biases = {"dna": 3 * d, "gcn": d, "gat": 3 * d}[model]  # GAT: two attention vectors and a bias
    expected = FEATURES * d + d + layers * (weights * d * d // groups + biases) + d * CLASSES + CLASSES
    assert sum(p.numel() for p in net.parameters()) == expected


def test_sparse_features_equal_dense_ones() -> None:
    dense = torch.relu(torch.randn(NODES, FEATURES))
    sparse = SparseMatrix.from_scipy(scipy.sparse.csr_matrix(dense.numpy()))
    net = NodeClassifier(ModelConfig(layers=2, hidden=16, heads=4, groups=4), FEATURES, CLASSES).eval()
    edge_index, parameters = random_graph(NODES, 40), list(net.parameters())
    a, b = net(sparse, edge_index), net(dense, edge_index)
    assert_same(a, b)
    for p, q in zip(gradients(a, parameters), gradients(b, parameters), strict=True):
        assert_same(p, q)


@pytest.mark.parametrize("model", ["dna", "gcn", "gat"])
@pytest.mark.parametrize(("jump", "update"), [("none", "none"), ("none", "skip"), ("concat", "none"), ("lstm", "gru")])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("wanted", [[3], [7, 0, 11, 4], [], [5, 5]])
def test_targets_are_rows_of_the_whole(model: str, jump: str, update: str, layers: int, wanted: list[int]) -> None:
    config = ModelConfig(model, layers, hidden=16, heads=4, groups=2, jump=jump, update=update)
    net = NodeClassifier(config, FEATURES, CLASSES).double().eval()
    x, nodes = torch.randn(NODES, FEATURES, dtype=torch.float64), torch.tensor(wanted, dtype=torch.int64)
    adj = Adjacency.build(random_graph(NODES, 40), torch.rand(40, dtype=torch.float64), NODES)
    a, b = net(x, adj, targets=adj.toward(nodes)), net(x, adj)[nodes]
    torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    parameters = list(net.parameters())
    weight = torch.randn_like(a)
    p, q = (torch.autograd.grad((out * weight).sum(), parameters, materialize_grads=True) for out in (a, b))
    for mine, theirs in zip(p, q, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)


def test_targets_of_another_graph_are_refused() -> None:
    net = NodeClassifier(ModelConfig(layers=1, hidden=16, heads=4, groups=2), FEATURES, CLASSES)
    x, nodes = torch.randn(NODES, FEATURES), torch.tensor([1, 2])
    adj, other = (Adjacency.build(random_graph(NODES, 40), num_nodes=NODES) for _ in range(2))
    assert net(x, adj.with_self_loops(), targets=adj.with_self_loops().toward(nodes)).shape == (2, CLASSES)
    for targets in (other.toward(nodes), nodes):
        with pytest.raises(ValueError, match="targets are not of this graph"):
            net(x, adj, targets=targets)


def test_dropout_of_sparse_features_is_unbiased() -> None:
    sparse = SparseMatrix.from_scipy(scipy.sparse.random(300, 200, density=0.2, random_state=0))
    linear = FeatureLinear(200, 200)
    nn.init.eye_(linear.weight)
    nn.init.zeros_(linear.bias)
    features, dropped = sparse.to_dense(), linear.double()(sparse, 0.5)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], 2 * features[kept])
    assert abs(kept.double().mean() / (features != 0).double().mean() - 0.5) < 0.03


def test_no_dropout_in_evaluation() -> None:
    net = NodeClassifier(ModelConfig(layers=2, hidden=16, heads=4, groups=4), FEATURES, CLASSES)
    x, edge_index = torch.randn(NODES, FEATURES), random_graph(NODES, 40)
    assert not torch.equal(net(x, edge_index), net(x, edge_index))
    net.eval()
    before = torch.get_rng_state()
    assert torch.equal(net(x, edge_index), net(x, edge_index))
    assert torch.equal(before, torch.get_rng_state())


def test_attention_of_each_layer() -> None:
    net = NodeClassifier(ModelConfig(layers=3, hidden=16, heads=4, groups=4), FEATURES, CLASSES).eval()
    x, edge_index = torch.randn(NODES, FEATURES), random_graph(NODES, 40)
    assert [net.attention(x, edge_index, layer).weight.size(1) for layer in range(3)] == [1, 2, 3]
    assert net.attention(x, edge_index).weight.size(1) == 3
    gcn = NodeClassifier(ModelConfig("gcn"), FEATURES, CLASSES)
    with pytest.raises(ValueError, match="model='gcn' has no attention"):
        gcn.attention(x, edge_index)


def test_reset_parameters_starts_anew() -> None:
    config = ModelConfig("gcn", layers=2, hidden=16, groups=2, update="gru", jump="lstm")
    torch.manual_seed(1)
    net = NodeClassifier(config, FEATURES, CLASSES)
    bound = (6 / (8 + 8)) ** 0.5
    for _ in range(2):
        assert net.convs[0].lin.weight.abs().max() > 0.8 * bound  # the layer's own initialisation, not its part's
        before = {name: value.clone() for name, value in net.state_dict().items()}
        net.reset_parameters()
        for name, value in net.state_dict().items():
            assert ("convs" in name and "bias" in name) or not torch.equal(value, before[name]), name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heads": 8, "groups": 3, "hidden": 24}, "groups=3 does not divide heads=8"),
        ({"hidden": 100, "heads": 8}, "heads=8 does not divide hidden=100"),
        ({"hidden": 100, "heads": 5, "groups": 8}, "groups=8 does not divide hidden=100"),
        ({"model": "mlp"}, "model='mlp' is unknown: choose one of dna, gcn, gat"),
        ({"jump": "sum"}, "jump='sum' is unknown"),
        ({"layers": 0}, "layers=0 must be at least 1"),
        ({"dropout": 1.5}, "dropout=1.5 is not in"),
        ({"model": "gcn", "window": 2}, "window=2 needs model='dna'"),
    ],
)
def test_bad_configurations_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ModelConfig(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": "two"}, "layers='two' is of type str, expected an int"),
        ({"layers": 2.0}, "layers=2.0 is of type float, expected an int"),
        ({"layers": True}, "layers=True is of type bool"),
        ({"window": "3"}, "window='3' is of type str"),
        ({"dropout": None}, "dropout=None is of type NoneType, expected a float"),
        ({"jump_input": 1}, "jump_input=1 is of type int, expected True or False"),
    ],
)
def test_options_of_another_type_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ModelConfig(**arguments)


def test_numbers_of_numpy_become_pythons() -> None:
    config = ModelConfig(layers=np.int64(2), dropout=0)
    assert config == ModelConfig(layers=2, dropout=0.0)
    assert type(config.layers) is int
    assert type(config.dropout) is float
