"""Dropout: a mask that is a function of a seed, the same on every path."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from justjump import ops
from justjump.ops import draw_seed, dropout, relu_dropout
from justjump.ops.dropout import native as native_dropout
from justjump.ops.dropout import reference
from justjump.ops.dropout.reference import dropout_mask, dropout_threshold
from specification import DROPOUTS, DTYPES, Inputs, check, check_operation, expect, random, results

SEED = 2**40 + 3


def fast(p: float, relu: bool, seed: int = SEED) -> Callable[[Inputs], Tensor]:
    operation = native_dropout.relu_dropout if relu else native_dropout.dropout
    return lambda inputs: operation(inputs["x"], p, torch.tensor(seed))


def obvious(p: float, relu: bool, seed: int = SEED) -> Callable[[Inputs], Tensor]:
    return lambda x: reference.dropout((x["x"].relu() if relu else x["x"])[:, None], p, seed)[:, 0]


def check_rows(rows: int, width: int, p: float, relu: bool, dtype: torch.dtype, seed: int = SEED) -> None:
    inputs = {"x": random(rows, width, dtype=dtype)}
    check(fast(p, relu, seed), inputs, expect(obvious(p, relu, seed), inputs))
    same = fast(p, relu, seed)(inputs) == 0
    assert torch.equal(same, obvious(p, relu, seed)(inputs) == 0)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("p", DROPOUTS)
def test_native(isa: str, p: float, relu: bool) -> None:
    for dtype in DTYPES:
        for rows, width in ((130, 1), (130, 7), (3, 16), (1, 50), (0, 5)):
            check_rows(rows, width, p, relu, dtype)


@pytest.mark.usefixtures("kernels_off")
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("p", DROPOUTS)
def test_pytorch(p: float, relu: bool) -> None:
    check_rows(130, 7, p, relu, torch.float64)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.integers(0, 70),
    width=st.integers(1, 40),
    p=st.just(0.0) | st.floats(1e-9, 0.99),
    relu=st.booleans(),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(-(2**63), 2**63 - 1),
)
def test_any_rows(isa: str, rows: int, width: int, p: float, relu: bool, dtype: torch.dtype, seed: int) -> None:
    check_rows(rows, width, p, relu, dtype, seed)


def test_threads_give_the_same_bits(isa: str, threads: Callable[[int | None], None]) -> None:
    inputs = {"x": random(3000, 17, dtype=torch.float32)}
    for relu in (False, True):
        threads(1)
        expected = results(fast(0.3, relu), inputs)
        for number in (2, 3, 70):
            threads(number)
            again = results(fast(0.3, relu), inputs)
            assert all(torch.equal(a, b) for a, b in zip(again, expected, strict=True)), number


def test_seed_comes_from_the_generator_of_torch() -> None:
    x = torch.ones(400, 50)
    out = dropout(x, 0.5)
    assert set(out.unique().tolist()) == {0.0, 2.0}
    assert abs(out.mean() - 1) < 0.03
    torch.manual_seed(1)
    first = dropout(x, 0.5)
    torch.manual_seed(1)
    assert torch.equal(first, dropout(x, 0.5))
    assert not torch.equal(first, dropout(x, 0.5))


def test_nothing_is_drawn_where_nothing_is_dropped() -> None:
    x, before = torch.randn(3, 4), torch.get_rng_state()
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0) is x
    assert torch.equal(relu_dropout(x, 0.5, training=False), x.relu())
    assert draw_seed(0.0) == 0
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("function", [dropout, relu_dropout])
def test_rows_are_a_matrix(function: Callable[[Tensor, float], Tensor]) -> None:
    with pytest.raises(ValueError, match=r"x has shape \[3\], expected \[rows, channels\]"):
        function(torch.ones(3), 0.5)


@pytest.mark.parametrize("relu", [False, True])
def test_gradcheck(relu: bool) -> None:
    x = random(4, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: fast(0.4, relu)({"x": x}), (x,))


def test_second_gradients() -> None:
    x = random(4, 6).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: fast(0.4, relu=False)({"x": x.sin()}), (x,))
    (grad,) = torch.autograd.grad(fast(0.4, relu=True)({"x": x}).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="relu_dropout_backward"):
        torch.autograd.grad(grad.square().sum(), x)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dropout", "relu_dropout", "relu_dropout_backward"])
def test_operations_are_well_formed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def call() -> None:
        x = random(4, 6).requires_grad_()
        (dropout(x, 0.5) + relu_dropout(x, 0.5)).sum().backward()

    check_operation(monkeypatch, native_dropout, name, call)


def test_mask_is_its_definition_in_plain_integers() -> None:
    def mix(h: int) -> int:
        h ^= h >> 16
        h = h * 0x7FEB352D % 2**32
        h ^= h >> 15
        h = h * 0x846CA68B % 2**32
        return h ^ (h >> 16)

    seed, p = 0x0123_4567_89AB_CDEF, 0.3
    rows = torch.tensor([0, 1, 77, 2**32 + 5])
    mask = dropout_mask(seed, rows, steps=3, heads=5, p=p)
    for i, row in enumerate(rows.tolist()):
        key = mix(mix(mix(mix(seed % 2**32) ^ (seed >> 32)) ^ (row % 2**32)) ^ (row >> 32))
        for t in range(3):
            for head in range(5):
                bits = mix(key ^ ((t * 0x9E3779B9 + head * 0x85EBCA77) % 2**32))
                assert mask[i, t, head] == (bits >= round(p * 2**32))


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
def test_mask_keeps_its_share_along_every_axis(p: float) -> None:
    edges, steps, heads = 20_000, 4, 8
    keep = dropout_mask(42, torch.arange(edges), steps, heads, p).double()
    for axis in ((0,), (0, 1), (0, 2)):
        count = keep.numel() / keep.mean(axis).numel()
        assert (keep.mean(axis) - (1 - p)).abs().max() < 5 * math.sqrt(p * (1 - p) / count)
    # neighbours along each axis, and two seeds, are uncorrelated
    other = dropout_mask(43, torch.arange(edges), steps, heads, p).double()
    pairs = [(keep[1:], keep[:-1]), (keep[:, 1:], keep[:, :-1]), (keep[..., 1:], keep[..., :-1]), (keep, other)]
    for a, b in pairs:
        covariance = (a * b).mean() - a.mean() * b.mean()
        assert abs(covariance) < 5 * p * (1 - p) / math.sqrt(a.numel())


@pytest.mark.parametrize("p", [-0.1, 1.0, math.nan])
def test_rate_out_of_range_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="dropout="):
        dropout_threshold(p)


@pytest.mark.parametrize("relu", [False, True])
def test_rows_of_a_part_are_numbered_as_in_the_whole(isa: str, relu: bool) -> None:
    from justjump.ops.dropout import rows_from

    operation = relu_dropout if relu else dropout
    x = random(50, 19, dtype=torch.float32)
    torch.manual_seed(1)
    whole = operation(x, 0.4)
    for without in (False, True):
        torch.manual_seed(1)
        with rows_from(30), ops.without_native() if without else nullcontext():
            part = operation(x[30:].clone().requires_grad_(), 0.4)
        assert torch.equal(part == 0, whole[30:] == 0)
        torch.testing.assert_close(part, whole[30:])


def test_numbers_of_rows_have_64_bits() -> None:
    """Two parts that are 2^32 rows apart have masks of their own."""
    x, seed = torch.ones(64, 8), torch.tensor(SEED)
    far = 5 * 2**32
    for operation in (native_dropout.dropout, native_dropout.relu_dropout):
        assert torch.equal(operation(x, 0.5, seed, far), reference.dropout(x[:, None], 0.5, SEED, far)[:, 0])
        assert not torch.equal(operation(x, 0.5, seed, far), operation(x, 0.5, seed, 0))


@pytest.mark.parametrize("rate", ["a", None, [0.1], True])
def test_a_rate_is_a_number(rate: Any) -> None:
    with pytest.raises(TypeError, match=r"dropout=.* must be a number in \[0, 1\): choose 0 to switch it off"):
        dropout_threshold(rate)
