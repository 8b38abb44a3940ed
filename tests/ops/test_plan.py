"""The plan of a layer: the one place that decides how it is computed."""

import pytest
import torch

from justjump.nn import DNAConv
from justjump.ops import History, Plan, native, plan
from justjump.ops.layout import Layout
from specification import needs_kernels


def choose(x: torch.Tensor, heads: int = 8, groups: int = 16, edges: int = 100, window: int | None = None) -> Plan:
    return Plan.choose(History(x).window(window), edges=edges, heads=heads, groups=groups)


@needs_kernels
@pytest.mark.parametrize(
    ("heads", "groups", "form"),
    [
        (8, 16, "folded"),
        (8, 8, "folded"),
        (1, 1, "folded"),
        (8, 4, "separate"),
        (8, 1, "separate"),
        (16, 8, "separate"),
    ],
)
def test_groups_decide_the_form(heads: int, groups: int, form: str) -> None:
    for dtype in (torch.float32, torch.float64):
        chosen = choose(torch.empty(5, 2, 128, dtype=dtype), heads, groups)
        assert chosen.form == form
        assert chosen.layout == Layout(heads, 128 // heads, dtype)
        assert chosen.by_community == (form == "separate")
        assert f"groups={groups} is {'a' if form == 'folded' else 'no'} multiple of heads={heads}" in chosen.reason


@needs_kernels
@pytest.mark.parametrize(
    ("x", "reason"),
    [
        (torch.empty(5, 2, 128, dtype=torch.bfloat16), "take float32 and float64, not torch.bfloat16"),
        (torch.empty(0, 2, 128), "there are no nodes"),
        (torch.empty(5, 2, 128, device="meta"), "run on the CPU, not on meta"),
    ],
)
def test_what_the_kernels_do_not_take_goes_to_pytorch(x: torch.Tensor, reason: str) -> None:
    chosen = choose(x)
    assert chosen.form == "torch"
    assert chosen.layout is None
    assert not chosen.keeps_scores
    assert reason in str(chosen)


@pytest.mark.usefixtures("kernels_off")
def test_without_kernels_pytorch_does_all() -> None:
    chosen = choose(torch.empty(5, 2, 128))
    assert chosen.form == "torch"
    assert chosen.reason == native.why_not()


@needs_kernels
def test_scores_are_kept_up_to_a_size() -> None:
    x = torch.empty(5, 4, 128)
    border = plan.SCORE_BYTES // (4 * 8 * 4)  # edges of T * P numbers of 4 bytes
    assert choose(x, edges=border).keeps_scores
    assert not choose(x, edges=border + 1).keeps_scores
    assert choose(x, edges=2 * border, window=2).keeps_scores
    assert not choose(torch.empty(5, 4, 125), heads=5, groups=5, edges=border + 1).keeps_scores  # padded to eight heads
    assert not choose(x.double(), edges=border).keeps_scores
    assert choose(x, groups=1, edges=10 * border).keeps_scores  # the separate form has no other way


@needs_kernels
def test_a_plan_prints_what_it_does() -> None:
    assert str(choose(torch.empty(5, 2, 128), groups=16, edges=10**6)) == (
        "folded: the history itself is gathered per edge; the projections are applied to queries and aggregates, "
        "because groups=16 is a multiple of heads=8: every head sees its own channels only; rows are packed, "
        "128 numbers each; backward computes again the gradients of the scores"
    )
    assert str(choose(torch.empty(5, 2, 128), groups=1)).endswith("communities of nodes are visited together")


def test_a_layer_follows_its_plan() -> None:
    """Half precision takes the torch form, and gives nearly the same numbers."""
    conv, x, edges = DNAConv(16, 4, 2), torch.randn(9, 2, 16), torch.randint(9, (2, 30))
    half = conv.bfloat16()(x.bfloat16(), edges)
    assert half.dtype == torch.bfloat16
    assert (half.float() - conv.float()(x.bfloat16().float(), edges)).abs().max() < 0.1
