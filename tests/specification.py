"""What every operator is held to: graphs, tolerances, and the comparison with its obvious version.

A path is one way to compute an operator: PyTorch alone, or the native kernels in one of their forms, layouts and
instruction sets. On every path the output and the gradient of every input agree with the obvious version in float64.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._pytree import tree_map_only

from helpers import TOLERANCE
from justjump.ops import Adjacency, native

Inputs = Mapping[str, Tensor]
Function = Callable[[Inputs], Tensor]
# A graph by its name in `graph`, or by its number of nodes and its edges (source, target).
GraphSpec = str | tuple[int, tuple[tuple[int, int], ...]]

CHUNK_EDGES = 1024  # the kernels cut rows of more edges into pieces
DTYPES = (torch.float32, torch.float64)
DROPOUTS = (0.0, 1e-9, 0.3, 0.8, 0.95)
GRAPHS = ("one", "empty", "small", "hub")
NO_KERNELS = f"there are no native kernels here: {native.why_not()}"
needs_kernels = pytest.mark.skipif(not native.available(), reason=NO_KERNELS)


@cache
def graph(spec: GraphSpec) -> Adjacency:
    """A graph without weights."""
    generator = torch.Generator().manual_seed(1)
    if isinstance(spec, tuple):
        nodes, pairs = spec
        return Adjacency.build(torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T, num_nodes=nodes)
    if spec == "none":
        return Adjacency.build(torch.zeros(2, 0, dtype=torch.int64), num_nodes=0)
    if spec == "one":
        return Adjacency.build(torch.tensor([[0], [0]]), num_nodes=1)
    if spec == "empty":
        return Adjacency.build(torch.zeros(2, 0, dtype=torch.int64), num_nodes=3)
    if spec == "small":  # duplicate edges, self-loops, and the last two nodes isolated
        ends = torch.randint(19, (2, 90), generator=generator)
        ends = torch.cat([ends, ends[:, :5], torch.arange(7).repeat(2, 1)], dim=1)
        return Adjacency.build(ends, num_nodes=21)
    if spec == "hub":  # node 0 has rows of several pieces, by target and by source
        ends = torch.randint(40, (2, 2 * CHUNK_EDGES + 77), generator=generator)
        ends[1, : CHUNK_EDGES + 98] = ends[0, CHUNK_EDGES - 21 :] = 0
        return Adjacency.build(ends, num_nodes=40)
    if spec == "large":  # several blocks of rows, and a hub in each direction
        ends = torch.randint(900, (2, 7000), generator=generator)
        ends[0, :1500] = ends[1, -1500:] = 3
        return Adjacency.build(ends, num_nodes=900)
    raise ValueError(f"there is no graph {spec!r}")


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 12) -> GraphSpec:
    """Any graph of a few nodes and edges."""
    nodes = draw(st.integers(1, max_nodes))
    node = st.integers(0, nodes - 1)
    return nodes, tuple(draw(st.lists(st.tuples(node, node), max_size=40)))


def random(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0, size: float = 1.0) -> Tensor:
    """Normal numbers that are the same for both dtypes, but for rounding."""
    x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * size
    return x.to(dtype)


def edge_weights(edges: int, dtype: torch.dtype) -> Tensor:
    """Weights of which some are zero."""
    weight = random(edges, dtype=dtype, seed=9).abs()
    weight[::5] = 0
    return weight


def first_targets(adj: Adjacency, targets: int, weight: Tensor | None = None) -> Adjacency:
    """The edges to the first nodes alone: a graph with fewer targets than sources."""
    edges = int(adj.rowptr[targets])
    weight = None if weight is None else weight[:edges]
    return Adjacency._trusted((targets, adj.num_nodes), adj.rowptr[: targets + 1], adj.col[:edges], weight)


def leaves(inputs: Inputs, dtype: torch.dtype | None = None) -> dict[str, Tensor]:
    """Copies that get gradients."""
    return {name: x.detach().clone().to(dtype or x.dtype).requires_grad_() for name, x in inputs.items()}


def gradients_of(out: Tensor, inputs: Inputs, direction: Tensor) -> dict[str, Tensor]:
    """The gradient of every input; zero where it plays no part."""
    found = torch.autograd.grad(out, list(inputs.values()), direction, allow_unused=True, materialize_grads=True)
    return dict(zip(inputs, found, strict=True))


def assert_close(what: str, actual: Tensor, expected: Tensor, size: float = 1.0) -> None:
    """Equal to within the tolerance of its dtype, relative to the largest value or to the size of the terms."""
    assert actual.shape == expected.shape, what
    assert torch.isfinite(actual).all(), f"{what} is not finite"
    if actual.numel():
        error = (actual.double() - expected.double()).abs().max().item()
        allowed = TOLERANCE[actual.dtype] * max(expected.abs().max().item(), size)
        assert error <= allowed, f"{what} is off by {error:.2e}, allowed {allowed:.2e}"


class Expected(NamedTuple):
    """Output and gradients of the obvious version in float64."""

    out: Tensor
    grads: dict[str, Tensor]
    direction: Tensor  # the gradient of the output
    size: float  # of the terms, where they may cancel


def expect(obvious: Function, inputs: Inputs, relu: bool = False, size: float = 1.0) -> Expected:
    """What a path shall give, with a ReLU after it or without."""
    exact = leaves(inputs, torch.float64)
    out = obvious(exact)
    direction = random(*out.shape, dtype=next(iter(inputs.values())).dtype, seed=99)
    passed = direction.double()
    if relu:
        direction = direction * (out.abs() > 1e-3)  # the sign of an output next to zero depends on the rounding
        passed, out = direction.double() * (out > 0), out.relu()
    return Expected(out.detach(), gradients_of(out, exact, passed), direction, size)


def check(fast: Function, inputs: Inputs, expected: Expected) -> None:
    """Compare output and every gradient."""
    ours = leaves(inputs)
    out = fast(ours)
    assert_close("the output", out, expected.out, expected.size)
    for name, grad in gradients_of(out, ours, expected.direction).items():
        assert_close(f"the gradient of {name}", grad, expected.grads[name], expected.size)


def results(fast: Function, inputs: Inputs) -> list[Tensor]:
    """Output and every gradient, for comparisons bit by bit."""
    ours = leaves(inputs)
    out = fast(ours)
    return [out, *gradients_of(out, ours, random(*out.shape, dtype=out.dtype, seed=99)).values()]


def check_operation(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, call: Callable[[], object]) -> None:
    """An operation is well-formed for torch, with the arguments that a call gives it."""
    calls: list[tuple[Any, ...]] = []
    operation = getattr(module, name)

    def record(*arguments: Any) -> Any:
        calls.append(arguments)
        return operation(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, record)
        call()
    differentiable = operation._eager is not None
    arguments = tree_map_only(
        Tensor, lambda x: x.detach().clone().requires_grad_(differentiable and x.requires_grad), calls[0]
    )
    torch.library.opcheck(operation._traced, arguments)


def switch_kernels_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch alone, as on a machine without a compiler."""
    monkeypatch.setattr(native, "_native", None)
    monkeypatch.setattr(native, "_failure", "a test has switched the native kernels off")
