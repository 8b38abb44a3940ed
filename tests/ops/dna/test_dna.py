"""Every way to compute a DNA layer agrees with the obvious version, in its output and in every gradient."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dna_case import PATHS, PYTORCH_PATHS, DnaCase, Path
from justjump import ops
from justjump.ops import Adjacency, blocks, matrix, native, plan
from justjump.ops.plan import Form
from specification import DROPOUTS, DTYPES, GRAPHS, graph, graphs, switch_kernels_off

FOLDED, SEPARATE = DnaCase(groups=8), DnaCase(groups=2)
# heads, channels per head, groups: heads that fill no vector, one, or several; groups within a head and across heads
SIZES: dict[tuple[int, int, int], Form] = {
    (1, 1, 1): "folded",
    (1, 5, 5): "folded",
    (3, 2, 2): "separate",
    (3, 5, 3): "folded",
    (3, 5, 1): "separate",
    (4, 4, 8): "folded",
    (5, 7, 1): "separate",
    (8, 8, 4): "separate",
    (8, 16, 16): "folded",
    (8, 16, 1): "separate",
    (16, 8, 8): "separate",
    (16, 8, 32): "folded",
    (20, 3, 60): "folded",
    (32, 2, 1): "separate",
}
WINDOWS = [(1, False), (2, False), (1, True), (2, True), (9, False)]


def cases() -> list[DnaCase]:
    """Each property of a layer, once in each form."""
    made = [DnaCase(heads=h, channels=c, groups=g, dtype=dtype) for h, c, g in SIZES for dtype in DTYPES]
    for groups in (8, 2):
        made += [DnaCase(name, groups=groups, dtype=dtype) for name in GRAPHS for dtype in DTYPES]
        made += [DnaCase(groups=groups, steps=steps, dropout=0.8) for steps in range(1, 9)]
        made += [DnaCase(groups=groups, dropout=p, seed=-(2**40)) for p in DROPOUTS]
        made += [DnaCase(groups=groups, steps=4, window=size, keep_first=first) for size, first in WINDOWS]
        made += [DnaCase(groups=groups, targets=n, bias=n == 7, steps=3) for n in (0, 1, 7)]
        made += [DnaCase(groups=groups, bias=False, dtype=dtype) for dtype in DTYPES]
        made += [DnaCase("hub", groups=groups, steps=3, dropout=p, step_bias=True) for p in (0.0, 0.8)]
        made += [DnaCase(heads=h, channels=c, groups=groups * h // 4, step_bias=True) for h, c in ((4, 4), (20, 2))]
        made += [DnaCase("hub", groups=groups, targets=20, window=2, keep_first=True, steps=3)]
        made += [
            DnaCase(name, groups=groups, unit=True, dropout=0.6, dtype=dtype) for name in GRAPHS for dtype in DTYPES
        ]
        made += [DnaCase("hub", groups=groups, targets=20, window=2, keep_first=True, steps=3, unit=True)]
        made += [DnaCase(groups=groups, unit=True, bias=bias, step_bias=True, steps=3) for bias in (False, True)]
        made += [DnaCase(groups=groups, unit=True, targets=n, dropout=0.0) for n in (0, 7)]
    made += [DnaCase(heads=h, channels=c, groups=g, unit=True, dtype=dtype) for h, c, g in SIZES for dtype in DTYPES]
    return list(dict.fromkeys(made))


def name(case: DnaCase) -> str:
    """What sets a case apart."""
    fields = vars(FOLDED).items()
    return ",".join(f"{field}={vars(case)[field]}" for field, usual in fields if vars(case)[field] != usual)


@pytest.mark.parametrize("case", cases(), ids=name)
def test_native(isa: str, case: DnaCase) -> None:
    assert case.plan().form == ("folded" if case.groups % case.heads == 0 else "separate")
    for path in PATHS:
        case.check(path)


@pytest.mark.usefixtures("kernels_off")
@pytest.mark.parametrize("case", cases(), ids=name)
def test_pytorch(case: DnaCase) -> None:
    assert case.plan().form == "torch"
    for path in PYTORCH_PATHS:
        case.check(path)


@pytest.mark.usefixtures("kernels_off")
@pytest.mark.parametrize("case", [FOLDED, DnaCase("empty"), DnaCase("hub", dropout=0.8)], ids=name)
def test_pytorch_in_small_blocks(case: DnaCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ELEMENTS", 400)
    case.check()


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_each_size_takes_its_form(size: tuple[int, int, int]) -> None:
    heads, channels, groups = size
    chosen = DnaCase(heads=heads, channels=channels, groups=groups).plan()
    assert chosen.form == (SIZES[size] if native.available() else "torch")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "case",
    [
        FOLDED,
        DnaCase("hub", steps=3, step_bias=True),
        DnaCase(dropout=0.0, window=1, steps=2, step_bias=True),
        DnaCase("hub", steps=3, step_bias=True, unit=True),
        DnaCase(heads=16, groups=32, unit=True, targets=9),
    ],
    ids=name,
)
def test_scores_computed_twice(isa: str, case: DnaCase, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The form for layers whose gradients of the scores do not fit into the cache."""
    assert case.plan().keeps_scores
    monkeypatch.setattr(plan, "SCORE_BYTES", 0)
    assert not case.plan().keeps_scores
    case.check(path)


@pytest.mark.parametrize("case", [FOLDED, SEPARATE, DnaCase(groups=2, targets=7)], ids=name)
def test_wide_indices(isa: str, case: DnaCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "INT32_MAX", 10)
    assert case.adjacency(case.inputs()).col.dtype == torch.int64
    case.check()


@pytest.mark.parametrize(("groups", "unit"), [(1, False), (8, False), (16, False), (1, True), (8, True), (16, True)])
@pytest.mark.parametrize("path", ["tensor", "extend"])
def test_threads_give_the_same_bits(
    isa: str,
    threads: Callable[[int | None], None],
    groups: int,
    unit: bool,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for dtype in DTYPES:
        case = DnaCase("large", heads=8, groups=groups, steps=3, dtype=dtype, dropout=0.5, unit=unit)
        if groups == 16:
            monkeypatch.setattr(plan, "SCORE_BYTES", 0)
        threads(1)
        expected = case.results(path)
        for number in (2, 3, 70):
            threads(number)
            again = case.results(path)
            assert all(torch.equal(a, b) for a, b in zip(again, expected, strict=True)), number


def test_the_order_of_targets_changes_no_bit(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = DnaCase("hub", groups=2)
    assert case.plan().by_community
    ordered = case.run(case.inputs())
    monkeypatch.setattr("justjump.ops.Adjacency.order", None)
    assert torch.equal(case.run(case.inputs()), ordered)


@st.composite
def any_case(draw: st.DrawFn) -> DnaCase:
    spec = draw(graphs())
    heads, channels = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    divisors = [g for g in range(1, heads * channels + 1) if heads * channels % g == 0]
    window = draw(st.none() | st.integers(1, 3))
    return DnaCase(
        spec,
        heads,
        channels,
        groups=draw(st.sampled_from(divisors)),
        steps=draw(st.integers(1, 4)),
        dtype=draw(st.sampled_from(DTYPES)),
        dropout=draw(st.sampled_from(DROPOUTS)),
        seed=draw(st.integers(-(2**63), 2**63 - 1)),
        bias=draw(st.booleans()),
        window=window,
        keep_first=window is not None and draw(st.booleans()),
        targets=draw(st.none() | st.integers(0, graph(spec).num_nodes)),
        step_bias=draw(st.booleans()),
        unit=draw(st.booleans()),
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=any_case(), path=st.sampled_from(PATHS))
def test_any_layer(isa: str, case: DnaCase, path: Path) -> None:
    case.check(path)


@pytest.mark.usefixtures("kernels_off")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=any_case(), path=st.sampled_from(PYTORCH_PATHS))
def test_any_layer_by_pytorch(case: DnaCase, path: Path) -> None:
    case.check(path)


@pytest.mark.parametrize("kernels", [True, False])
def test_a_graph_without_weights_is_refused(kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels:
        switch_kernels_off(monkeypatch)
    adj = Adjacency.build(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    square = torch.ones(2, 2, 2)
    with pytest.raises(ValueError, match=r"has no weights: call with_self_loops\(\)\.normalized\(\)"):
        ops.dna_conv(
            ops.History(torch.ones(3, 2, 4)), ops.Projections(square, None, square, None, square, None), adj, 2
        )
