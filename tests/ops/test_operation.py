"""Operations with and without torch's dispatcher."""

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from helpers import assert_same
from justjump.nn import GroupedLinear
from justjump.ops import native
from justjump.ops.operation import is_traced, operation


def _sum(xs: list[Tensor], y: Tensor | None, factor: float) -> tuple[Tensor, Tensor]:
    total = torch.stack(xs).sum(0)
    return (total if y is None else total + y) * factor, total


@operation("justjump_tests::sum", learned=2)
def weighted_sum(xs: list[Tensor], y: Tensor | None, factor: float) -> tuple[Tensor, Tensor]:
    return _sum(xs, y, factor)


@weighted_sum.register_fake
def _(xs, y, factor):
    return torch.empty_like(xs[0]), torch.empty_like(xs[0])


def _save(learned, constants, output):
    xs, y = learned
    return [*xs, y]


def _gradient(grad, saved, constants):
    *xs, y = saved
    (factor,) = constants
    return [grad * factor for _ in xs], None if y is None else grad * factor


weighted_sum.register_gradient(_save, _gradient)


@operation("justjump_tests::double")
def double(x: Tensor) -> Tensor:
    return x * 2


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def test_lists_and_missing_inputs() -> None:
    xs = [leaf(3), leaf(3), leaf(3)]
    for y in (leaf(3), None):
        out = weighted_sum(xs, y, 2.0)
        assert isinstance(out, Tensor)  # what is for backward stays inside
        assert_same(out, _sum(xs, y, 2.0)[0])
        inputs = [*xs, *([] if y is None else [y])]
        for grad in torch.autograd.grad(out.sum(), inputs):
            assert grad.tolist() == [2.0] * 3
        assert torch.autograd.gradcheck(lambda *xs: weighted_sum(list(xs), None, 2.0), xs)  # undefined gradients, too
    with torch.no_grad():
        assert not weighted_sum(xs, None, 2.0).requires_grad


@pytest.mark.slow
def test_is_well_formed() -> None:
    torch.library.opcheck(weighted_sum._traced, ([leaf(3), leaf(3)], leaf(3), 2.0))


def test_an_operation_without_gradient_says_so() -> None:
    x = leaf(3)
    assert torch.equal(double(x.detach()), x.detach() * 2)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        double(x).sum().backward()


def test_tracing_is_noticed() -> None:
    x, seen = torch.randn(3), []
    assert not is_traced(x, None, 3)

    def f(x: Tensor) -> Tensor:
        seen.append(is_traced(x))
        return x * 2

    make_fx(f)(x)
    torch.func.vmap(f)(x)
    torch.func.grad(lambda x: f(x).sum())(x)
    assert seen == [True] * 3


def test_transforms_see_the_operation() -> None:
    with pytest.raises(RuntimeError, match="functorch transforms"):  # torch refuses, for operations of its library
        torch.func.grad(lambda x: weighted_sum([x, x], None, 3.0).sum())(torch.ones(3))
    assert "justjump_tests" in make_fx(lambda x: weighted_sum([x], None, 3.0))(torch.ones(3)).code


@pytest.mark.skipif(not native.available(), reason="without the kernels these are torch's own operations")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*torch.jit.*:DeprecationWarning")
def test_a_traced_layer_records_the_operations() -> None:
    linear, x, y = GroupedLinear(16, 16, 4), torch.randn(5, 16), torch.randn(5, 16)
    traced = make_fx(linear)(x)
    assert "justjump" in traced.code
    assert_same(traced(y), linear(y))
    assert_same(torch.jit.trace(linear, x)(y), linear(y))
