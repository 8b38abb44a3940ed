"""The history: its former representations in the standard layout, whatever the layout in memory."""

import pytest
import torch
from torch import Tensor

from helpers import assert_same, gradients
from justjump.nn import DNAConv
from justjump.ops import Adjacency, History, native
from justjump.ops.history import attended_steps
from justjump.ops.layout import Layout
from specification import graph, random

NODES, STEPS, CHANNELS = 21, 4, 15
LAYOUTS = [None, Layout(3, 5, torch.float64)] if native.available() else [None]


@pytest.fixture
def x() -> Tensor:
    return random(NODES, STEPS, CHANNELS)


@pytest.fixture(params=["tensor", "list", "grown"])
def history(request: pytest.FixtureRequest, x: Tensor) -> History:
    if request.param == "tensor":
        return History(x)
    if request.param == "list":
        return History(list(x.unbind(1)))
    grown = History.start(x[:, 0])
    for t in range(1, STEPS):
        grown.append(x[:, t])
    return grown


@pytest.mark.parametrize("layout", LAYOUTS, ids=["standard", "packed"][: len(LAYOUTS)])
def test_representations_are_as_they_were_given(history: History, x: Tensor, layout: Layout | None) -> None:
    history.to_layout(layout)
    assert history.layout == layout
    assert (len(history), history.num_nodes, history.channels) == (STEPS, NODES, CHANNELS)
    assert (history.dtype, history.device) == (torch.float64, torch.device("cpu"))
    for t in range(-STEPS, STEPS):
        assert torch.equal(history[t], x[:, t])
    assert torch.equal(history.newest, x[:, -1])
    assert torch.equal(history.stack(), x)
    assert repr(history) == "History(num_nodes=21, steps=4, channels=15)"
    with pytest.raises(IndexError):
        history[STEPS]
    history.to_layout(None)
    assert torch.equal(history.stack(), x)


@pytest.mark.parametrize("layout", LAYOUTS, ids=["standard", "packed"][: len(LAYOUTS)])
def test_parts(history: History, x: Tensor, layout: Layout | None) -> None:
    history.to_layout(layout)
    assert torch.equal(history[1:3].stack(), x[:, 1:3])
    assert torch.equal(history[-1:].stack(), x[:, -1:])
    nodes = torch.tensor([4, 0, 4])
    assert torch.equal(history.take(nodes).stack(), x[nodes])
    assert torch.equal(history.take(torch.tensor([], dtype=torch.int64)).stack(), x[:0])
    assert history.take(None) is history
    assert history.window(2).take(nodes).attended == [2, 3]
    with pytest.raises(ValueError, match="selects none of the 4 representations"):
        history[2:2]


@pytest.mark.parametrize("layout", LAYOUTS, ids=["standard", "packed"][: len(LAYOUTS)])
def test_append(history: History, x: Tensor, layout: Layout | None) -> None:
    history.to_layout(layout)
    newest = random(NODES, CHANNELS, seed=5)
    history.append(newest)
    assert torch.equal(history.newest, newest)
    for bad in (newest[:7], newest[:, :-1], newest[:, None]):
        with pytest.raises(ValueError, match=r"the representation has shape .*, expected \[21, 15\]"):
            history.append(bad)
    with pytest.raises(TypeError, match="the representation has dtype torch.bfloat16, the others have"):
        history.append(newest.bfloat16())
    history.append_rows(history.rows(0)[:7])  # the first nodes alone: a history of these
    assert torch.equal(history.stack(), torch.cat([x, newest[:, None], x[:, :1]], 1)[:7])


@pytest.mark.parametrize(
    ("size", "keep_first", "steps"),
    [(None, False, [0, 1, 2, 3]), (9, True, [0, 1, 2, 3]), (2, False, [2, 3]), (2, True, [0, 3]), (1, True, [0])],
)
def test_window(history: History, x: Tensor, size: int | None, keep_first: bool, steps: list[int]) -> None:
    window = history.window(size, keep_first)
    assert window.attended == steps == attended_steps(STEPS, size, keep_first)
    assert history.attended == [0, 1, 2, 3]
    assert torch.equal(window.newest, x[:, -1])
    newest, attended = window.operands()
    asked = torch.cat([h if h.dim() == 3 else h[:, None] for h in attended], 1)
    assert torch.equal(asked, x[:, steps])
    assert torch.equal(asked[:, -1] if newest is None else newest, x[:, -1])
    if len(steps) < STEPS:
        with pytest.raises(ValueError, match="a window of a history cannot grow"):
            window.append(x[:, 0])
        assert len(history) == STEPS


def test_a_window_holds_at_least_one() -> None:
    with pytest.raises(ValueError, match="the window is 0, expected at least 1"):
        attended_steps(3, 0)


def test_of_keeps_a_history_and_makes_one(x: Tensor) -> None:
    history = History(x)
    assert History.of(history) is history
    assert torch.equal(History.of(x).stack(), x)
    assert torch.equal(History.of(list(x.unbind(1))).stack(), x)


@pytest.mark.parametrize(
    "bad", [torch.ones(3, 4), torch.ones(3, 0, 4), [], [torch.ones(3)], [torch.ones(3, 4), torch.ones(2, 4)]], ids=str
)
def test_other_shapes_are_refused(bad: Tensor | list[Tensor]) -> None:
    with pytest.raises(ValueError, match="expected"):
        History(bad)


def test_gradients_flow_through_packing(x: Tensor) -> None:
    for layout in LAYOUTS:
        leaf = x.clone().requires_grad_()
        history = History(leaf)
        history.to_layout(layout)
        history.append(history.newest.sin())
        assert_same(gradients(history.stack()[:, 3:], [leaf])[0], _expected_gradient(x))


def _expected_gradient(x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    return gradients(torch.stack([leaf[:, 3], leaf[:, 3].sin()], 1), [leaf])[0]


@pytest.mark.parametrize(("heads", "groups"), [(3, 3), (3, 1), (5, 5), (1, 15)])
def test_a_layer_takes_a_history_in_any_layout(x: Tensor, heads: int, groups: int) -> None:
    """Also in the layout of a layer with other heads, whose rows may have the same size."""
    adj = Adjacency.build(graph("small").edge_index, num_nodes=NODES)
    conv = DNAConv(CHANNELS, heads, groups, window=3).double()
    leaf = x.clone().requires_grad_()
    expected = conv(leaf, adj)
    (expected_grad,) = gradients(expected, [leaf])
    layouts = [None, *(Layout(h, CHANNELS // h, torch.float64) for h in (1, 3, 5, 15))]
    for layout in layouts if native.available() else LAYOUTS:
        history = History(leaf)
        history.to_layout(layout)
        out = conv(history, adj)
        assert history.layout == layout
        assert_same(out, expected)
        assert_same(gradients(out, [leaf])[0], expected_grad)
        conv.extend(history, adj)
        assert_same(history.newest, expected.relu())
