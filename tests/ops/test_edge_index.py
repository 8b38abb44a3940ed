"""An edge_index that comes again is not sorted again, and a changed one never meets an old sorting."""

import gc
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from helpers import assert_same, random_graph
from justjump.nn import DNAConv, GCNConv
from justjump.ops import Adjacency, matrix
from justjump.ops import edge_index as edges

NODES, EDGES = 7, 20


def build(edge_index: Tensor, weight: Tensor | None = None, nodes: int | None = NODES) -> Adjacency:
    """Compare what comes of an edge_index with what comes of a copy that nothing has seen before."""
    made = Adjacency.build(edge_index, weight, nodes)
    fresh = Adjacency.build(edge_index.clone(), None if weight is None else weight.clone(), nodes)
    assert made.shape == fresh.shape
    assert torch.equal(made.rowptr, fresh.rowptr)
    assert torch.equal(made.col, fresh.col)
    dense = torch.zeros(made.shape)
    values = torch.ones(edge_index.size(1)) if weight is None else weight.detach()
    dense.index_put_((edge_index[1].long(), edge_index[0].long()), values, accumulate=True)
    torch.testing.assert_close(made.to_dense().detach(), dense)
    return made


@pytest.fixture
def sortings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the sortings."""
    calls: list[int] = []
    plain = matrix.sort_entries

    def counted(*arguments: object) -> object:
        calls.append(1)
        return plain(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(edges, "sort_entries", counted)
    return calls


def test_the_same_tensor_is_sorted_once(sortings: list[int]) -> None:
    edge_index = random_graph(NODES, EDGES)
    first = Adjacency.build(edge_index, num_nodes=NODES)
    assert Adjacency.build(edge_index, num_nodes=NODES) is first
    assert len(sortings) == 1
    weight = torch.rand(EDGES)
    weighted = Adjacency.build(edge_index, weight, NODES)
    assert Adjacency.build(edge_index, weight, NODES) is weighted
    assert Adjacency.build(edge_index, weight.clone(), NODES) is weighted
    assert weighted.target is first.target
    learned = weight.clone().requires_grad_()
    assert Adjacency.build(edge_index, learned, NODES) is not Adjacency.build(edge_index, learned, NODES)
    assert len(sortings) == 1


@pytest.mark.parametrize("layer", [DNAConv(8, 2), DNAConv(8, 2, flow="target_to_source"), GCNConv(8, 8)], ids=repr)
def test_a_layer_sorts_once(layer: torch.nn.Module, sortings: list[int]) -> None:
    edge_index = random_graph(NODES, EDGES)
    x = torch.randn(NODES, 2, 8) if isinstance(layer, DNAConv) else torch.randn(NODES, 8)
    first = layer(x, edge_index)
    before = len(sortings)
    assert torch.equal(layer(x, edge_index), first)
    assert len(sortings) == before


def in_place(x: Tensor) -> None:
    x[0, 3] = (x[0, 3] + 1) % NODES


def through_numpy(x: Tensor) -> None:
    array = x.numpy()
    array[1, 2] = (array[1, 2] + 3) % NODES


def through_data(x: Tensor) -> None:
    x.data[0, 0] = (x.data[0, 0] + 2) % NODES


def other_data(x: Tensor) -> None:
    x.data = x.data.flip(0).contiguous()


def through_a_view(x: Tensor) -> None:
    x.view(-1)[5] = (x.view(-1)[5] + 1) % NODES


def other_memory(x: Tensor) -> None:
    x.set_((x + 1) % NODES)  # type: ignore[call-overload]


def longer(x: Tensor) -> None:
    resize(x, torch.cat([x, x[:, :1]], 1))


def shorter(x: Tensor) -> None:
    if x.size(1) > 6:
        resize(x, x[:, 1:].clone())


def resize(x: Tensor, values: Tensor) -> None:
    x.set_(x.clone())  # type: ignore[call-overload]  # memory that numpy has seen cannot grow
    x.resize_(values.shape).copy_(values)


CHANGES = [in_place, through_numpy, through_data, other_data, through_a_view, other_memory, longer, shorter]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_tensor_is_sorted_again(change: Callable[[Tensor], None]) -> None:
    edge_index = random_graph(NODES, EDGES)
    before = build(edge_index)
    change(edge_index)
    assert build(edge_index) is not before


STEPS = st.lists(st.sampled_from(["build", "nodes", "weight", "replace", *CHANGES]), min_size=1, max_size=12)


@settings(max_examples=60)
@given(steps=STEPS, seed=st.integers(0, 5), weighted=st.booleans())
def test_any_sequence_of_changes(steps: list[str | Callable[[Tensor], None]], seed: int, weighted: bool) -> None:
    edge_index, nodes = random_graph(NODES, EDGES, seed), NODES
    weight = torch.rand(EDGES)
    for step in steps:
        if step == "nodes":
            nodes = NODES + (nodes + 1) % 3
        elif step == "weight":
            weight[seed] += 1
        elif step == "replace":  # the new tensor may get the identity of the old one
            values = (edge_index + 1) % NODES
            del edge_index
            edge_index = values.clone()
        elif callable(step):
            step(edge_index)
            if len(weight) != edge_index.size(1):
                weight = torch.rand(edge_index.size(1))
        build(edge_index, weight if weighted else None, nodes)


def test_the_number_of_nodes_is_noticed() -> None:
    edge_index = torch.tensor([[0, 1, 2], [1, 2, 0]])
    assert build(edge_index, nodes=9).num_nodes == 9
    assert Adjacency.build(edge_index).num_nodes == 3
    assert build(edge_index, nodes=4).num_nodes == 4
    with pytest.raises(ValueError, match="holds node 2, but there are 2 nodes"):
        Adjacency.build(edge_index, num_nodes=2)


def test_changed_weights_are_noticed() -> None:
    edge_index, weight = random_graph(NODES, EDGES), torch.rand(EDGES)
    conv, x = DNAConv(8, 2), torch.randn(NODES, 2, 8)
    outputs = [conv(x, edge_index, weight)]
    for change in (
        lambda: weight.mul_(2),
        lambda: np.square(weight.numpy(), out=weight.numpy()),
        lambda: weight[3:].zero_(),
    ):
        change()
        build(edge_index, weight)
        outputs.append(conv(x, edge_index, weight))
        assert_same(outputs[-1], conv(x, edge_index.clone(), weight))
        assert not torch.equal(outputs[-1], outputs[-2])
    assert Adjacency.build(edge_index, weight.double(), NODES).normalized("sum", torch.float64).weight is not None
    build(edge_index)  # and none at all


def test_learned_weights_get_their_gradient_each_time() -> None:
    edge_index, weight = random_graph(NODES, EDGES), torch.rand(EDGES, requires_grad=True)
    conv, x = DNAConv(8, 2), torch.randn(NODES, 2, 8)
    grads: list[Tensor] = []
    with torch.no_grad():
        conv(x, edge_index, weight)
    for _ in range(2):
        grads += torch.autograd.grad(conv(x, edge_index, weight).sum(), weight)
    assert torch.equal(grads[0], grads[1])
    assert grads[0].any()


def test_nothing_is_kept_alive() -> None:
    gc.collect()
    gc.disable()
    try:
        edge_index, kept = random_graph(NODES, EDGES), len(edges._SORTED)
        conv = DNAConv(8, 2)
        conv(torch.randn(NODES, 2, 8), edge_index, torch.rand(EDGES)).sum().backward()
        tensor = weakref.ref(edge_index)
        adj = weakref.ref(Adjacency.build(edge_index, num_nodes=NODES))
        assert adj() is not None
        del edge_index
        assert tensor() is None
        assert adj() is None
        assert len(edges._SORTED) == kept
    finally:
        gc.enable()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("made_inside", [False, True])
@pytest.mark.parametrize("options", [{}, {"flow": "target_to_source", "add_self_loops": False}], ids=str)
def test_an_evaluation_first_serves_training(
    mode: Callable[[], torch.no_grad], made_inside: bool, options: dict[str, object]
) -> None:
    edge_index, weight = random_graph(NODES, EDGES), torch.rand(EDGES)
    conv = DNAConv(8, 2, **options)  # type: ignore[arg-type]
    x = torch.randn(NODES, 2, 8, requires_grad=True)
    with mode():
        if made_inside:
            edge_index, weight = edge_index.clone(), weight.clone()
        expected = conv(x, edge_index, weight)
    out = conv(x, edge_index, weight)
    out.sum().backward()
    assert torch.equal(out, expected)
    assert x.grad is not None


def test_several_threads_at_once() -> None:
    """Each with weights, a number of nodes and a layer of its own, on one edge_index."""
    edge_index, failures = random_graph(NODES, EDGES), []

    def work(number: int) -> None:
        weight, nodes = torch.full((EDGES,), float(number + 1)), NODES + number % 2
        try:
            for _ in range(100):
                adj = Adjacency.build(edge_index, weight, nodes)
                assert adj.num_nodes == nodes
                assert adj.weight is not None
                assert bool((adj.weight == number + 1).all())
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
