"""The native DNA layer as an operation of torch, and at the edges of what numbers can do."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from dna_case import DnaCase, Path
from helpers import assert_same
from justjump.ops import native
from justjump.ops.dna import native as dna
from specification import DTYPES, NO_KERNELS, assert_close, check, check_operation, expect, leaves

if not native.available():
    pytest.skip(NO_KERNELS, allow_module_level=True)

FORMS = pytest.mark.parametrize("groups", [8, 2], ids=["folded", "separate"])


@FORMS
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("path", ["tensor", "packed"])
def test_gradcheck(groups: int, unit: bool, path: Path) -> None:
    case = DnaCase((3, ((0, 1), (1, 2), (2, 2), (1, 2))), heads=2, channels=2, groups=groups // 2, steps=2, unit=unit)
    inputs = leaves(case.inputs())
    names = list(inputs)

    def layer(*tensors: Tensor) -> Tensor:
        return case.run(dict(zip(names, tensors, strict=True)), path)

    assert torch.autograd.gradcheck(layer, list(inputs.values()))


@pytest.mark.slow
@FORMS
@pytest.mark.parametrize("path", ["tensor", "packed", "extend"])
@pytest.mark.parametrize("window", [None, 1])
def test_operations_are_well_formed(
    groups: int, path: Path, window: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = DnaCase(groups=groups, window=window, keep_first=window is not None, unit=window is not None)
    for name in ("dna_layer", "dna_layer_backward"):
        check_operation(monkeypatch, dna, name, lambda: case.run(leaves(case.inputs()), path).sum().backward())


@FORMS
def test_second_gradients_are_refused(groups: int) -> None:
    case = DnaCase(groups=groups)
    inputs = leaves(case.inputs())
    x = inputs["history"]
    (grad,) = torch.autograd.grad(case.run(inputs).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="dna_layer_backward"):
        torch.autograd.grad(grad.square().sum(), x)


@FORMS
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("path", ["tensor", "packed"])
def test_extreme_scores_stay_finite_and_right(isa: str, groups: int, unit: bool, path: Path) -> None:
    for dtype in DTYPES:
        for size in (1e4, 1e-30):
            case = DnaCase(groups=groups, dtype=dtype, steps=3, bias=False, unit=unit)
            inputs = dict(case.inputs(), history=case.inputs()["history"] * size)
            out = case.run(leaves(inputs), path)
            # The largest score of a head takes all: rounding of scores of 1e8 moves nothing.
            expected = case.obvious({name: x.double() for name, x in inputs.items()})
            assert_close("the output", (out / size).to(torch.float32), expected / size)
            ours = leaves(inputs)
            grads = torch.autograd.grad(case.run(ours, path).sum(), list(ours.values()))
            assert all(torch.isfinite(grad).all() for grad in grads)


@FORMS
@pytest.mark.parametrize("path", ["tensor", "packed"])
def test_zero_queries_and_keys_have_no_direction(isa: str, groups: int, path: Path) -> None:
    """Their scores are zero, and their gradients are those of the obvious version: finite."""
    for dtype in DTYPES:
        case = DnaCase(groups=groups, dtype=dtype, steps=3, bias=False, unit=True, dropout=0.0)
        inputs = case.inputs()
        inputs["history"][:5] = inputs["history"][:, 1] = 0
        check(lambda x: case.run(x, path), inputs, expect(case.obvious, inputs, relu=False))  # noqa: B023


@FORMS
def test_the_lengths_of_queries_and_keys_do_not_count(groups: int) -> None:
    case = DnaCase(groups=groups, unit=True, bias=False)
    inputs = case.inputs()
    longer = {**inputs, "query": inputs["query"] * 1000, "key": inputs["key"] * 30}
    assert_close("the output", case.run(longer), case.run(inputs), size=1e9)  # but for epsilon


@pytest.mark.parametrize(
    ("bad", "groups"), [(math.nan, 4), (math.nan, 8), (math.nan, 2), (math.inf, 4), (-math.inf, 2)]
)
@pytest.mark.parametrize("dropout", [0.0, 0.9])
def test_undefined_rows_spread_as_in_the_obvious_version(isa: str, bad: float, groups: int, dropout: float) -> None:
    """Infinite numbers of a group within a head reach the score in another way in the folded form: not tested."""
    for dtype in DTYPES:
        case = DnaCase(groups=groups, dtype=dtype, dropout=dropout, steps=3)
        inputs = dict(case.inputs(), edge_weight=torch.ones_like(case.inputs()["edge_weight"]))
        inputs["history"][4, 0, 5] = inputs["history"][11, 2, 10] = bad
        spread, expected = (~torch.isfinite(out) for out in (case.run(inputs), case.obvious(inputs)))
        if dropout:  # an undefined weight that is dropped is 0 here, and 0 * NaN in the obvious version
            assert not (spread & ~expected).any()
            spread, expected = spread.any(1), expected.any(1)
        assert torch.equal(spread, expected)
        assert spread.any()
        assert not spread.all()


@FORMS
@pytest.mark.parametrize("path", ["tensor", "list", "packed", "extend"])
def test_tensors_as_they_lie(groups: int, path: Path) -> None:
    case = DnaCase(groups=groups, steps=3, unit=True)
    inputs = case.inputs()
    expected = case.results(path)
    lies: list[Callable[[Tensor], Tensor]] = [
        lambda x: x.mT.contiguous().mT if x.dim() > 1 else x.repeat_interleave(2)[::2],
        lambda x: torch._neg_view(-x),
        lambda x: x.permute(*range(x.dim())[::-1]).contiguous().permute(*range(x.dim())[::-1]),
    ]
    for lie in lies:
        ours = {name: lie(x).requires_grad_() for name, x in inputs.items()}
        out = case.run(ours, path)
        assert_same(out, expected[0])
    row = inputs["history"][:1].expand(inputs["history"].shape)
    assert_same(case.run({**inputs, "history": row}, path), case.run({**inputs, "history": row.contiguous()}, path))


@FORMS
def test_gradients_without_memory_of_their_own(groups: int) -> None:
    case = DnaCase(groups=groups)
    inputs = leaves(case.inputs())
    out, ones = case.run(inputs), torch.ones(1, 1, dtype=case.dtype)
    (a,) = torch.autograd.grad(out, inputs["history"], ones.expand(out.shape), retain_graph=True)
    (b,) = torch.autograd.grad(out, inputs["history"], ones.expand(out.shape).contiguous())
    assert torch.equal(a, b)


@FORMS
@pytest.mark.parametrize("path", ["tensor", "packed"])
def test_saved_tensors_may_come_back_as_copies(groups: int, path: Path) -> None:
    case, grads = DnaCase(groups=groups, unit=True), []
    for back in (lambda x: x, lambda x: x.T.contiguous().T if x.dim() == 2 else x.clone()):
        inputs = leaves(case.inputs())
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, back):
            case.run(inputs, path).sum().backward()
        grads.append(inputs["history"].grad)
    assert grads[0] is not None
    assert grads[1] is not None
    assert torch.equal(grads[0], grads[1])


@FORMS
@pytest.mark.parametrize("frozen", ["history", "query", "key_bias", "edge_weight", "weights", "all but history"])
def test_what_needs_no_gradient_gets_none(groups: int, frozen: str) -> None:
    case = DnaCase(groups=groups)
    inputs = leaves(case.inputs())
    names = {"weights": list(inputs)[1:-1], "all but history": list(inputs)[1:]}.get(frozen, [frozen])
    for name in names:
        inputs[name].requires_grad_(False)
    case.run(inputs).square().sum().backward()
    full = leaves(case.inputs())
    case.run(full).square().sum().backward()
    for name, x in inputs.items():
        if name in names:
            assert x.grad is None
        else:
            assert_same(_grad(x), _grad(full[name]))


def _grad(x: Tensor) -> Tensor:
    assert x.grad is not None
    return x.grad


@FORMS
def test_rows_that_change_before_backward_are_noticed(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Backward reads the rows of a packed history."""
    case = DnaCase(groups=groups)
    inputs = leaves(case.inputs())
    history = case.history(inputs["history"], "packed")
    monkeypatch.setattr(DnaCase, "history", lambda *_: history)
    out = case.run(inputs, "packed")
    with torch.no_grad():
        history.rows(0).add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_mixed_dtypes_are_refused() -> None:
    case = DnaCase()
    inputs = case.inputs()
    with pytest.raises(TypeError, match="x has dtype torch.float64, but the layer has torch.float32"):
        case.run({**inputs, "query": inputs["query"].float()})
    with pytest.raises(TypeError, match="edge_weight has dtype torch.float32, expected torch.float64"):
        case.run({**inputs, "edge_weight": inputs["edge_weight"].float()})


@FORMS
def test_evaluation_gives_the_bits_of_training(groups: int) -> None:
    case = replace(DnaCase(), groups=groups)
    training = case.run(leaves(case.inputs()))
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert torch.equal(case.run(case.inputs()), training)


@pytest.mark.slow
def test_a_hub_of_a_million_edges() -> None:
    edges = [(source, 0) for source in torch.randint(1000, (1_000_000,)).tolist()]
    case = DnaCase((1000, tuple(edges)), heads=8, channels=2, groups=8)
    case.check()
