"""Every way to compute graph attention agrees with the obvious version, in its output and in every gradient."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from helpers import assert_same
from justjump.ops import Adjacency, gat_attention, matrix, native, outgoing_attention
from justjump.ops.gat import native as gat
from justjump.ops.gat import reference
from specification import (
    DROPOUTS,
    DTYPES,
    GRAPHS,
    Expected,
    GraphSpec,
    Inputs,
    check,
    check_operation,
    expect,
    first_targets,
    graph,
    graphs,
    leaves,
    random,
    results,
)


@dataclass(frozen=True)
class GatCase:
    """H heads of C channels."""

    graph: GraphSpec = "small"
    heads: int = 4
    channels: int = 3
    dtype: torch.dtype = torch.float64
    dropout: float = 0.4
    seed: int = -7
    slope: float = 0.2
    size: float = 1.0  # of the scores
    targets: int | None = None
    outgoing: bool = False  # the softmax is over the edges out of a node

    @property
    def adj(self) -> Adjacency:
        adj = graph(self.graph)
        return adj if self.targets is None else first_targets(adj, self.targets)

    def inputs(self) -> dict[str, Tensor]:
        targets, sources = self.adj.shape
        return {
            "value": random(sources, self.heads, self.channels, dtype=self.dtype, seed=1),
            "source": random(sources, self.heads, dtype=self.dtype, seed=2, size=self.size),
            "target": random(targets, self.heads, dtype=self.dtype, seed=3, size=self.size),
        }

    def run(self, x: Inputs) -> Tensor:
        seed, attend = torch.tensor(self.seed), outgoing_attention if self.outgoing else gat_attention
        return attend(x["value"], x["source"], x["target"], self.adj, self.slope, self.dropout, seed)

    def obvious(self, x: Inputs) -> Tensor:
        adj = self.adj.flipped() if self.outgoing else self.adj
        options = (adj.rowptr, adj.col, self.slope, self.dropout, self.seed)
        if self.outgoing:
            return reference.outgoing_attention(x["value"], x["source"], x["target"], *options)
        return reference.gat_attention(x["value"], x["source"], x["target"], *options)[0]

    def check(self) -> None:
        check(self.run, self.inputs(), expected(self))


@cache
def expected(case: GatCase) -> Expected:
    # A softmax over one edge has gradient 0, as a difference of dot products of this size.
    return expect(case.obvious, case.inputs(), size=math.sqrt(case.channels) / (1 - case.dropout))


def cases() -> list[GatCase]:
    made = [GatCase(heads=h, channels=c) for h in (1, 3, 8, 16, 32) for c in (1, 2, 5, 8, 16)]
    made += [GatCase(name, dropout=p) for name in GRAPHS for p in DROPOUTS]
    made += [replace(case, outgoing=True) for case in made]
    made += [GatCase(targets=n) for n in (0, 1, 7)] + [GatCase("hub", targets=20)]
    return [*made, GatCase(size=1e4, dropout=0.0), GatCase(slope=0.0)]


@pytest.mark.parametrize("case", cases(), ids=str)
def test_native(isa: str, case: GatCase) -> None:
    for dtype in DTYPES:
        replace(case, dtype=dtype).check()


@pytest.mark.usefixtures("kernels_off")
@pytest.mark.parametrize("case", cases()[::3], ids=str)
def test_pytorch(case: GatCase) -> None:
    case.check()


def test_wide_indices(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "INT32_MAX", 10)
    adj = graph("small")
    monkeypatch.setattr(GatCase, "adj", Adjacency(adj.rowptr.long(), adj.col.long()))
    assert GatCase().adj.col.dtype == torch.int64
    GatCase().check()


@pytest.mark.parametrize("outgoing", [False, True])
def test_threads_give_the_same_bits(isa: str, threads: Callable[[int | None], None], outgoing: bool) -> None:
    for dtype in DTYPES:
        case = GatCase("large", heads=8, dtype=dtype, outgoing=outgoing)
        threads(1)
        expected = results(case.run, case.inputs())
        for number in (2, 3, 70):
            threads(number)
            again = results(case.run, case.inputs())
            assert all(torch.equal(a, b) for a, b in zip(again, expected, strict=True)), number


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    spec=graphs(),
    heads=st.integers(1, 20),
    channels=st.integers(1, 20),
    dtype=st.sampled_from(DTYPES),
    dropout=st.sampled_from(DROPOUTS),
    seed=st.integers(-(2**63), 2**63 - 1),
    outgoing=st.booleans(),
)
def test_any_attention(isa: str, **drawn: object) -> None:
    spec = drawn.pop("spec")
    GatCase(spec, **drawn).check()  # type: ignore[arg-type]


@pytest.mark.parametrize("outgoing", [False, True])
def test_gradcheck(outgoing: bool) -> None:
    case = GatCase((5, ((0, 1), (1, 2), (2, 2), (4, 0), (0, 4), (3, 1))), heads=2, outgoing=outgoing)
    inputs = leaves(case.inputs())

    def attention(*tensors: Tensor) -> Tensor:
        return case.run(dict(zip(inputs, tensors, strict=True)))

    assert torch.autograd.gradcheck(attention, list(inputs.values()))


@pytest.mark.skipif(not native.available(), reason="without the kernels these are torch's own operations")
class TestOperation:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["gat_attention", "gat_backward", "outgoing_attention", "outgoing_backward"])
    def test_is_well_formed(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        case = GatCase(outgoing=name.startswith("outgoing"))
        check_operation(monkeypatch, gat, name, lambda: case.run(leaves(case.inputs())).sum().backward())

    @pytest.mark.parametrize("outgoing", [False, True])
    def test_second_gradients_are_refused(self, outgoing: bool) -> None:
        case = GatCase(outgoing=outgoing)
        inputs = leaves(case.inputs())
        (grad,) = torch.autograd.grad(case.run(inputs).square().sum(), inputs["value"], create_graph=True)
        with pytest.raises(RuntimeError, match="(gat|outgoing)_attention_backward"):
            torch.autograd.grad(grad.square().sum(), inputs["value"])


def test_obvious_version_is_its_equation() -> None:
    case = GatCase(dropout=0.0)
    x, expected = case.inputs(), torch.zeros(21, 4, 3, dtype=torch.float64)
    for v in range(21):
        edges = range(int(case.adj.rowptr[v]), int(case.adj.rowptr[v + 1]))
        sources = [int(case.adj.col[e]) for e in edges]
        for h in range(4):
            score = [float(x["source"][w, h] + x["target"][v, h]) for w in sources]
            size = [math.exp(s if s > 0 else 0.2 * s) for s in score]
            for w, e in zip(sources, size, strict=True):
                expected[v, h] += e / sum(size) * x["value"][w, h]
    assert_same(case.obvious(x), expected)
