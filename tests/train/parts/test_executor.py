"""Steps over parts: the same bits wherever they are computed, and those of the whole graph up to rounding."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from justjump.data.parts import Parts
from justjump.nn import ModelConfig, NodeClassifier
from justjump.train.inputs import prepare
from justjump.train.objective import Objective
from justjump.train.parts.executor import Executor
from justjump.train.parts.nodes import Chosen
from justjump.train.parts.storage import InMemory, OnDisk, Storage
from justjump.train.parts.transport import Alone

from .conftest import Make, Turns, in_turns, random_graph

SMALL: dict[str, Any] = {"layers": 3, "hidden": 16, "heads": 4, "attention_dropout": 0.4}
NETWORKS: dict[str, dict[str, Any]] = {
    "dna folded": {"groups": 8, **SMALL},
    "dna separate": {"groups": 2, **SMALL},
    "dna window": {"groups": 8, **SMALL, "window": 2, "keep_first": True},
    "dna biased": {"groups": 8, **SMALL, "attention": "biased"},
    "dna unit": {"groups": 8, **SMALL, "qk_norm": True, "attention": "biased"},
    "dna dropout": {"groups": 8, **SMALL, "layer_dropout": 0.3, "norm": "layer"},
    "gcn": {"model": "gcn", "groups": 1, **SMALL},
    "gcn initial": {"model": "gcn", "groups": 1, **SMALL, "update": "initial", "norm": "layer", "norm_after": "relu"},
    "gat": {"model": "gat", "groups": 4, **SMALL},
    "concat": {"model": "gcn", "groups": 1, **SMALL, "jump": "concat"},
    "pool": {"groups": 4, **SMALL, "jump": "pool", "jump_input": False},
    "lstm": {"model": "gat", "groups": 1, **SMALL, "jump": "lstm"},
    "skip": {"groups": 4, **SMALL, "update": "skip"},
    "gru": {"model": "gcn", "groups": 4, **SMALL, "update": "gru"},
}


def network(parts: Parts, options: dict[str, Any], dtype: torch.dtype = torch.float32) -> NodeClassifier:
    torch.manual_seed(3)
    model = NodeClassifier(ModelConfig(**options), parts.manifest.num_features, 3)
    for name, parameter in model.named_parameters():  # biases that are zero at first would hide mistakes
        if "bias" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return model.to(dtype)


def step(parts: Parts, model: NodeClassifier, storage: Storage, nodes: np.ndarray) -> tuple[float, list[torch.Tensor]]:
    executor = Executor(parts, model, Alone(), storage)
    chosen = Chosen.of(parts, nodes)
    torch.manual_seed(5)
    loss = executor.train(chosen, Objective(), len(nodes))
    return loss, [p.grad for p in model.parameters() if p.grad is not None]


def whole_step(
    parts: Parts, model: NodeClassifier, nodes: np.ndarray
) -> tuple[float, list[torch.Tensor], torch.Tensor]:
    """The same step on the whole graph, put together again."""
    graph, dtype = parts.to_graph(), model.lin_out.weight.dtype
    inputs = prepare(graph, "none")
    x = inputs.x
    if isinstance(x, torch.Tensor):
        x = x.to(dtype)
    else:
        x._weight = x.weight.to(dtype)  # type: ignore[union-attr]
    chosen = torch.from_numpy(np.flatnonzero(np.isin(parts.collect("original"), nodes)))
    model.train()
    model.zero_grad()
    torch.manual_seed(5)
    loss = Objective().loss(model(x, inputs.adj.toward(chosen)), inputs.labels[chosen])
    loss.backward()
    after = torch.get_rng_state()
    return loss.item(), [p.grad for p in model.parameters() if p.grad is not None], after


def assert_same_as_whole(parts: Parts, options: dict[str, Any], dtype: torch.dtype, close: float) -> None:
    nodes = np.arange(0, parts.manifest.num_nodes, 3)
    model = network(parts, options, dtype)
    loss, grads = step(parts, model, InMemory(dtype), nodes)
    state = torch.get_rng_state()
    expected, expected_grads, expected_state = whole_step(parts, model, nodes)
    assert loss == pytest.approx(expected, abs=close)
    assert len(grads) == len(expected_grads)
    for grad, wanted in zip(grads, expected_grads, strict=True):
        torch.testing.assert_close(grad, wanted, rtol=close, atol=close)
    assert torch.equal(state, expected_state)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_step_is_that_of_the_whole_graph(make_parts: Make, name: str, sparse: bool) -> None:
    """With dropout everywhere: masks that differ in one place would show."""
    parts = make_parts(random_graph(sparse=sparse))
    assert_same_as_whole(parts, NETWORKS[name], torch.float64, 1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {"attention": "equal", "start": "scaled", "identity": 0.5, "update": "residual"},
        {"model": "gat", "vectors": "one", "projection": "linear", "identity": 0.5},
        {"model": "gcn", "projection": "uniform", "update": "initial", "initial_share": 0.3},
        {"layers": 6, "update": "initial", "initial_share": None, "identity": None, "window": 0, "start": "scaled"},
    ],
)
def test_the_other_options_of_networks(make_parts: Make, options: dict[str, Any]) -> None:
    assert_same_as_whole(make_parts(), {"groups": 4, **SMALL, **options}, torch.float64, 1e-10)


@pytest.mark.parametrize("name", ["dna folded", "gcn", "gat"])
def test_weighted_edges_in_float32(make_parts: Make, name: str) -> None:
    parts = make_parts(random_graph(weighted=True, sparse=True))
    assert_same_as_whole(parts, NETWORKS[name], torch.float32, 1e-5)


def test_without_kernels(make_parts: Make) -> None:
    from justjump.ops import without_native

    parts = make_parts(random_graph(sparse=True))
    for name in ("dna folded", "gcn", "gat"):
        with without_native():
            assert_same_as_whole(parts, NETWORKS[name], torch.float64, 1e-10)


@pytest.mark.parametrize("name", NETWORKS)
def test_from_disk_the_bits_are_the_same(make_parts: Make, tmp_path: Path, name: str) -> None:
    parts = make_parts()
    nodes = np.arange(5, 60, 4)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    model = network(parts, NETWORKS[name])
    loss, grads = step(parts, model, InMemory(torch.float32), nodes)
    grads = [grad.clone() for grad in grads]
    again, from_disk = step(parts, model, OnDisk(torch.float32, scratch), nodes)
    assert loss == again
    assert all(map(torch.equal, grads, from_disk))


@pytest.mark.parametrize("name", NETWORKS)
def test_any_number_of_workers_gives_the_same_bits(make_parts: Make, name: str) -> None:
    """Three steps of Adam: losses, gradients and weights."""
    parts = make_parts(random_graph(sparse=name == "dna folded"), parts=5)
    nodes = np.arange(5, 60, 4)
    chosen = Chosen.of(parts, nodes)

    def work(transport: Alone | Turns) -> list[torch.Tensor]:
        model = network(parts, NETWORKS[name])
        executor = Executor(parts, model, transport, InMemory(torch.float32))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        torch.manual_seed(5)
        found = []
        for _ in range(3):
            found.append(torch.tensor(executor.train(chosen, Objective(), len(nodes))))
            found += [p.grad.clone() for p in model.parameters() if p.grad is not None]
            optimizer.step()
        return [*found, *(p.detach() for p in model.parameters()), torch.get_rng_state()]

    expected = work(Alone())
    for world in (1, 2, 3, 5):
        for found in in_turns(world, work):
            assert len(found) == len(expected)
            assert all(map(torch.equal, found, expected))


@pytest.mark.parametrize("name", ["dna folded", "gcn"])
def test_bytes_sent(make_parts: Make, name: str) -> None:
    """Boundary rows times channels times 4 for each representation that a layer reads, forward and backward."""
    parts = make_parts(parts=5)
    chosen = Chosen.of(parts, np.arange(0, 60, 4))

    def work(transport: Turns) -> int:
        executor = Executor(parts, network(parts, NETWORKS[name]), transport, InMemory(torch.float32))
        executor.train(chosen, Objective(), 15)
        return transport.bytes_sent

    assert sum(in_turns(5, work)) == 2 * SMALL["layers"] * parts.manifest.num_halo * SMALL["hidden"] * 4
    between = sum(len(parts[p].send_to(q)) for p in range(5) for q in range(5) if (p < 2) != (q < 2))
    assert sum(in_turns(2, work)) == 2 * SMALL["layers"] * between * SMALL["hidden"] * 4


def test_outputs_are_those_of_the_whole_graph(make_parts: Make) -> None:
    parts = make_parts(random_graph(weighted=True))
    model = network(parts, NETWORKS["dna folded"])
    executor = Executor(parts, model, Alone(), InMemory(torch.float32))
    everyone = Chosen.of(parts, np.arange(60))
    found = torch.cat(executor.outputs(everyone))
    inputs = prepare(parts.to_graph(), "none")
    with torch.no_grad():
        torch.testing.assert_close(found, model.eval()(inputs.x, inputs.adj), rtol=1e-5, atol=1e-5)
    some = Chosen.of(parts, np.arange(0, 60, 7))
    picked = torch.cat(executor.outputs(some))
    rows = np.isin(parts.collect("original"), np.arange(0, 60, 7))
    torch.testing.assert_close(picked, found[rows], rtol=1e-5, atol=1e-5)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_graph_and_any_parts(make_parts: Make, data: st.DataObject) -> None:
    """Empty parts, parts without boundaries, isolated nodes, more parts than nodes, hubs, loops, directed edges."""
    nodes, parts = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))
    edges = data.draw(st.integers(0, 30))
    graph = random_graph(nodes, edges, 3, data.draw(st.integers(0, 99)), weighted=False)
    part = np.array(data.draw(st.lists(st.integers(0, parts - 1), min_size=nodes, max_size=nodes)))
    name = data.draw(st.sampled_from(["dna folded", "dna separate", "gcn", "gat"]))
    assert_same_as_whole(make_parts(graph, part, parts), NETWORKS[name], torch.float64, 1e-10)


def test_a_hub(make_parts: Make) -> None:
    """A row of more than 1024 edges is summed in pieces."""
    graph = random_graph(1300, 100)
    star = np.stack([np.arange(1300), np.zeros(1300, np.int64)])
    graph = type(graph)(np.concatenate([graph.edge_index, star], axis=1), graph.features, graph.labels, ("a", "b", "c"))
    assert_same_as_whole(make_parts(graph), NETWORKS["dna folded"], torch.float64, 1e-9)
