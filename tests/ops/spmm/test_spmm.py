"""Every way to multiply a sparse matrix agrees with the obvious version, in its output and in every gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from helpers import assert_same
from justjump.ops import SparseMatrix, blocks, draw_seed, matrix, spmm
from justjump.ops.dropout.reference import dropout
from justjump.ops.spmm import native as native_spmm
from justjump.ops.spmm import reference
from specification import (
    DROPOUTS,
    DTYPES,
    GRAPHS,
    Expected,
    GraphSpec,
    Inputs,
    check,
    check_operation,
    edge_weights,
    expect,
    graph,
    graphs,
    leaves,
    random,
    results,
)

Weights = Literal["none", "fixed", "learned"]


@dataclass(frozen=True)
class SpmmCase:
    """The matrix of a graph, or its first rows alone, times ``[M, d]``."""

    graph: GraphSpec = "small"
    width: int = 5
    weights: Weights = "learned"
    dtype: torch.dtype = torch.float64
    dropout: float = 0.0
    rows: int | None = None

    def inputs(self) -> dict[str, Tensor]:
        x = random(graph(self.graph).num_nodes, self.width, dtype=self.dtype)
        return {"x": x} if self.weights != "learned" else {"x": x, "weight": self._weight(self.dtype)}

    def _weight(self, dtype: torch.dtype) -> Tensor:
        return edge_weights(self._edges, dtype)

    @property
    def _rows(self) -> int:
        return graph(self.graph).num_nodes if self.rows is None else self.rows

    @property
    def _edges(self) -> int:
        return int(graph(self.graph).rowptr[self._rows])

    def matrix(self, inputs: Inputs) -> SparseMatrix:
        adj = graph(self.graph)
        weight = None if self.weights == "none" else inputs.get("weight", self._weight(self.dtype))
        rowptr, col = adj.rowptr[: self._rows + 1], adj.col[: self._edges]
        return SparseMatrix((self._rows, adj.num_nodes), rowptr, col, weight)

    def run(self, inputs: Inputs) -> Tensor:
        torch.manual_seed(3)
        return spmm(self.matrix(inputs), inputs["x"], self.dropout)

    def obvious(self, inputs: Inputs) -> Tensor:
        adj = self.matrix(inputs)
        ones = torch.ones(adj.num_entries, dtype=torch.float64)
        weight = ones if adj.weight is None else adj.weight.double()
        torch.manual_seed(3)
        weight = dropout(weight[None, None], self.dropout, draw_seed(self.dropout))[0, 0]
        return reference.spmm(adj.rowptr, adj.col, weight, inputs["x"])

    def check(self) -> None:
        check(self.run, self.inputs(), expected(self))


@cache
def expected(case: SpmmCase) -> Expected:
    return expect(case.obvious, case.inputs())


def cases() -> list[SpmmCase]:
    kinds: tuple[Weights, ...] = ("none", "fixed", "learned")
    made = [SpmmCase(width=w) for w in (1, 3, 7, 16, 17, 31, 33, 64, 100, 128, 130, 200, 300)]
    made += [SpmmCase(name, weights=kind, dropout=p) for name in GRAPHS for kind in kinds for p in DROPOUTS[::2]]
    made += [SpmmCase(rows=n, weights=kind) for n in (0, 1, 7) for kind in kinds]
    return [*made, *(SpmmCase(dropout=p, width=20) for p in DROPOUTS), SpmmCase("none")]


@pytest.mark.parametrize("case", cases(), ids=str)
def test_native(isa: str, case: SpmmCase) -> None:
    for dtype in DTYPES:
        SpmmCase(**{**vars(case), "dtype": dtype}).check()


@pytest.mark.usefixtures("kernels_off")
@pytest.mark.parametrize("case", [case for case in cases() if case.graph != "hub"], ids=str)
def test_pytorch(case: SpmmCase, monkeypatch: pytest.MonkeyPatch) -> None:
    case.check()
    monkeypatch.setattr(blocks, "BLOCK_ELEMENTS", 16)
    case.check()


def test_wide_indices(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "INT32_MAX", 10)
    assert SpmmCase().matrix(SpmmCase().inputs()).col.dtype == torch.int64
    for kind in ("none", "fixed", "learned"):
        SpmmCase(weights=kind, dropout=0.3).check()


def test_threads_give_the_same_bits(isa: str, threads: Callable[[int | None], None]) -> None:
    for dtype in DTYPES:
        for kind in ("fixed", "learned"):
            case = SpmmCase("large", width=33, weights=kind, dtype=dtype, dropout=0.3)
            threads(1)
            expected = results(case.run, case.inputs())
            for number in (2, 3, 70):
                threads(number)
                again = results(case.run, case.inputs())
                assert all(torch.equal(a, b) for a, b in zip(again, expected, strict=True)), number


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    spec=graphs(),
    width=st.integers(1, 40),
    weights=st.sampled_from(["none", "fixed", "learned"]),
    dtype=st.sampled_from(DTYPES),
    p=st.sampled_from(DROPOUTS),
)
def test_any_product(isa: str, spec: GraphSpec, width: int, weights: Weights, dtype: torch.dtype, p: float) -> None:
    SpmmCase(spec, width, weights, dtype, p).check()


def test_is_a_product_of_matrices() -> None:
    case = SpmmCase(rows=7)
    x = case.inputs()
    assert_same(case.run(x), case.matrix(x).to_dense() @ x["x"])


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_gradcheck(p: float) -> None:
    case = SpmmCase((4, ((0, 1), (1, 2), (2, 2), (1, 2), (3, 0))), dropout=p, width=2)
    x, weight = leaves(case.inputs()).values()
    assert torch.autograd.gradcheck(lambda x, weight: case.run({"x": x, "weight": weight}), (x, weight))


@pytest.mark.parametrize("kind", ["none", "fixed"])
def test_second_gradients_where_the_product_is_linear(kind: Weights) -> None:
    case = SpmmCase((4, ((0, 1), (1, 2), (2, 2), (1, 2), (3, 0))), weights=kind, width=2)
    x = case.inputs()["x"].requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: case.run({"x": x.sin()}), (x,))


def test_second_gradients_of_learned_weights_are_refused() -> None:
    case = SpmmCase()
    inputs = leaves(case.inputs())
    (grad,) = torch.autograd.grad(case.run(inputs).square().sum(), inputs["x"], create_graph=True)
    with pytest.raises(RuntimeError, match="spmm_backward"):
        torch.autograd.grad(grad.square().sum(), inputs["x"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["none", "fixed", "learned"])
@pytest.mark.parametrize("p", [0.0, 0.5])
def test_operations_are_well_formed(kind: Weights, p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    case = SpmmCase(weights=kind, dropout=p)
    for name in ("spmm", "spmm_backward") if kind == "learned" else ("spmm",):
        check_operation(monkeypatch, native_spmm, name, lambda: case.run(leaves(case.inputs())).sum().backward())


def test_tensors_as_they_lie() -> None:
    case = SpmmCase(width=20)
    inputs = case.inputs()
    expected = results(case.run, inputs)[0]
    for x in (inputs["x"].T.contiguous().T, torch.cat([inputs["x"]] * 2, 1)[:, :20], torch._neg_view(-inputs["x"])):
        assert_same(case.run({**inputs, "x": x}), expected)
    apart = inputs["weight"].repeat_interleave(2)[::2].requires_grad_()
    out = case.run({**inputs, "weight": apart})
    assert_same(out, expected)
    out.sum().backward()
    one = torch.ones(1, dtype=torch.float64).expand(len(apart))
    assert_same(case.run({**inputs, "weight": one}), SpmmCase(width=20, weights="none").run(inputs))


def test_what_cannot_be_multiplied_is_refused() -> None:
    adj = graph("small")
    with pytest.raises(ValueError, match=r"x has shape \[5, 3\], expected \[21, d\]"):
        spmm(adj, torch.randn(5, 3))
    with pytest.raises(TypeError, match="x has dtype torch.int64, expected a floating point type"):
        spmm(adj, torch.ones(21, 2, dtype=torch.int64))


def test_weights_of_another_dtype_are_converted() -> None:
    adj = graph("small")
    weighted = SparseMatrix(adj.shape, adj.rowptr, adj.col, torch.ones(adj.num_edges, dtype=torch.float64))
    x = torch.randn(21, 3)
    assert_same(spmm(weighted, x), spmm(adj, x))
    assert spmm(weighted, x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("width", [3, 40])
def test_entries_of_some_rows_are_numbered_as_in_the_whole(isa: str, width: int) -> None:
    """The rows of a part drop what the whole matrix drops, in the product and in its gradients."""
    row, col = torch.randint(0, 30, (2, 400))
    whole = SparseMatrix.from_entries((40, 30), row, col, torch.randn(400).double())
    rows = torch.arange(12, 40)
    part = whole.take(rows)
    part.first = int(whole.rowptr[12])
    seed = torch.tensor(9)
    x = random(30, width)
    for wide in (False, True):
        found = []
        for some in (whole, part):
            one = x.clone().requires_grad_()
            structure: Any = (some.rowptr, some.col, None, some.colptr, some.row, some.position)
            if wide:
                structure = tuple(None if index is None else index.long() for index in structure)
            out = native_spmm.spmm(
                one, some.weight, *structure, some.weight_by_column, 0.4, seed, False, False, some.first
            )
            out = out[12:] if some is whole else out
            (out * random(28, width, seed=1)).sum().backward()
            found.append((out.detach(), one.grad))
        (out, grad), (out_of_part, grad_of_part) = found
        assert torch.equal(out, out_of_part)
        torch.testing.assert_close(grad, grad_of_part)
