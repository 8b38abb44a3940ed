"""What holds for every layer: never a crash, never a wrong number."""

import multiprocessing
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from helpers import assert_same, gradients, random_graph
from justjump.nn import DNAConv, GATConv, GCNConv
from justjump.ops import Adjacency

NODES = 9
Layer = DNAConv | GATConv | GCNConv


def layers() -> list[Layer]:
    return [DNAConv(8, 4, 4), DNAConv(8, 4, 1), GATConv(8, 2, 4, 2), GCNConv(8, 8, 2)]


every_layer = pytest.mark.parametrize("layer", layers(), ids=repr)


def features(layer: Layer, nodes: int = NODES, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn((nodes, 2, 8) if isinstance(layer, DNAConv) else (nodes, 8), dtype=dtype)


@every_layer
def test_features_as_they_lie(layer: Layer) -> None:
    edge_index, x = random_graph(NODES, 30), features(layer)
    shuffled = x.flatten(1).t().contiguous().t().view(x.shape)  # other strides, same values
    expected = layer(x, edge_index)
    for other in (shuffled, torch.cat([x, x], -1)[..., :8], x.repeat_interleave(2, 0)[::2], torch._neg_view(-x)):
        assert_same(layer(other, edge_index), expected)
    row = x[:1].expand(x.shape)
    assert_same(layer(row, edge_index), layer(row.contiguous(), edge_index))
    out = layer(x.requires_grad_(), edge_index)
    expanded = torch.ones(1, 1).expand(out.shape)  # a gradient without memory of its own
    (a,) = torch.autograd.grad(out, x, expanded, retain_graph=True)
    (b,) = torch.autograd.grad(out, x, expanded.contiguous())
    assert_same(a, b)


@every_layer
def test_half_precision(layer: Layer) -> None:
    edge_index, x = random_graph(NODES, 30), features(layer).bfloat16()
    half = layer.bfloat16()(x, edge_index)
    assert half.dtype == torch.bfloat16
    assert (half.float() - layer.float()(x.float(), edge_index)).abs().max() < 0.1


@every_layer
def test_mixed_dtypes_are_an_error(layer: Layer) -> None:
    with pytest.raises((RuntimeError, TypeError)):
        layer(features(layer, dtype=torch.float64), random_graph(NODES, 30))


@every_layer
def test_nan_stays_where_it_reaches(layer: Layer) -> None:
    edge_index = torch.tensor([[0, 1, 2], [1, 2, 3]])  # a path: node 8 is not reached
    x = features(layer)
    x[0] = float("nan")
    out = layer(x, edge_index)
    assert out[0].isnan().any()
    assert out[1].isnan().any()
    assert out[4:].isfinite().all()


@every_layer
def test_graphs_without_nodes_or_edges(layer: Layer) -> None:
    none = torch.zeros(2, 0, dtype=torch.int64)
    for nodes in (0, 1, 3):
        x = features(layer, nodes).requires_grad_()
        out = layer(x, none)
        assert out.shape == (nodes, 8)
        out.sum().backward()
        assert x.grad is not None


@every_layer
def test_a_node_that_is_not_there_is_refused(layer: Layer) -> None:
    with pytest.raises(ValueError, match="edge_index holds node 9, but there are 3 nodes"):
        layer(features(layer, 3), torch.tensor([[0], [9]]))
    with pytest.raises(ValueError, match="the graph has 4 nodes, but x has 3 rows"):
        layer(features(layer, 3), Adjacency.build(torch.tensor([[0], [3]])))


@every_layer
def test_slices_give_rows_of_the_whole(layer: Layer) -> None:
    adj = Adjacency.build(random_graph(NODES, 30), num_nodes=NODES)
    x, nodes = features(layer).requires_grad_(), [4, 0, 7]
    a, b = layer(x, adj.toward(nodes))[nodes], layer(x, adj)[nodes]
    assert_same(a, b)
    assert_same(gradients(a, [x])[0], gradients(b, [x])[0])


@pytest.mark.parametrize("layer", layers(), ids=repr)
def test_gradcheck(layer: Layer) -> None:
    layer = layer.double()
    adj = Adjacency.build(random_graph(3, 6), num_nodes=3)
    x = features(layer, 3, torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: layer(x, adj), (x, *layer.parameters()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("layer", layers(), ids=repr)
def test_compile_and_export(layer: Layer) -> None:
    adj = Adjacency.build(random_graph(NODES, 30), num_nodes=NODES).with_self_loops()
    if not isinstance(layer, GATConv):
        adj = adj.normalized("gcn")
    x = features(layer)
    expected = layer(x, adj)
    compiled = torch.compile(lambda x: layer(x, adj), fullgraph=True, backend="aot_eager")
    assert_same(compiled(x), expected)
    parameters = list(layer.parameters())
    for a, b in zip(gradients(compiled(x), parameters), gradients(expected, parameters), strict=True):
        assert_same(a, b)

    class Closed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.layer(x, adj)
            return out

    assert_same(torch.export.export(Closed(), (x,)).module()(x), expected)


class Graphs(Dataset[Tensor]):
    def __init__(self) -> None:
        self.conv, self.x, self.edge_index = DNAConv(8, 4, 4).eval(), torch.ones(50, 2, 8), random_graph(50, 200)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Tensor:
        with torch.no_grad():
            out: Tensor = self.conv(self.x * index, self.edge_index)
            return out


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_loader_workers_after_use_in_the_parent() -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    torch.set_num_threads(2)
    graphs = Graphs()
    expected = [graphs[index] for index in range(4)]
    loader: Any = DataLoader(graphs, batch_size=None, num_workers=2, multiprocessing_context="fork", timeout=60)
    for a, b in zip(loader, expected, strict=True):
        assert torch.equal(a, b)
