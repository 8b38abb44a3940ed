"""The paper's network in every combination."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import scipy.sparse
import torch
from torch import Tensor, nn

from helpers import assert_same, gradients, random_graph
from justjump.nn import DNAConv, ModelConfig, NodeClassifier
from justjump.nn.config import Jump, Model, Update
from justjump.nn.feature_linear import FeatureLinear
from justjump.nn.grouped_linear import GroupedLinear
from justjump.ops import Adjacency, SparseMatrix, drop_edges, without_native
from justjump.ops.history import attended_steps
from justjump.options import recommended
from justjump.train import Protocol
from justjump.train.optimizer import make_optimizer

NODES, FEATURES, CLASSES = 12, 9, 4
MODELS: list[Model] = ["dna", "gcn", "gat"]
JUMPS: list[Jump] = ["none", "concat", "pool", "lstm"]
UPDATES: list[Update] = ["none", "skip", "gru", "residual", "initial"]


def network(model: Model = "dna", layers: int = 2, jump: Jump = "none", update: Update = "none") -> NodeClassifier:
    config = ModelConfig(model, layers, hidden=16, heads=4, groups=2, jump=jump, update=update)
    return NodeClassifier(config, FEATURES, CLASSES)


@pytest.mark.parametrize(("model", "jump", "update"), list(product(MODELS, JUMPS, UPDATES)))
def test_every_combination_trains(model: Model, jump: Jump, update: Update) -> None:
    net = network(model, 2, jump, update)
    logits = net(torch.randn(NODES, FEATURES), random_graph(NODES, 40))
    assert logits.shape == (NODES, CLASSES)
    torch.nn.functional.cross_entropy(logits, torch.randint(CLASSES, (NODES,))).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize(("model", "weights"), [("dna", 3), ("gcn", 1), ("gat", 1)])
@pytest.mark.parametrize("groups", [1, 8, 16])
def test_parameter_counts_follow_the_groups(model: Model, weights: int, groups: int) -> None:
    d, layers = 64, 3
    net = NodeClassifier(ModelConfig(model, layers, d, heads=8, groups=groups), FEATURES, CLASSES)
    biases = {"dna": 3 * d, "gcn": d, "gat": 3 * d}[model]  # GAT: two attention vectors and a bias
    expected = FEATURES * d + d + layers * (weights * d * d // groups + biases) + d * CLASSES + CLASSES
    assert sum(p.numel() for p in net.parameters()) == expected


def test_sparse_features_equal_dense_ones() -> None:
    dense = torch.relu(torch.randn(NODES, FEATURES))
    sparse = SparseMatrix.from_scipy(scipy.sparse.csr_matrix(dense.numpy()))
    net = network().eval()
    edge_index, parameters = random_graph(NODES, 40), list(net.parameters())
    a, b = net(sparse, edge_index), net(dense, edge_index)
    assert_same(a, b)
    for p, q in zip(gradients(a, parameters), gradients(b, parameters), strict=True):
        assert_same(p, q)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("jump", "update"), [("none", "skip"), ("pool", "none"), ("lstm", "gru")])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("wanted", [[7, 0, 11, 4], [], [5, 5]])
def test_slices_give_rows_of_the_whole(
    model: Model, jump: Jump, update: Update, layers: int, wanted: list[int]
) -> None:
    net = network(model, layers, jump, update).double().eval()
    x = torch.randn(NODES, FEATURES, dtype=torch.float64)
    adj = Adjacency.build(random_graph(NODES, 40), torch.rand(40, dtype=torch.float64), NODES)
    a, b = net(x, adj.toward(wanted)), net(x, adj)[wanted]
    assert_same(a, b)
    parameters = list(net.parameters())
    for p, q in zip(gradients(a, parameters), gradients(b, parameters), strict=True):
        assert_same(p, q)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("window", [1, 2, None])
def test_layers_of_a_network_are_its_convolutions(model: Model, window: int | None) -> None:
    """Packed from layer to layer or not: what the network computes is what its parts compute one by one."""
    options = {"window": window, "keep_first": window is not None} if model == "dna" else {}
    net = NodeClassifier(ModelConfig(model, 3, 16, 4, 4, **options), FEATURES, CLASSES).double().eval()  # type: ignore[arg-type]
    x, edge_index = torch.randn(NODES, FEATURES, dtype=torch.float64), random_graph(NODES, 40)
    history: list[Tensor] = [net.lin_in(x).relu()]
    for conv in net.convs:
        history.append(conv(history if model == "dna" else history[-1], edge_index).relu())
    expected = net.lin_out(history[-1])
    out = net(x, edge_index)
    assert_same(out, expected)
    parameters = list(net.parameters())
    for p, q in zip(gradients(out, parameters), gradients(expected, parameters), strict=True):
        assert_same(p, q)


def test_edge_weights_and_adjacencies() -> None:
    net, x, edge_index = network().eval(), torch.randn(NODES, FEATURES), random_graph(NODES, 40)
    weight = torch.rand(40, requires_grad=True)
    expected = net(x, edge_index, weight)
    (grad,) = torch.autograd.grad(expected.sum(), weight)
    assert grad.any()
    adj = Adjacency.build(edge_index, weight.detach(), NODES)
    for same in (adj, adj.with_self_loops(), adj.with_self_loops().normalized("gcn")):
        assert_same(net(x, same), expected)


def test_dropout_of_sparse_features_is_unbiased() -> None:
    sparse = SparseMatrix.from_scipy(scipy.sparse.random(300, 200, density=0.2, random_state=0))
    linear = FeatureLinear(200, 200)
    nn.init.eye_(linear.weight)
    nn.init.zeros_(linear.bias)
    features, dropped = sparse.to_dense().float(), linear(sparse, 0.5)
    kept = dropped != 0
    assert_same(dropped[kept], 2 * features[kept])
    assert abs(kept.double().mean() / (features != 0).double().mean() - 0.5) < 0.03


def test_no_dropout_in_evaluation() -> None:
    net = network()
    x, edge_index = torch.randn(NODES, FEATURES), random_graph(NODES, 40)
    assert not torch.equal(net(x, edge_index), net(x, edge_index))
    net.eval()
    before = torch.get_rng_state()
    assert torch.equal(net(x, edge_index), net(x, edge_index))
    assert torch.equal(before, torch.get_rng_state())


def test_attention_of_each_layer() -> None:
    net = network(layers=3).eval()
    x, edge_index = torch.randn(NODES, FEATURES), random_graph(NODES, 40)
    assert [net.attention(x, edge_index, layer).weight.size(1) for layer in (1, 2, 3)] == [1, 2, 3]
    assert net.attention(x, edge_index).weight.size(1) == 3
    for layer in (0, 4):
        with pytest.raises(ValueError, match=f"there is no layer {layer}: the network has layers 1 to 3"):
            net.attention(x, edge_index, layer)
    with pytest.raises(ValueError, match="model='gcn' has no attention"):
        network("gcn").attention(x, edge_index)


def test_reset_parameters_starts_anew() -> None:
    torch.manual_seed(1)
    net = network("gcn", 2, "lstm", "gru")
    bound = (6 / (8 + 8)) ** 0.5
    for _ in range(2):
        weight = net.get_parameter("convs.0.lin.weight")
        assert weight.abs().max() > 0.8 * bound  # the layer's own initialisation, not its part's
        before = {name: value.clone() for name, value in net.state_dict().items()}
        net.reset_parameters()
        for name, value in net.state_dict().items():
            assert ("convs" in name and "bias" in name) or not torch.equal(value, before[name]), name


@pytest.mark.parametrize("readout", ["mean", "max", "sum", "attention"])
@pytest.mark.parametrize("jump", ["none", "concat"])
def test_logits_of_whole_graphs(readout: Any, jump: Jump) -> None:
    """Graphs in one batch get the logits that each gets alone; the last one has no nodes."""
    net = NodeClassifier(ModelConfig("dna", 2, 16, 4, 4, jump=jump, readout=readout), FEATURES, CLASSES).double().eval()
    x, first, second = torch.randn(NODES, FEATURES, dtype=torch.float64), random_graph(7, 20), random_graph(5, 12, 1)
    edge_index, batch = torch.cat([first, second + 7], 1), torch.tensor([0] * 7 + [1] * 5)
    logits = net(x, edge_index, batch=batch, num_graphs=3)
    assert logits.shape == (3, CLASSES)
    assert_same(logits[2:], net.lin_out.bias[None])
    for rows, edges, row in ((slice(7), first, 0), (slice(7, 12), second, 1)):
        alone = torch.zeros(len(x[rows]), dtype=torch.int64)
        assert_same(net(x[rows], edges, batch=alone), logits[row : row + 1])
    adj = Adjacency.build(edge_index, num_nodes=NODES)
    assert_same(net(x, adj.toward(range(7)), batch=batch)[0], logits[0])
    for name, gradient in zip(dict(net.named_parameters()), gradients(logits, list(net.parameters())), strict=True):
        assert gradient.any(), name


def test_the_readout_has_parameters_where_it_needs_them() -> None:
    plain = network().state_dict()
    torch.manual_seed(3)
    first = NodeClassifier(ModelConfig("dna", 2, 16, 4, 2), FEATURES, CLASSES).state_dict()
    torch.manual_seed(3)
    attention = ModelConfig("dna", 2, 16, 4, 2, readout="attention")
    second = NodeClassifier(attention, FEATURES, CLASSES).state_dict()
    assert list(first) == list(plain)
    assert [name for name in second if name not in first] == ["readout.gate.weight"]
    assert all(torch.equal(second[name], value) for name, value in first.items())


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (FEATURES, CLASSES, ModelConfig()),
            TypeError,
            "config=9 is of type int.*a ModelConfig: Node",
        ),
        (({"layers": 2}, FEATURES, CLASSES), TypeError, "of type dict, expected a ModelConfig"),
        ((ModelConfig(), "cora", CLASSES), TypeError, "num_features='cora' is of type str, expected an int"),
        ((ModelConfig(), FEATURES, 0), ValueError, "num_classes=0 must be at least 1"),
    ],
)
def test_arguments_in_another_order(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        NodeClassifier(*arguments)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("model", MODELS)
def test_compile_and_export(model: Model) -> None:
    adj = Adjacency.build(random_graph(NODES, 60), num_nodes=NODES).with_self_loops()
    if model != "gat":
        adj = adj.normalized("gcn")
    net, x = network(model).eval(), torch.randn(NODES, FEATURES)
    expected = net(x, adj)
    compiled = torch.compile(lambda x: net(x, adj), fullgraph=True, backend="aot_eager")
    assert_same(compiled(x), expected)
    parameters = list(net.parameters())
    for a, b in zip(gradients(compiled(x), parameters), gradients(net(x, adj), parameters), strict=True):
        assert_same(a, b)

    class Closed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: Tensor) -> Tensor:
            logits: Tensor = self.net(x, adj)
            return logits

    assert_same(torch.export.export(Closed(), (x,)).module()(x), expected)


def plain_network(net: NodeClassifier, x: Tensor, adj: Adjacency) -> Tensor:
    """The logits of a network in evaluation, written out: norms, updates and what follows them."""
    config, adj = net.config, adj.with_self_loops().normalized("gcn", x.dtype)
    last = config.norm_after == "relu"
    h = torch.relu(x @ net.lin_in.weight + net.lin_in.bias)
    history = [net.norms[0](h) if last else h]
    for t, conv in enumerate(net.convs, 1):
        h = conv(history if config.model == "dna" else history[-1], adj)
        if config.update == "initial":
            share = config.initial_share or 0.0
            h = (1 - share) * h + share * history[0]
        if config.update == "residual":
            h = h + history[-1]
        h = net.norms[t](torch.relu(h)) if last else torch.relu(net.norms[t - 1](h))
        history.append(h)
    logits: Tensor = net.lin_out(history[-1])
    return logits


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize("norm_after", ["sum", "relu"])
@pytest.mark.parametrize("update", ["none", "residual", "initial"])
def test_norms_and_residuals_are_where_they_say(model: Model, norm: Any, norm_after: Any, update: Update) -> None:
    config = ModelConfig(
        model,
        3,
        16,
        4,
        2,
        norm=norm,
        norm_after=norm_after,
        update=update,
        initial_share=0.3,
        dropout=0.0,
        input_dropout=0,
    )
    net = NodeClassifier(config, FEATURES, CLASSES).double()
    x, adj = (
        torch.randn(NODES, FEATURES, dtype=torch.float64),
        Adjacency.build(random_graph(NODES, 40), num_nodes=NODES),
    )
    for parameter in net.norms.parameters():  # a norm that starts as the identity would hide in which place it stands
        nn.init.normal_(parameter)
    net.train()(x, adj)  # batch norm gets statistics
    net.eval()
    parameters = list(net.parameters())
    logits, expected = net(x, adj), plain_network(net, x, adj)
    assert_same(logits, expected)
    for p, q in zip(gradients(logits, parameters), gradients(expected, parameters), strict=True):
        assert_same(p, q)
    assert_same(net(x, adj.toward([7, 2])), expected[[7, 2]])


def test_batch_norm_sees_all_nodes_in_training() -> None:
    """Where the loss is of some nodes alone, the statistics are still those of the graph."""
    net = NodeClassifier(ModelConfig("gcn", 1, 16, groups=2, norm="batch", dropout=0.0, input_dropout=0.0), FEATURES, 2)
    x, adj = torch.randn(NODES, FEATURES), Adjacency.build(random_graph(NODES, 40), num_nodes=NODES)
    assert_same(net.train()(x, adj.toward([3, 4])), net(x, adj)[[3, 4]])


@pytest.mark.parametrize("model", MODELS)
def test_identity_mapping(model: Model) -> None:
    """A map with b = log(1 + identity / t) of the weight is a plain network with other weights."""
    config = ModelConfig(model, 2, 16, 4, 4, identity=0.5)
    net, plain = (
        NodeClassifier(c, FEATURES, CLASSES).double().eval() for c in (config, ModelConfig(model, 2, 16, 4, 4))
    )
    plain.load_state_dict(net.state_dict())
    for t in (1, 2):
        share = math.log(1 + 0.5 / t)
        weight = plain.get_parameter(f"convs.{t - 1}.{'multi_head.lin_v' if model == 'dna' else 'lin'}.weight")
        weight.data = share * weight.data + (1 - share) * torch.eye(4, dtype=torch.float64)
    x, edge_index = torch.randn(NODES, FEATURES, dtype=torch.float64), random_graph(NODES, 40)
    assert_same(net(x, edge_index), plain(x, edge_index))
    with pytest.raises(ValueError, match=r"learned=0.5 keeps the channels: 8 of them cannot become 4"):
        GroupedLinear(8, 4, learned=0.5)


@pytest.mark.parametrize(("layers", "first", "identity"), [(4, 0.3, 0.0), (5, 0.1, 0.5)])
def test_what_suits_the_depth(layers: int, first: float, identity: float) -> None:
    config = recommended(ModelConfig, layers=layers, hidden=16, heads=4, groups=2)
    net = NodeClassifier(config, FEATURES, CLASSES)
    assert (net.config.initial_share, net.config.identity) == (first, identity)
    shares = [math.log(1 + identity / t) if identity else 1.0 for t in range(1, layers + 1)]
    assert _learned(net) == shares
    attended = [attended_steps(5, conv.window, conv.keep_first) for conv in net.convs if isinstance(conv, DNAConv)]
    assert attended == ([[0, 2, 3, 4]] * 5 if layers > 4 else [[0, 1, 2, 3, 4]] * 4)
    chosen = NodeClassifier(replace(config, initial_share=0.2, identity=0.1, window=2), FEATURES, CLASSES).config
    assert (chosen.initial_share, chosen.identity, chosen.window, chosen.keep_first) == (0.2, 0.1, 2, False)


def test_the_identity_is_never_subtracted() -> None:
    net = NodeClassifier(ModelConfig(hidden=16, groups=2, identity=5.0), FEATURES, CLASSES)
    assert _learned(net) == [1, 1, math.log(1 + 5 / 3), math.log(1 + 5 / 4)]


def _learned(net: NodeClassifier) -> list[float]:
    return [conv.multi_head.lin_v.learned for conv in net.convs if isinstance(conv, DNAConv)]


def test_equal_attention_shares_equally_and_stays_so() -> None:
    net = NodeClassifier(ModelConfig("dna", 3, 16, 4, 2, attention="equal"), FEATURES, CLASSES)
    for _ in range(2):
        found = net.attention(torch.randn(NODES, FEATURES), random_graph(NODES, 40))
        assert torch.equal(found.weight, torch.full_like(found.weight, 0.25))
        assert torch.equal(found.refused, torch.full_like(found.refused, 0.25))
        net.reset_parameters()
    optimizer = make_optimizer(net, Protocol())
    learned = {id(p) for group in optimizer.param_groups for p in group["params"]}
    frozen = [name for name, p in net.named_parameters() if id(p) not in learned]
    assert len(frozen) == 12, "weight and bias of query and key in three layers"
    assert all("lin_q" in name or "lin_k" in name for name in frozen)


def test_scaled_start() -> None:
    net = NodeClassifier(ModelConfig("dna", 2, 64, 8, 16, start="scaled"), FEATURES, CLASSES)
    for _ in range(2):
        for name, value in net.convs.state_dict().items():
            bound = {"lin_q": 0.5, "lin_k": 0.5, "lin_v": 6**0.5}[name.split(".")[2]]  # blocks of four channels
            bound = 0 if name.endswith("bias") else bound
            assert 0.9 * bound <= value.abs().max() <= bound, name
        net.reset_parameters()


def test_scaled_start_at_the_newest_representation() -> None:
    """With biases, all that edges attend to at first is the newest one, but for what random queries and keys add."""
    config = ModelConfig("dna", 3, 64, 8, 16, start="scaled", attention="biased")
    net = NodeClassifier(config, FEATURES, CLASSES)
    for _ in range(2):
        for t, conv in enumerate(net.convs, 1):
            head: Any = conv.multi_head
            assert torch.equal(head.step_bias, torch.tensor([0.0] * (t - 1) + [3.0])[:, None].expand(t, 8))
            assert 0.9 * 6**0.5 / 2 <= head.lin_v.weight.abs().max() <= 6**0.5 / 2  # blocks of four channels
            assert not head.lin_v.bias.any()
            with torch.no_grad():
                head.lin_q.weight.zero_()
        weight = net.attention(torch.randn(NODES, FEATURES), random_graph(NODES, 40)).weight
        share = math.exp(3) / (math.exp(3) + 3)  # two older ones and refusing have the score 0
        torch.testing.assert_close(weight[:, -1], torch.full_like(weight[:, -1], share))
        net.reset_parameters()


@pytest.mark.parametrize("model", MODELS)
def test_dropped_edges_in_training_alone(model: Model) -> None:
    options: Any = {"dropout": 0.0, "input_dropout": 0.0, "attention_dropout": 0.0}
    net = NodeClassifier(ModelConfig(model, 2, 16, 4, 4, drop_edge=0.5, **options), FEATURES, CLASSES)
    x, adj = torch.randn(NODES, FEATURES), Adjacency.build(random_graph(NODES, 40), num_nodes=NODES)
    torch.manual_seed(5)
    logits = net.train()(x, adj.toward([1, 2]))
    torch.manual_seed(5)
    part = drop_edges(adj, 0.5)
    assert_same(logits, net.eval()(x, part)[[1, 2]])
    assert part.num_edges < adj.num_edges
    assert not torch.equal(net(x, adj)[[1, 2]], logits)


@pytest.mark.parametrize("attention", ["biased", "steps"])
def test_biases_of_steps_are_learned(attention: Any) -> None:
    net = NodeClassifier(ModelConfig("dna", 3, 16, 4, 2, attention=attention), FEATURES, CLASSES).eval()
    plain = NodeClassifier(ModelConfig("dna", 3, 16, 4, 2), FEATURES, CLASSES).eval()
    plain.load_state_dict(net.state_dict(), strict=False)
    x, edge_index = torch.randn(NODES, FEATURES), random_graph(NODES, 40)
    assert_same(net(x, edge_index), plain(x, edge_index))  # they are zero at first
    net(x, edge_index).sum().backward()
    bias = net.get_parameter("convs.2.multi_head.step_bias")
    assert bias.grad is not None
    assert bias.shape == (3, 4)
    assert bias.grad.count_nonzero() > 0
    with torch.no_grad():
        bias.copy_(torch.tensor([-100.0, 0, 100])[:, None].expand(3, 4))
    weight = net.attention(x, edge_index).weight
    assert_same(weight, torch.tensor([0.0, 0, 1])[:, None].expand_as(weight))
    net.reset_parameters()
    assert bias.count_nonzero() == 0


def test_biases_need_the_number_of_steps() -> None:
    with pytest.raises(ValueError, match="steps=None with attention='biased': 'biased' and 'steps' take the number"):
        DNAConv(8, attention="biased")
    with pytest.raises(ValueError, match="steps=2 with attention='learned'"):
        DNAConv(8, steps=2)


def test_normalised_queries_and_keys() -> None:
    config = ModelConfig("dna", 3, 16, 4, 8, qk_norm=True)
    net, plain = (NodeClassifier(c, FEATURES, CLASSES).eval() for c in (config, replace(config, qk_norm=False)))
    with torch.no_grad():
        for parameter in net.convs.parameters():
            parameter.add_(torch.rand_like(parameter))
    plain.load_state_dict(net.state_dict(), strict=False)
    x, edge_index = torch.randn(NODES, FEATURES), random_graph(NODES, 40)
    logits = net(x, edge_index)
    assert not torch.allclose(logits, plain(x, edge_index))
    with without_native():
        assert_same(net(x, edge_index), logits)
    logits.sum().backward()
    scale = net.get_parameter("convs.2.multi_head.log_scale")
    assert scale.grad is not None
    assert scale.grad.shape == (4,)
    assert scale.grad.count_nonzero() == 4
    net.reset_parameters()
    assert scale.count_nonzero() == 0
    conv: Any = net.convs[2]
    assert conv.multi_head.qk_scale.tolist() == [2.0] * 4  # the square root of four channels


@pytest.mark.parametrize("qk_norm", [False, True])
def test_how_sharp_attention_may_be(qk_norm: bool) -> None:
    """Unit vectors bound the scores by the scale, whatever the weights are."""
    net = NodeClassifier(ModelConfig("dna", 1, 16, 4, 8, qk_norm=qk_norm), FEATURES, CLASSES).eval()
    with torch.no_grad():
        for name in ("lin_q", "lin_k"):
            net.get_parameter(f"convs.0.multi_head.{name}.weight").mul_(1000)
    weight = net.attention(torch.randn(NODES, FEATURES), random_graph(NODES, 40)).weight
    bound = 1 / (1 + math.exp(-2))
    assert (weight.max() <= bound + 1e-6) == qk_norm


@pytest.mark.parametrize("attention", ["steps", "equal"])
def test_without_scores_there_is_nothing_to_normalise(attention: Any) -> None:
    message = f"qk_norm=True with attention='{attention}': there are no scores of query and key; choose 'learned' or"
    with pytest.raises(ValueError, match=message):
        ModelConfig(attention=attention, qk_norm=True)
    with pytest.raises(ValueError, match=message):
        DNAConv(8, attention=attention, qk_norm=True, steps=2 if attention == "steps" else None)
    with pytest.raises(ValueError, match="qk_norm=True needs model='dna', not 'gcn'"):
        ModelConfig("gcn", qk_norm=True)
