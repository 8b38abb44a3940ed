"""Where NaN and infinity go: docs/guarantees.md says what is promised, and every form of the layers keeps it."""

import math
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from justjump.nn import DNAConv, GATConv, GCNConv, GroupedLinear
from justjump.ops import Adjacency, History, Plan, SparseMatrix, dropout, native, relu_dropout, spmm

pytestmark = pytest.mark.slow  # many cases

NODES, WIDTH, BROKEN = 12, 16, 3
# A ring with chords. The layers add self-loops.
SOURCES = torch.arange(NODES).repeat(2)
TARGETS = (SOURCES + torch.arange(1, 3).repeat_interleave(NODES)) % NODES
EDGES = torch.stack([SOURCES, TARGETS])
REACHED = sorted({BROKEN, *TARGETS[SOURCES == BROKEN].tolist()})
OTHERS = [node for node in range(NODES) if node not in REACHED]

LAYERS: dict[str, tuple[str, Callable[[float], nn.Module]]] = {
    "dna-folded": ("folded", lambda p: DNAConv(WIDTH, 4, 4, p)),
    "dna-folded-more-groups": ("folded", lambda p: DNAConv(WIDTH, 4, 8, p)),
    "dna-folded-one-head": ("folded", lambda p: DNAConv(WIDTH, 1, 1, p)),
    "dna-separate": ("separate", lambda p: DNAConv(WIDTH, 4, 2, p)),
    "dna-separate-dense": ("separate", lambda p: DNAConv(WIDTH, 8, 1, p)),
    "gat": ("native", lambda p: GATConv(WIDTH, 4, 4, dropout=p)),
    "gat-groups": ("native", lambda p: GATConv(WIDTH, 4, 4, 4, dropout=p)),
    "gcn": ("native", lambda p: GCNConv(WIDTH, WIDTH)),
    "gcn-groups": ("native", lambda p: GCNConv(WIDTH, WIDTH, 4)),
}


@pytest.fixture(params=["avx512", "avx2", "baseline", "torch"], autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each instruction set that this machine has, and PyTorch alone."""
    if request.param == "torch":
        monkeypatch.setattr(native, "available", lambda: False)
        monkeypatch.setattr(native, "why_not", lambda: "a test switched them off")
        yield "torch"
        return
    if not native.available() or request.param not in native.available_isas():
        pytest.skip(f"no kernels for {request.param} here: {native.why_not()}")
    before = native.isa()
    native.set_isa(request.param)
    yield request.param
    native.set_isa(before)


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


@pytest.fixture(params=LAYERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(name: str, p: float, dtype: torch.dtype) -> nn.Module:
    return LAYERS[name][1](p).to(dtype)


def features(layer: nn.Module, dtype: torch.dtype) -> Tensor:
    return torch.randn((NODES, 3, WIDTH) if isinstance(layer, DNAConv) else (NODES, WIDTH), dtype=dtype)


def nan_rows(x: Tensor) -> list[int]:
    return x.flatten(1).isnan().any(1).nonzero()[:, 0].tolist()


def infinite_rows(x: Tensor) -> list[int]:
    return (~x.flatten(1).isfinite()).any(1).nonzero()[:, 0].tolist()


def test_the_layers_of_this_file_take_all_forms(path: str) -> None:
    for form, build in LAYERS.values():
        layer, history = build(0.0), History(torch.empty(NODES, 3, WIDTH))
        if isinstance(layer, DNAConv):
            head = layer.multi_head
            plan = Plan.choose(history, edges=EDGES.size(1), heads=head.heads, groups=head.groups)
        else:
            plan = Plan.baseline(history)
        assert plan.form == ("torch" if path == "torch" else form)


@pytest.mark.parametrize("p", [0.0, 0.9])
def test_nan_of_a_node_reaches_its_targets_and_no_others(name: str, dtype: torch.dtype, p: float) -> None:
    layer = make(name, p, dtype)
    x = features(layer, dtype)
    torch.manual_seed(1)
    expected = layer(x, EDGES)
    for number in range(0, x[0].numel(), 5):  # some channels of every representation
        broken = x.clone()
        broken[BROKEN].view(-1)[number] = math.nan
        torch.manual_seed(1)
        out = layer(broken, EDGES)
        assert nan_rows(out) == REACHED
        assert torch.equal(out[OTHERS], expected[OTHERS])


@pytest.mark.parametrize("p", [0.0, 0.9])
@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinity_of_a_node_reaches_its_targets_and_no_others(
    name: str, dtype: torch.dtype, p: float, value: float
) -> None:
    layer = make(name, p, dtype)
    x = features(layer, dtype)
    x[BROKEN, ..., 5] = value
    out = layer(x, EDGES)
    assert infinite_rows(out) == REACHED


def test_nan_survives_the_relu_of_a_network(dtype: torch.dtype) -> None:
    for name in LAYERS:
        layer = make(name, 0.0, dtype)
        if isinstance(layer, DNAConv):
            x = features(layer, dtype)
            x[BROKEN, 0, 5] = math.nan
            history = History(x)
            layer.extend(history, EDGES)
            assert nan_rows(history.newest) == REACHED


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_weight_that_is_no_number_reaches_every_node(name: str, dtype: torch.dtype, value: float) -> None:
    layer = make(name, 0.0, dtype)
    x = features(layer, dtype)
    for parameter, weight in layer.named_parameters():
        # An infinite query or key may give a score of minus infinity: a finite share, 0.
        if value == math.inf and any(part in parameter for part in ("lin_q", "lin_k", "att_")):
            continue
        kept = weight.detach().clone()
        weight.detach().view(-1)[1] = value
        out = layer(x, EDGES)
        weight.detach().copy_(kept)
        assert infinite_rows(out) == list(range(NODES)), parameter


@pytest.mark.parametrize("p", [0.0, 0.9])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_gradient_that_is_no_number_reaches_all_sources(
    name: str, dtype: torch.dtype, p: float, value: float
) -> None:
    layer = make(name, p, dtype)
    x = features(layer, dtype).requires_grad_()
    out = layer(x, EDGES)
    grad = torch.ones_like(out)
    grad[BROKEN, 5] = value
    value_weight = next(w for n, w in layer.named_parameters() if n in ("lin.weight", "multi_head.lin_v.weight"))
    grad_x, grad_weight = torch.autograd.grad(out, [x, value_weight], grad)
    sources = sorted({BROKEN, *SOURCES[TARGETS == BROKEN].tolist()})
    assert infinite_rows(grad_x) == sources
    assert not grad_weight.isfinite().all()


@pytest.mark.parametrize("name", ["dna-folded", "dna-separate", "gat", "gcn"])
def test_nan_reaches_a_hub_whose_edges_are_summed_in_pieces(name: str, dtype: torch.dtype) -> None:
    nodes = 2500
    edges = torch.stack([torch.arange(1, nodes), torch.zeros(nodes - 1, dtype=torch.long)])
    layer = make(name, 0.0, dtype)
    for broken in (1, 1500, nodes - 1):
        x = torch.randn((nodes, 2, WIDTH) if isinstance(layer, DNAConv) else (nodes, WIDTH), dtype=dtype)
        x[broken, ..., 0] = math.nan
        assert nan_rows(layer(x, edges)) == [0, broken]


def test_grouped_maps_spread_nan_over_its_group_alone(dtype: torch.dtype) -> None:
    for groups in (1, 2, 8):
        linear = GroupedLinear(WIDTH, WIDTH, groups).to(dtype)
        x = torch.randn(5, WIDTH, dtype=dtype)
        x[2, 3] = math.nan
        out = linear(x)
        assert nan_rows(out) == [2]
        block = WIDTH // groups
        first = 3 // block * block
        assert out[2].isnan().nonzero()[:, 0].tolist() == list(range(first, first + block))


@pytest.mark.parametrize("function", [dropout, relu_dropout])
def test_dropout_keeps_the_nan_of_what_it_keeps(function: Callable[..., Tensor], dtype: torch.dtype) -> None:
    x = torch.ones(40, 37, dtype=dtype)
    torch.manual_seed(2)
    kept = function(x, 0.5) != 0
    torch.manual_seed(2)
    out = function(x * math.nan, 0.5)
    assert out[kept].isnan().all()
    assert (out[~kept].isnan() | (out[~kept] == 0)).all()


def test_products_keep_nan_of_either_side(dtype: torch.dtype) -> None:
    matrix = SparseMatrix.from_entries((3, 3), torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), torch.zeros(3))
    x = torch.ones(3, 20, dtype=dtype)
    x[1] = math.nan
    assert nan_rows(spmm(matrix, x)) == [1, 2]  # a weight of zero takes nothing away
    weight = torch.tensor([1.0, math.nan, 1.0])
    matrix = SparseMatrix.from_entries((3, 3), torch.tensor([0, 1, 2]), torch.tensor([0, 1, 2]), weight)
    assert nan_rows(spmm(matrix, torch.ones(3, 20, dtype=dtype))) == [1]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0])
def test_edge_weights_that_are_no_weights_are_refused(value: float) -> None:
    weight = torch.ones(EDGES.size(1))
    weight[4] = value
    with pytest.raises(ValueError, match=r"edge_weight\[4\] is .*: weights must be finite and not negative"):
        Adjacency.build(EDGES, weight, NODES)
    for layer in (DNAConv(WIDTH), GCNConv(WIDTH, WIDTH)):
        with pytest.raises(ValueError, match="weights must be finite"):
            layer(features(layer, torch.float32), EDGES, weight)
