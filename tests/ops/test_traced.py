"""Graphs whose edges are an input of a compiled or exported program, or have no values at all."""

import pytest
import torch
from torch import Tensor

from helpers import random_graph
from justjump.ops import Adjacency, SparseMatrix, TracedAdjacency, native, traced
from specification import NO_KERNELS, switch_kernels_off

GRAPHS = {
    "loops": torch.tensor([[0, 1, 1, 2, 2, 2, 3], [1, 1, 1, 0, 2, 3, 2]]),  # one node with two loops
    "random": random_graph(9, 40),
    "no edge": torch.zeros(2, 0, dtype=torch.int64),
    "int32": random_graph(9, 40).int(),
}
every_graph = pytest.mark.parametrize("edge_index", GRAPHS.values(), ids=list(GRAPHS))


@pytest.fixture(params=["native", "torch"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "torch":
        switch_kernels_off(monkeypatch)
    elif not native.available():
        pytest.skip(NO_KERNELS)
    return str(request.param)


def assert_equal_but_for_room(ours: Adjacency, expected: Adjacency) -> None:
    """The same edges in the same order; what follows them has weight 0 and the ends of a loop."""
    edges = expected.num_edges
    assert torch.equal(ours.rowptr, expected.rowptr.to(ours.rowptr.dtype))
    assert torch.equal(ours.col[:edges], expected.col.to(ours.col.dtype))
    assert torch.equal(ours.target[:edges], expected.target.to(ours.col.dtype))
    assert torch.equal(ours.col[edges:], ours.target[edges:])
    if ours.weight is not None:
        weight = torch.ones(edges) if expected.weight is None else expected.weight
        assert torch.equal(ours.weight[:edges], weight)
        assert not ours.weight[edges:].any()


@every_graph
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_edges_are_those_of_an_adjacency(path: str, edge_index: Tensor, loops: bool, weighted: bool) -> None:
    weight = torch.rand(edge_index.size(1)) if weighted else None
    expected = Adjacency.build(edge_index, weight, 9)
    ours: Adjacency = TracedAdjacency.of(edge_index, weight, 9)
    if loops:
        expected, ours = expected.with_self_loops(), ours.with_self_loops()
    assert_equal_but_for_room(ours, expected)
    assert ours.num_edges == edge_index.size(1) + 9 * loops == ours.col.numel()
    for aggregate in ("gcn", "mean", "sum"):
        assert_equal_but_for_room(ours.normalized(aggregate), expected.normalized(aggregate))
    if path == "native":
        edges = expected.num_edges
        assert torch.equal(ours.colptr, expected.colptr)
        assert torch.equal(ours.row[:edges], expected.row)
        assert torch.equal(ours.position, torch.cat([expected.position, torch.arange(edges, ours.num_edges).int()]))


@every_graph
def test_reversed_edges(path: str, edge_index: Tensor) -> None:
    ours, expected = TracedAdjacency.of(edge_index, None, 9).flipped(), Adjacency.build(edge_index, None, 9).flipped()
    assert_equal_but_for_room(ours.with_self_loops(), expected.with_self_loops())


def test_what_needs_values_says_so() -> None:
    adj = TracedAdjacency.of(GRAPHS["loops"], None, 4)
    with pytest.raises(ValueError, match="toward.nodes. needs the values of edge_index"):
        adj.toward([0])
    with pytest.raises(ValueError, match="bring edge_index there before"):
        adj.to("cpu")
    with pytest.raises(ValueError, match="give num_nodes"):
        TracedAdjacency.of(GRAPHS["loops"], None, None)
    with pytest.raises(ValueError, match="reverse it before"):
        adj.with_self_loops().flipped()
    with pytest.raises(ValueError, match=r"edge_index has shape \[3, 2\]"):
        TracedAdjacency.of(torch.zeros(3, 2, dtype=torch.int64), None, 3)
    with pytest.raises(ValueError, match=r"edge_weight has shape \[50\], expected \[2\]"):
        TracedAdjacency(torch.tensor([[0, 1], [1, 0]]), 2, given=torch.ones(50))
    with pytest.raises(TypeError, match="edge_weight has dtype torch.int64"):
        TracedAdjacency.of(GRAPHS["loops"], torch.ones(7, dtype=torch.int64), 4)


def test_the_operation_checks_the_nodes() -> None:
    with pytest.raises(ValueError, match="edge_index holds node 9, but there are 3 nodes"):
        traced.sort_checked(torch.tensor([[0], [9]]), 3, True)
    with pytest.raises(ValueError, match="edge_index holds node -1"):
        traced.sort_checked(torch.tensor([[0], [-1]]), 3, False)


@pytest.mark.slow
@pytest.mark.parametrize("loops", [False, True])
def test_the_operation_is_well_formed(loops: bool) -> None:
    for edge_index in GRAPHS.values():
        torch.library.opcheck(traced.sort_checked._traced, (edge_index, 9, loops))


def test_a_graph_on_meta_has_sizes() -> None:
    adj = Adjacency.build(GRAPHS["random"], num_nodes=9)
    for graph in (adj, adj.with_self_loops(), adj.with_self_loops().normalized("gcn")):
        sizes = graph.to("meta")
        assert sizes.device.type == "meta"
        assert sizes.num_edges == graph.num_edges
        assert sizes.aggregate == graph.aggregate
        assert sizes.rowptr.shape == graph.rowptr.shape
    assert adj.with_self_loops().to("meta").with_self_loops().num_edges == adj.with_self_loops().num_edges
    assert adj.to("meta").with_self_loops().num_edges == 40 + 9


def test_features_on_meta() -> None:
    matrix = SparseMatrix((2, 3), torch.tensor([0, 1, 2]), torch.tensor([2, 0]), torch.ones(2))
    assert matrix.to("cpu") is matrix
    assert matrix.to("meta").device.type == "meta"
    assert matrix.to("meta").shape == (2, 3)
