"""The networks to build on: beside PyG's models, and beside the same loop written by hand."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import scipy.sparse
import torch
import torch_geometric.nn as pyg
import torch_geometric.nn.models as pyg_models
from huggingface_hub import PyTorchModelHubMixin
from torch import Tensor, nn

from helpers import assert_same, gradients, random_graph, simple_graph
from justjump.nn import DNA, GAT, GCN, ModelConfig, NodeClassifier
from justjump.nn.stack import Stack
from justjump.ops import Adjacency, SparseMatrix

NODES, FEATURES, HIDDEN, CLASSES = 11, 7, 8, 3
JUMPS = [None, "last", "cat", "max", "lstm"]
NORMS = [None, "batch_norm", "layer_norm", "graph_norm"]
EDGES = simple_graph(NODES, 40)


def features() -> Tensor:
    return torch.randn(NODES, FEATURES, dtype=torch.float64)


def networks(**options: Any) -> list[Stack]:
    sizes = (FEATURES, HIDDEN, 2)
    return [
        DNA(*sizes, heads=2, groups=4, **options),
        GCN(*sizes, groups=2, **options),
        GAT(*sizes, heads=2, **options),
    ]


def copy_into(theirs: nn.Module, ours: nn.Module) -> None:
    """PyG keeps the weight of a projection as [out, in], this package as [groups, in, out]."""
    state = theirs.state_dict()
    for name, value in ours.state_dict().items():
        assert name in state, name
        state[name] = value[0].t() if name.endswith(".lin.weight") and value.dim() == 3 else value
    theirs.load_state_dict(state)


@pytest.mark.parametrize(("jk", "norm"), [*((jk, None) for jk in JUMPS), *(("cat", norm) for norm in NORMS[1:])])
@pytest.mark.parametrize(("out_channels", "layers"), [(None, 1), (CLASSES, 1), (None, 3), (CLASSES, 3)])
@pytest.mark.parametrize("name", ["GCN", "GAT"])
def test_gcn_and_gat_are_pyg_s(name: str, jk: Any, norm: Any, out_channels: int | None, layers: int) -> None:
    options: Any = {"heads": 2} if name == "GAT" else {}
    options |= {"jk": jk, "norm": norm, "act": "elu" if norm else "relu"}
    ours, theirs = (
        kind(FEATURES, HIDDEN, layers, out_channels, **options).double()
        for kind in ({"GCN": GCN, "GAT": GAT}[name], getattr(pyg_models, name))
    )
    copy_into(theirs, ours)
    x, batch = features(), torch.tensor([0] * 6 + [1] * 5)
    for training in (False, True):  # batch norm differs
        a = ours.train(training)(x, EDGES, batch=batch, batch_size=2)
        b = theirs.train(training)(x, EDGES, batch=batch, batch_size=2)
        assert_same(a, b)
    for p, q in zip(gradients(a, list(ours.parameters())), gradients(b, list(theirs.parameters())), strict=True):
        assert_same(p.transpose(-1, -2)[0] if p.dim() == 3 and q.dim() == 2 else p, q)
    assert repr(ours) == repr(theirs)
    for attribute in ("in_channels", "hidden_channels", "num_layers", "out_channels", "jk_mode", "norm", "act_first"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert ours.supports_edge_weight == theirs.supports_edge_weight
    assert ours.supports_norm_batch == theirs.supports_norm_batch


@pytest.mark.parametrize("act_first", [False, True])
@pytest.mark.parametrize(
    ("out_channels", "jk", "norm"), list(product([None, CLASSES], [None, "cat"], [None, "layer_norm"]))
)
def test_dna_is_the_loop_over_pyg_s_layer(out_channels: int | None, jk: Any, norm: Any, act_first: bool) -> None:
    model = DNA(FEATURES, HIDDEN, 3, out_channels, heads=2, groups=4, jk=jk, norm=norm, act_first=act_first).double()
    x, weight = features(), torch.rand(EDGES.size(1), dtype=torch.float64)
    history = [torch.relu(x @ model.lin_in.weight + model.lin_in.bias)]
    for t, conv in enumerate(model.convs):
        layer = pyg.DNAConv(HIDDEN, heads=2, groups=4).double()
        layer.load_state_dict(conv.state_dict())
        h = layer(torch.stack(history, 1), EDGES, weight)
        if t < 2 or out_channels or jk:
            h = model.norms[t](h.relu()) if act_first else model.norms[t](h).relu()
        history.append(h)
    expected = torch.cat(history[1:], 1) if jk else history[-1]
    expected = model.lin(expected) if out_channels or jk else expected
    out = model(x, EDGES, weight)
    assert_same(out, expected)
    assert out.shape == (NODES, out_channels or HIDDEN)
    named = [(name, p) for name, p in model.named_parameters() if not name.startswith("convs")]
    parameters = [p for _, p in named]
    for p, q in zip(gradients(out, parameters), gradients(expected, parameters), strict=True):
        assert_same(p, q)


def test_dna_is_the_network_of_the_paper() -> None:
    config = ModelConfig("dna", 3, HIDDEN, 2, 4, window=2, keep_first=True)
    paper = NodeClassifier(config, FEATURES, CLASSES).eval()
    model = DNA(FEATURES, HIDDEN, 3, CLASSES, heads=2, groups=4, window=2, keep_first=True).eval()
    state = {name.replace("lin_out", "lin"): value for name, value in paper.state_dict().items()}
    model.load_state_dict(state)
    x = features().float()
    assert torch.equal(model(x, EDGES), paper(x, EDGES))


@pytest.mark.parametrize(
    ("jk", "out_channels", "norm"), [(None, None, None), ("max", 3, "batch_norm"), (None, 3, None)]
)
def test_every_form_of_a_graph(jk: Any, out_channels: int | None, norm: Any) -> None:
    weight = torch.rand(EDGES.size(1), dtype=torch.float64)
    x, adj = features(), Adjacency.build(EDGES, weight, NODES)
    matrix = scipy.sparse.csr_matrix((weight.numpy(), EDGES.flip(0).numpy()), (NODES, NODES))
    adj_t = torch.sparse_coo_tensor(EDGES.flip(0), weight, (NODES, NODES), check_invariants=True)
    for model in networks(jk=jk, out_channels=out_channels, norm=norm):
        model.double()
        expected = model(x, EDGES, weight)
        for same in (adj, adj.with_self_loops(), adj_t, matrix):
            assert_same(model(x, same), expected)
        wanted = torch.tensor([4, 0, 10])
        assert_same(model(x, adj.toward(wanted)), expected[wanted])
        differs = not torch.allclose(model(x, EDGES), expected)
        assert differs == model.supports_edge_weight


def test_every_parameter_learns() -> None:
    for model, (jk, norm) in product(range(3), [(None, None), ("lstm", "batch_norm")]):
        network = networks(jk=jk, norm=norm, dropout=0.5, out_channels=CLASSES)[model]
        network(features().float(), EDGES).square().sum().backward()
        for name, parameter in network.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name


def test_dropout_and_its_place() -> None:
    x = features().float()
    for model in networks(dropout=0.5, out_channels=CLASSES):
        assert not torch.equal(model(x, EDGES), model(x, EDGES))
        assert torch.equal(model.eval()(x, EDGES), model(x, EDGES))
        assert model.dropout.p == 0.5
    calm = DNA(FEATURES, HIDDEN, 2, attention_dropout=0.5)
    assert not torch.equal(calm(x, EDGES), calm(x, EDGES))
    assert GAT(FEATURES, HIDDEN, 2, dropout=0.3).convs[0].dropout == 0.3
    assert GAT(FEATURES, HIDDEN, 2, dropout=0.3, attention_dropout=0.1).convs[0].dropout == 0.1


def test_groups_are_those_of_hidden_layers() -> None:
    gcn, gat = GCN(FEATURES, 16, 3, CLASSES, groups=4), GAT(FEATURES, 16, 3, CLASSES, heads=2, groups=4)
    for model in (gcn, gat):
        assert [conv.lin.groups for conv in model.convs] == [1, 4, 1]  # type: ignore[union-attr]
    assert [c.multi_head.groups for c in DNA(FEATURES, 16, 3, CLASSES, groups=4).convs] == [4, 4, 4]  # type: ignore[union-attr]
    assert GAT(FEATURES, 16, 2, heads=2, concat=False)(features().float(), EDGES).shape == (NODES, 16)


def test_sparse_features() -> None:
    dense = torch.relu(features()).float()
    sparse = SparseMatrix.from_scipy(scipy.sparse.csr_matrix(dense.numpy()))
    dna, gcn, _ = networks()
    assert_same(dna(sparse, EDGES), dna(dense, EDGES))
    with pytest.raises(TypeError, match="x is a SparseMatrix, but GCN takes a dense tensor"):
        gcn(sparse, EDGES)


def test_the_number_of_features_may_come_later() -> None:
    x = features().float()
    for kind, options in ((DNA, {"heads": 2, "groups": 2}), (GCN, {"groups": 2}), (GAT, {"heads": 2})):
        model, known = kind(-1, HIDDEN, 2, CLASSES, **options), kind(FEATURES, HIDDEN, 2, CLASSES, **options)  # type: ignore[arg-type]
        model.reset_parameters()  # waits for the features
        assert model(x, EDGES).shape == (NODES, CLASSES)
        known.load_state_dict(model.state_dict())
        assert torch.equal(known(x, EDGES), model(x, EDGES))
        again = kind(-1, HIDDEN, 2, CLASSES, **options)  # type: ignore[arg-type]
        again.load_state_dict(known.state_dict())
        assert torch.equal(again(x, EDGES), model(x, EDGES))
        spread = model.state_dict()["lin_in.weight" if kind is DNA else "convs.0.lin.weight"]
        assert 0.1 < spread.std() < 1


def test_reset_parameters_starts_anew() -> None:
    torch.manual_seed(0)
    for model in networks(jk="lstm", norm="batch_norm"):
        model(features().float(), EDGES)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        model.reset_parameters()
        for name, value in model.state_dict().items():
            if name.startswith("norms") or ("convs" in name and "bias" in name):
                continue
            assert not torch.equal(value, before[name]), name
        assert model.state_dict()["norms.0.module.running_mean"].eq(0).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"head": 2}, TypeError, "DNA has no argument 'head': did you mean 'heads'?"),
        ({"jump": "cat"}, TypeError, "DNA has no argument 'jump'"),
        ({"jk": "concat"}, ValueError, "jk='concat' is unknown: choose one of None, 'last', 'cat', 'max', 'lstm'"),
        ({"num_layers": 0}, ValueError, "num_layers=0 must be at least 1"),
        ({"hidden_channels": 2.5}, TypeError, "hidden_channels=2.5 is of type float"),
        ({"heads": 3}, ValueError, "heads=3 does not divide hidden_channels=8"),
        ({"norm": "nothing"}, ValueError, "norm='nothing' is unknown"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("?", r"\?")):
        DNA(**{"in_channels": FEATURES, "hidden_channels": HIDDEN, "num_layers": 2, **arguments})


def test_bad_inputs() -> None:
    for model in networks():
        with pytest.raises(ValueError, match=r"x has shape \[11, 8\], expected \[num_nodes, 7\]"):
            model(torch.randn(NODES, 8), EDGES)
        with pytest.raises(ValueError, match="does not take edge_attr: give one weight per edge as edge_weight"):
            model(torch.randn(NODES, FEATURES), EDGES, edge_attr=torch.rand(EDGES.size(1), 2))
    with pytest.raises(ValueError, match="heads=3 does not divide hidden_channels=8"):
        GAT(FEATURES, HIDDEN, 2, heads=3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compile() -> None:
    model = networks(norm="layer_norm", jk="max", out_channels=CLASSES)[0].eval()
    x, adj = (
        features().float(),
        model.prepared(Adjacency.build(random_graph(NODES, 40), num_nodes=NODES), torch.float32),
    )
    expected = model(x, adj)  # what a graph keeps is made outside of the trace
    compiled = torch.compile(lambda x: model(x, adj), fullgraph=True, backend="aot_eager")
    assert_same(compiled(x), expected)


@pytest.mark.parametrize("bases", [(DNA, PyTorchModelHubMixin), (PyTorchModelHubMixin, DNA)])
def test_the_mixin_of_the_hub_may_come_first_or_last(bases: tuple[type, ...], tmp_path: Path) -> None:
    kind: Any = type("Mine", bases, {}, library_name="mine")
    network = kind(FEATURES, HIDDEN, 2, out_channels=CLASSES, heads=2, groups=4)
    network.save_pretrained(tmp_path)
    loaded = kind.from_pretrained(tmp_path)
    x = features().float()
    assert_same(loaded(x, EDGES), network(x, EDGES))
