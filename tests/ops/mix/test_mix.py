"""Mixed rows and ReLU: one pass with the bits of PyTorch's operations one by one."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from justjump.ops import mix_relu
from justjump.ops.mix import native, reference
from specification import DTYPES, Inputs, check_operation, random, results


def fast(share: float) -> Callable[[Inputs], Tensor]:
    return lambda inputs: mix_relu(inputs["x"], inputs["other"], share)


def obvious(share: float) -> Callable[[Inputs], Tensor]:
    return lambda inputs: reference.mix_relu(inputs["x"], inputs["other"], share)


def check_rows(rows: int, width: int, share: float, dtype: torch.dtype) -> None:
    inputs = {"x": random(rows, width, dtype=dtype), "other": random(rows, width, dtype=dtype)}
    for ours, theirs in zip(results(fast(share), inputs), results(obvious(share), inputs), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_native(share: float) -> None:
    for dtype in DTYPES:
        for rows, width in ((130, 1), (130, 7), (3, 16), (1, 50), (0, 5)):
            check_rows(rows, width, share, dtype)


@pytest.mark.usefixtures("kernels_off")
def test_pytorch() -> None:
    check_rows(130, 7, 0.3, torch.float64)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.integers(0, 70), width=st.integers(1, 40), share=st.floats(0.0, 1.0), dtype=st.sampled_from(DTYPES))
def test_any_rows(rows: int, width: int, share: float, dtype: torch.dtype) -> None:
    check_rows(rows, width, share, dtype)


def test_rows_with_gaps_and_no_number() -> None:
    wide = random(20, 30, dtype=torch.float32)
    x, other = wide[:, 3:11], wide[:, 15:23]
    assert torch.equal(mix_relu(x, other, 0.3), reference.mix_relu(x, other, 0.3))
    odd = torch.tensor([[float("nan"), float("inf"), -float("inf"), -0.0]], requires_grad=True)
    out = mix_relu(odd, torch.zeros(1, 4), 0.5)
    assert out[0, 0].isnan()
    assert out[0, 1:].tolist() == [float("inf"), 0.0, 0.0]
    out.sum().backward()
    assert odd.grad is not None
    assert odd.grad.tolist() == [[0.5, 0.5, 0.0, 0.0]]  # as by torch.relu, through which no-number passes


def test_threads_give_the_same_bits(threads: Callable[[int | None], None]) -> None:
    inputs = {"x": random(3000, 17, dtype=torch.float32), "other": random(3000, 17, dtype=torch.float32)}
    threads(1)
    expected = results(fast(0.3), inputs)
    for number in (2, 3, 70):
        threads(number)
        again = results(fast(0.3), inputs)
        assert all(torch.equal(a, b) for a, b in zip(again, expected, strict=True)), number


def test_gradcheck() -> None:
    x, other = random(4, 6).requires_grad_(), random(4, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, other: mix_relu(x, other, 0.3), (x, other))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mix_relu", "mix_relu_backward"])
def test_operations_are_well_formed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def call() -> None:
        x, other = random(4, 6).requires_grad_(), random(4, 6).requires_grad_()
        mix_relu(x, other, 0.3).sum().backward()

    check_operation(monkeypatch, native, name, call)


def test_shapes_are_the_same() -> None:
    with pytest.raises(ValueError, match=r"x and other have shapes \[3, 2\] and \[2, 2\], expected the same"):
        mix_relu(torch.ones(3, 2), torch.ones(2, 2), 0.3)
