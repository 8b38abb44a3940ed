"""Every way to apply a block-diagonal map agrees with the obvious version, in its output and in every gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from helpers import assert_same
from justjump.ops import grouped_linear, native
from justjump.ops.grouped import native as native_grouped
from justjump.ops.grouped import reference
from justjump.ops.layout import Layout, pack, unpack
from specification import DTYPES, Expected, Inputs, check, check_operation, expect, leaves, random, results


@dataclass(frozen=True)
class GroupedCase:
    """Rows of H heads of C channels; the operation of packed rows takes groups within heads and across them."""

    heads: int
    channels: int
    groups: int
    rows: int = 37
    dtype: torch.dtype = torch.float64
    bias: bool = True

    def inputs(self) -> dict[str, Tensor]:
        width, block = self.heads * self.channels, self.heads * self.channels // self.groups
        drawn = {"x": random(self.rows, width, seed=1), "weight": random(self.groups, block, block, seed=2)}
        if self.bias:
            drawn["bias"] = random(width, seed=3)
        return {name: x.to(self.dtype) for name, x in drawn.items()}

    def run(self, x: Inputs) -> Tensor:
        return grouped_linear(x["x"], x["weight"], x.get("bias"))

    def run_packed(self, x: Inputs) -> Tensor:
        layout = Layout(self.heads, self.channels, x["x"].dtype)
        rows = native_grouped.packed_linear(pack(x["x"], layout), x["weight"], x.get("bias"), self.heads)
        assert torch.equal(pack(unpack(rows, layout), layout), rows), "the padding is not zero"
        return unpack(rows, layout)

    def obvious(self, x: Inputs) -> Tensor:
        return reference.grouped_linear(x["x"], x["weight"], x.get("bias"))


@cache
def expected(case: GroupedCase) -> Expected:
    return expect(case.obvious, case.inputs())


def cases() -> list[GroupedCase]:
    made = []
    for heads in (1, 3, 8, 16, 32):
        for channels in (1, 5, 8):
            groups = {1, 2, heads, heads * channels} | ({8} if heads == 16 else set())
            made += [GroupedCase(heads, channels, g) for g in sorted(groups) if heads * channels % g == 0]
    return [*made, GroupedCase(4, 4, 4, rows=0), GroupedCase(4, 4, 2, rows=300, bias=False)]


@pytest.mark.parametrize("case", cases(), ids=str)
def test_native(isa: str, case: GroupedCase) -> None:
    for dtype in DTYPES:
        typed = GroupedCase(**{**vars(case), "dtype": dtype})
        for fast in (typed.run, typed.run_packed):
            check(fast, typed.inputs(), expected(typed))


@pytest.mark.usefixtures("kernels_off")
def test_pytorch() -> None:
    for case in cases():
        check(case.run, case.inputs(), expected(case))


def test_threads_give_the_same_bits(isa: str, threads: Callable[[int | None], None]) -> None:
    for dtype in DTYPES:
        for groups in (1, 4, 8, 32):
            case = GroupedCase(8, 4, groups, rows=700, dtype=dtype)
            threads(1)
            expected = results(case.run_packed, case.inputs())
            for number in (2, 3, 70):
                threads(number)
                again = results(case.run_packed, case.inputs())
                assert all(torch.equal(a, b) for a, b in zip(again, expected, strict=True)), number


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 70), st.sampled_from(DTYPES), st.booleans(), st.data())
def test_any_map(
    isa: str, heads: int, channels: int, rows: int, dtype: torch.dtype, bias: bool, data: st.DataObject
) -> None:
    divisors = [g for g in range(1, heads * channels + 1) if heads * channels % g == 0]
    case = GroupedCase(heads, channels, data.draw(st.sampled_from(divisors)), rows, dtype, bias)
    for fast in (case.run, case.run_packed):
        check(fast, case.inputs(), expected(case))


@pytest.mark.parametrize("shape", [(2, 3, 24), (2, 0, 24), (24,)])
def test_rows_in_more_or_fewer_dimensions(shape: tuple[int, ...]) -> None:
    inputs = {**GroupedCase(3, 8, 3).inputs(), "x": random(*shape)}
    case = GroupedCase(3, 8, 3)
    check(case.run, inputs, expect(case.obvious, inputs))


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_obvious_version_is_a_block_diagonal_matrix(groups: int) -> None:
    x, weight, bias = torch.randn(2, 3, 8), torch.randn(groups, 8 // groups, 12 // groups), torch.randn(12)
    expected = x @ torch.block_diag(*weight) + bias
    assert_same(reference.grouped_linear(x, weight, bias), expected)
    assert_same(grouped_linear(x, weight, bias), expected)


def test_gradcheck() -> None:
    case = GroupedCase(2, 3, 2, rows=4)
    x, weight, bias = leaves(case.inputs()).values()
    assert torch.autograd.gradcheck(grouped_linear, (x, weight, bias))


@pytest.mark.skipif(not native.available(), reason="without the kernels these are torch's own operations")
class TestOperation:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["packed_linear", "packed_linear_backward"])
    @pytest.mark.parametrize("bias", [True, False])
    def test_is_well_formed(self, name: str, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        case = GroupedCase(4, 2, 4, bias=bias)
        check_operation(monkeypatch, native_grouped, name, lambda: case.run(leaves(case.inputs())).sum().backward())

    def test_second_gradients_are_refused(self) -> None:
        case = GroupedCase(4, 2, 4)
        inputs = leaves(case.inputs())
        (grad,) = torch.autograd.grad(case.run(inputs).square().sum(), inputs["x"], create_graph=True)
        with pytest.raises(RuntimeError, match="packed_linear_backward"):
            torch.autograd.grad(grad.square().sum(), inputs["x"])
