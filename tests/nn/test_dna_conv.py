"""DNAConv against PyG's, and what it adds."""

from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import assert_same, gradients, random_graph, simple_graph
from justjump.nn import DNAConv
from justjump.ops import Adjacency, Aggregate, History, native

NODES = 11


def pair(dtype: torch.dtype, **kwargs: Any) -> tuple[DNAConv, pyg.DNAConv]:
    ours, theirs = DNAConv(**kwargs).to(dtype), pyg.DNAConv(**kwargs).to(dtype)
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def assert_equal_layers(ours: DNAConv, theirs: pyg.DNAConv, x: torch.Tensor, *graph: Any) -> None:
    """Outputs, and the gradients of the input and of every parameter."""
    a, b = ours(x, *graph), theirs(x, *graph)
    assert_same(a, b)
    ours_in, theirs_in = [x, *ours.parameters()], [x, *theirs.parameters()]
    for p, q in zip(gradients(a, ours_in), gradients(b, theirs_in), strict=True):
        assert_same(p, q)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize(("heads", "groups"), [(1, 1), (4, 2), (4, 8), (2, 16), (16, 1), (8, 8)])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_pyg(dtype: torch.dtype, steps: int, heads: int, groups: int, weighted: bool) -> None:
    ours, theirs = pair(dtype, channels=16, heads=heads, groups=groups)
    x = torch.randn(NODES, steps, 16, dtype=dtype, requires_grad=True)
    edge_index = random_graph(NODES, 40, isolated=2)
    weight = torch.rand(40, dtype=dtype) if weighted else None
    assert_equal_layers(ours, theirs, x, edge_index, weight)


@pytest.mark.parametrize(
    "options",
    [
        {"bias": False},
        {"add_self_loops": False},
        {"flow": "target_to_source"},
        {"normalize": False},
        {"cached": True},
    ],
)
def test_options_equal_pyg(options: dict[str, Any]) -> None:
    ours, theirs = pair(torch.float64, channels=8, heads=2, groups=2, **options)
    x = torch.randn(NODES, 3, 8, dtype=torch.float64, requires_grad=True)
    edge_index, weight = random_graph(NODES, 40, isolated=2), torch.rand(40, dtype=torch.float64)
    assert_equal_layers(ours, theirs, x, edge_index, weight)
    if "cached" in options:
        assert_same(ours(x, edge_index[:, :3], weight[:3]), theirs(x, edge_index[:, :3], weight[:3]))


def test_edge_weight_gradient_equals_pyg() -> None:
    ours, theirs = pair(torch.float64, channels=8, heads=2)
    x = torch.randn(NODES, 3, 8, dtype=torch.float64)
    edge_index = random_graph(NODES, 40)
    weight = torch.rand(40, dtype=torch.float64, requires_grad=True)
    grads = [gradients(layer(x, edge_index, weight), [weight])[0] for layer in (ours, theirs)]
    assert_same(grads[0], grads[1])


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_forms_of_the_graph_equal_pyg() -> None:
    ours, theirs = pair(torch.float64, channels=8, heads=4, groups=2)
    x = torch.randn(NODES, 2, 8, dtype=torch.float64, requires_grad=True)
    edge_index = simple_graph(NODES, 40)
    weight = torch.rand(edge_index.size(1), dtype=torch.float64)
    adj_t = torch.sparse_coo_tensor(edge_index.flip(0), weight, (NODES, NODES)).coalesce()
    expected = theirs(x, edge_index, weight)
    assert_same(ours(x, edge_index.int(), weight), expected)
    assert_same(ours(x, Adjacency.build(edge_index, weight, NODES)), expected)
    for form in (adj_t, adj_t.to_sparse_csr()):
        assert_equal_layers(ours, theirs, x, form)


def test_state_dict_goes_both_ways() -> None:
    ours, theirs = DNAConv(16, heads=4, groups=8), pyg.DNAConv(16, heads=4, groups=8)
    shapes = {name: value.shape for name, value in ours.state_dict().items()}
    assert shapes == {name: value.shape for name, value in theirs.state_dict().items()}
    theirs.load_state_dict(ours.state_dict())
    ours.load_state_dict(theirs.state_dict())


@pytest.mark.slow
def test_dropout_has_the_right_mean() -> None:
    conv = DNAConv(8, heads=8, dropout=0.8).double()
    x, edge_index = torch.randn(NODES, 2, 8, dtype=torch.float64), random_graph(NODES, 40)
    with torch.no_grad():
        samples = torch.stack([conv(x, edge_index) for _ in range(2000)])
        expected = conv.eval()(x, edge_index)
    deviation = (samples.mean(0) - expected).abs() / (samples.std(0) / 2000**0.5 + 1e-12)
    assert deviation.max() < 5


def test_history_as_a_list_of_tensors() -> None:
    conv, x, edge_index = DNAConv(8, heads=2), torch.randn(NODES, 3, 8), random_graph(NODES, 40)
    assert_same(conv(list(x.unbind(1)), edge_index), conv(x, edge_index))


@pytest.mark.parametrize(
    ("window", "keep_first", "steps"),
    [(2, False, [3, 4]), (2, True, [0, 4]), (1, True, [0]), (9, False, [0, 1, 2, 3, 4])],
)
def test_window_is_a_shorter_history(window: int, keep_first: bool, steps: list[int]) -> None:
    conv = DNAConv(8, heads=2, window=window, keep_first=keep_first)
    full = DNAConv(8, heads=2)
    full.load_state_dict(conv.state_dict())
    x, edge_index = torch.randn(NODES, 5, 8), random_graph(NODES, 40)
    out, attention = conv(x, edge_index, return_attention=True)
    assert attention.steps == steps
    if 4 in steps:  # the query is the newest representation in both
        assert_same(out, full(x[:, steps], edge_index))


def test_attention_explains_the_output() -> None:
    conv, x, edge_index = DNAConv(8, heads=2).double(), torch.randn(NODES, 3, 8).double(), random_graph(NODES, 40)
    out, attention = conv(x, edge_index, return_attention=True)
    adj = Adjacency.build(edge_index, num_nodes=NODES).with_self_loops()
    assert attention.weight.shape == (adj.num_edges, 3, 2)
    assert torch.equal(attention.edge_index, adj.edge_index)
    assert_same(attention.weight.sum(1) + attention.refused, torch.ones(adj.num_edges, 2).double())
    assert (attention.refused > 0).all()
    coefficient = adj.normalized("gcn", torch.float64).weight
    assert coefficient is not None
    value = conv.multi_head.split(conv.multi_head.lin_v(x))[attention.edge_index[0]]
    message = (attention.weight[..., None] * value).sum(1).flatten(1) * coefficient[:, None]
    assert_same(torch.zeros(NODES, 8).double().index_add(0, attention.edge_index[1], message), out)


@pytest.mark.parametrize("aggregate", ["mean", "sum"])
def test_other_aggregates(aggregate: Aggregate) -> None:
    conv = DNAConv(8, heads=2, aggregate=aggregate)
    x, edge_index = torch.randn(NODES, 2, 8), random_graph(NODES, 40)
    adj = Adjacency.build(edge_index, num_nodes=NODES).with_self_loops()
    plain = DNAConv(8, heads=2, normalize=False)
    plain.load_state_dict(conv.state_dict())
    scale = 1 / adj.rowptr.diff().clamp(min=1)[:, None] if aggregate == "mean" else 1
    assert_same(conv(x, edge_index), plain(x, adj) * scale)


@pytest.mark.parametrize("update", [None, torch.nn.Linear(8, 8)], ids=["plain", "update"])
@pytest.mark.parametrize("options", [{}, {"window": 2}, {"window": 2, "keep_first": True}], ids=str)
@pytest.mark.parametrize("groups", [1, 4])
def test_extend_appends_what_the_layer_gives(
    groups: int, options: dict[str, Any], update: torch.nn.Module | None
) -> None:
    conv = DNAConv(8, 2, groups, dropout=0.5, update=update, **options).double()
    edge_index, weight = random_graph(NODES, 40), torch.rand(40, dtype=torch.float64, requires_grad=True)
    x = torch.randn(NODES, 3, 8, dtype=torch.float64, requires_grad=True)
    outputs = []
    for extend in (True, False):
        history = History(x)
        for seed in range(2):  # two layers, the second on what the first has appended
            torch.manual_seed(seed)
            if extend:
                conv.extend(history, edge_index, weight)
            else:
                history.append(torch.relu(conv(history, edge_index, weight)))
        outputs.append(history.stack())
    ours, theirs = outputs
    assert_same(ours, theirs)
    inputs = [x, weight, *conv.parameters()]
    for a, b in zip(gradients(ours, inputs), gradients(theirs, inputs), strict=True):
        assert_same(a, b)


def test_extend_keeps_the_history_packed() -> None:
    history = History.start(torch.randn(NODES, 8))
    DNAConv(8, heads=2).extend(history, random_graph(NODES, 40))
    assert (history.layout is not None) == native.available()
    assert len(history) == 2


def test_update_module_is_part_of_the_layer() -> None:
    update = torch.nn.Linear(8, 8)
    conv = DNAConv(8, heads=2, update=update)
    plain = DNAConv(8, heads=2)
    plain.load_state_dict(conv.state_dict(), strict=False)
    x, edge_index = torch.randn(NODES, 2, 8), random_graph(NODES, 40)
    assert_same(conv(x, edge_index), update(plain(x, edge_index)))
    assert sum(p.numel() for p in conv.parameters()) == sum(p.numel() for p in plain.parameters()) + 72


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    nodes=st.integers(1, 9),
    edges=st.integers(0, 30),
    steps=st.integers(1, 4),
    sizes=st.sampled_from([(4, 2, 2), (6, 3, 1), (5, 1, 5), (8, 8, 4)]),
    seed=st.integers(0, 99),
)
def test_permutation_equivariance(nodes: int, edges: int, steps: int, sizes: tuple[int, int, int], seed: int) -> None:
    torch.manual_seed(seed)
    channels, heads, groups = sizes
    conv = DNAConv(channels, heads, groups).double()
    x, edge_index = torch.randn(nodes, steps, channels).double(), random_graph(nodes, edges, seed)
    order = torch.randperm(nodes)
    place = torch.argsort(order)  # node order[i] becomes node i
    assert_same(conv(x[order], place[edge_index]), conv(x, edge_index)[order])


def test_refusing_everything_gives_zero() -> None:
    conv = DNAConv(8, heads=2).double()
    with torch.no_grad():  # every score is q . k = -1e6
        for lin, size in ((conv.multi_head.lin_q, 1e3), (conv.multi_head.lin_k, -1e3)):
            lin.weight.zero_()
            assert lin.bias is not None
            lin.bias.fill_(size)
    out, attention = conv(torch.randn(NODES, 3, 8).double(), random_graph(NODES, 40), return_attention=True)
    assert torch.equal(out, torch.zeros(NODES, 8).double())
    assert torch.equal(attention.refused, torch.ones_like(attention.refused))


def test_without_edges_or_loops_nothing_comes() -> None:
    none = torch.empty(2, 0, dtype=torch.int64)
    assert torch.equal(DNAConv(4, add_self_loops=False)(torch.randn(3, 2, 4), none), torch.zeros(3, 4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"channels": 128, "heads": 8, "groups": 6}, "groups=6 does not divide channels=128"),
        ({"channels": 24, "heads": 8, "groups": 6}, "groups=6 does not divide heads=8 .*from 1, 2, 4, 8, 24"),
        ({"channels": 10, "heads": 4}, "heads=4 does not divide channels=10: choose one of 1, 2, 5, 10"),
        ({"channels": 8, "heads": 0}, "heads=0 must be at least 1"),
        ({"channels": 8, "dropout": 1.0}, r"dropout=1.0 is not in \[0, 1\)"),
        ({"channels": 8, "window": 0}, "window=0 must be at least 1"),
        ({"channels": 8, "aggregate": "max"}, "aggregate='max' is unknown"),
        ({"channels": 8, "aggregate": "mean", "normalize": False}, "does not go with normalize=False"),
        ({"channels": 8, "aggr": "max"}, "aggr='max'.*not supported"),
        ({"channels": 8, "flow": "up"}, "flow='up' is unknown"),
        ({"channels": 8, "keep_first": True}, "keep_first=True needs a window"),
    ],
)
def test_bad_sizes_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DNAConv(**arguments)


@pytest.mark.parametrize("x", [torch.randn(5, 8), torch.randn(5, 2, 7), torch.randn(5, 0, 8), [], [torch.randn(5, 7)]])
def test_bad_history_is_refused(x: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        DNAConv(8)(x, torch.tensor([[0], [1]]))


def test_a_graph_normalised_for_another_aggregate_is_refused() -> None:
    adj = Adjacency.build(random_graph(NODES, 40), num_nodes=NODES).with_self_loops().normalized("mean")
    x = torch.randn(NODES, 2, 8)
    assert DNAConv(8, aggregate="mean")(x, adj).shape == (NODES, 8)
    with pytest.raises(ValueError, match="normalised for aggregate='mean', not 'gcn'"):
        DNAConv(8)(x, adj)
