"""What does not fit gives an error or a right result: never a crash, never a wrong number."""

import multiprocessing
import os
import shutil

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from helpers import assert_same, gradients, random_graph
from justjump.nn import DNAConv, GATConv, GCNConv
from justjump.ops import Adjacency, is_native, native, reference

NODES = 9


def layers() -> list[torch.nn.Module]:
    return [DNAConv(8, 4, 4), DNAConv(8, 4, 1), GATConv(8, 2, 4, 2), GCNConv(8, 8, 2)]


def features(layer: torch.nn.Module, **kwargs: object) -> torch.Tensor:
    return torch.randn((NODES, 2, 8) if isinstance(layer, DNAConv) else (NODES, 8), **kwargs)


@pytest.mark.parametrize("layer", layers(), ids=repr)
def test_strided_and_expanded_features(layer: torch.nn.Module) -> None:
    edge_index = random_graph(NODES, 30)
    x = features(layer)
    shuffled = x.flatten(1).t().contiguous().t().view(x.shape)  # other strides, same values
    expected = layer(x, edge_index)
    for other in (shuffled, torch.cat([x, x], -1)[..., :8], x.repeat_interleave(2, 0)[::2]):
        assert_same(layer(other, edge_index), expected)
    row = x[:1].expand(x.shape)
    assert_same(layer(row, edge_index), layer(row.contiguous(), edge_index))
    out = layer(x.requires_grad_(), edge_index)
    expanded = torch.ones(1, 1).expand(out.shape)  # a gradient without memory of its own
    (a,) = torch.autograd.grad(out, x, expanded, retain_graph=True)
    (b,) = torch.autograd.grad(out, x, expanded.contiguous())
    assert_same(a, b)


@pytest.mark.parametrize("layer", layers(), ids=repr)
def test_half_precision_is_refused_or_right(layer: torch.nn.Module) -> None:
    edge_index, x = random_graph(NODES, 30), features(layer)
    expected = layer(x, edge_index)
    half = layer.bfloat16()(x.bfloat16(), edge_index)
    assert half.dtype == torch.bfloat16
    assert (half.float() - expected).abs().max() < 0.1


@pytest.mark.parametrize("layer", layers(), ids=repr)
def test_mixed_dtypes_are_an_error(layer: torch.nn.Module) -> None:
    with pytest.raises((RuntimeError, TypeError)):
        layer(features(layer, dtype=torch.float64), random_graph(NODES, 30))


@pytest.mark.parametrize("layer", layers(), ids=repr)
def test_nan_stays_where_it_reaches(layer: torch.nn.Module) -> None:
    edge_index = torch.tensor([[0, 1, 2], [1, 2, 3]])  # a path: node 8 is not reached
    x = features(layer)
    x[0] = float("nan")
    out = layer(x, edge_index)
    assert out[0].isnan().any()
    assert out[1].isnan().any()
    assert out[4:].isfinite().all()


def test_other_devices_and_dtypes_never_reach_the_native_kernels() -> None:
    assert not is_native(torch.empty(3, 4, device="meta"))
    assert not is_native(torch.empty(3, 4, dtype=torch.float16))
    assert not is_native(torch.empty(3, 4), torch.empty(3, 4, dtype=torch.float64))
    with pytest.raises((ValueError, TypeError), match="meta"):
        native.pack(torch.empty(3, 4, device="meta"), 2)


def test_a_hub_of_a_million_edges() -> None:
    nodes = 1000
    source = torch.randint(nodes, (1_000_000,))
    edge_index = torch.stack([source, torch.zeros_like(source)])
    adj = Adjacency.build(edge_index, num_nodes=nodes).with_self_loops()
    conv, x = DNAConv(16, 8, 8).double(), torch.randn(nodes, 2, 16, dtype=torch.float64, requires_grad=True)
    one = conv(x, adj)
    grads = gradients(one, [x])[0]
    torch.set_num_threads(2)
    two = conv(x, adj)
    assert torch.equal(one, two)
    assert torch.equal(grads, gradients(two, [x])[0])
    head = conv.multi_head
    query, key, value = (head.split(lin(y)) for lin, y in ((head.lin_q, x[:, -1]), (head.lin_k, x), (head.lin_v, x)))
    weight = adj.normalized("gcn", torch.float64)
    expected, _ = reference.dna_attention(query, key, value, adj.rowptr, adj.col, weight)
    assert_same(one, expected.flatten(1), 1e-10)


class Graphs(Dataset):
    def __init__(self) -> None:
        self.conv, self.x, self.edge_index = DNAConv(8, 4, 4).eval(), torch.ones(50, 2, 8), random_graph(50, 200)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        with torch.no_grad():
            return self.conv(self.x * index, self.edge_index)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_loader_workers_after_use_in_the_parent() -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    torch.set_num_threads(2)
    graphs = Graphs()
    expected = [graphs[index] for index in range(4)]
    loader = DataLoader(graphs, batch_size=None, num_workers=2, multiprocessing_context="fork", timeout=60)
    for a, b in zip(loader, expected, strict=True):
        assert torch.equal(a, b)


def test_native_kernels_are_active_here() -> None:
    """A machine with a compiler must not pass these tests on PyTorch's path unnoticed: a failed build is a failure."""
    if not native.available():
        compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
        switched_off = os.environ.get("JUSTJUMP_ISA") == "none"
        assert switched_off or compiler is None, f"{compiler} is here, but {native.why_not()}"
        pytest.skip(f"no compiler, or switched off: {native.why_not()}")
    assert native.isa() in native.available_isas()
