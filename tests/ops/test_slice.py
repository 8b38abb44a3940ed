"""The edges to some nodes of a graph."""

from typing import Any

import pytest
import torch

from graph_helpers import AGGREGATES, edges_of, weighted, weights_of
from helpers import assert_same, gradients, random_graph
from justjump.ops import Adjacency, History, dna_conv
from specification import graph, needs_kernels


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("nodes", [[4, 1], [5, 5, 0], []], ids=str)
def test_a_slice_commutes_with_loops_and_normalisation(nodes: list[int], grad: bool) -> None:
    plain = weighted()
    adj = Adjacency(plain.rowptr, plain.col, weights_of(plain).requires_grad_(grad))
    part = adj.toward(nodes)
    assert part.whole is adj
    assert part.nodes is not None
    assert part.nodes.tolist() == nodes
    assert edges_of(part) == [(s, t) for s, t in edges_of(adj) if t in nodes]
    assert repr(part) == f"Adjacency(num_nodes=9, num_edges={part.num_edges}, toward={len(nodes)})"
    for aggregate in AGGREGATES:
        looped = adj.with_self_loops()
        first = adj.toward(nodes).with_self_loops().normalized(aggregate, torch.float64)
        last = looped.normalized(aggregate, torch.float64).toward(nodes)
        for same in (first, looped.toward(nodes).normalized(aggregate, torch.float64)):
            assert torch.equal(same.to_dense(), last.to_dense())
            assert same.aggregate == last.aggregate == aggregate
            assert same.with_self_loops() is same
            assert same.normalized(aggregate, torch.float64) is same
        if grad and nodes:
            a, b = (torch.autograd.grad(x.to_dense().square().sum(), weights_of(adj))[0] for x in (first, last))
            assert_same(a, b)
    assert edges_of(part.to("cpu")) == edges_of(part)
    with pytest.raises(ValueError, match="reverse the whole graph"):
        part.flipped()


def test_slices_as_numbers_list_or_mask() -> None:
    adj = graph((3, ((0, 1), (2, 1))))
    for nodes in ([2, 0], torch.tensor([2, 0], dtype=torch.int32)):
        wanted = adj.toward(nodes).nodes
        assert wanted is not None
        assert wanted.tolist() == [2, 0]
    masked = adj.toward(torch.tensor([True, False, True])).nodes
    assert masked is not None
    assert masked.tolist() == [0, 2]


@pytest.mark.parametrize("nodes", [torch.tensor([1.0]), torch.tensor(1), torch.tensor([True]), [[0, 1]]])
def test_slices_of_another_form_are_refused(nodes: Any) -> None:
    with pytest.raises(ValueError, match=r"expected node numbers \[n\] or a mask \[3\]"):
        graph((3, ((0, 1), (2, 1)))).toward(nodes)


@pytest.mark.parametrize("node", [-1, 3])
def test_slices_out_of_range_are_refused(node: int) -> None:
    with pytest.raises(ValueError, match=f"nodes holds node {node}, but there are 3 nodes"):
        graph((3, ((0, 1), (2, 1)))).toward([node])


@needs_kernels
def test_slice_of_a_graph_with_wide_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice may have narrower indices than its graph, whose order of nodes it takes."""
    from justjump.nn import DNAConv

    monkeypatch.setattr("justjump.ops.matrix.INT32_MAX", 45)
    adj = Adjacency.build(random_graph(10, 40), num_nodes=10).with_self_loops().normalized("gcn", torch.float64)
    part = adj.toward([1, 2])
    assert (adj.col.dtype, part.col.dtype) == (torch.int64, torch.int32)
    conv, x = DNAConv(16, 4, 2).double(), torch.randn(10, 2, 16, dtype=torch.float64, requires_grad=True)
    a, b = (dna_conv(History(x), conv.multi_head.projections, graph, 4)[1:3] for graph in (part, adj))
    assert_same(a, b)
    assert_same(gradients(a, [x])[0], gradients(b, [x])[0])


def test_a_slice_of_a_slice_is_a_slice_of_the_whole() -> None:
    adj = Adjacency.build(random_graph(9, 30), num_nodes=9)
    again = adj.toward([1, 2]).toward([5])
    assert again.whole is adj
    assert torch.equal(again.to_dense(), adj.toward([5]).to_dense())
