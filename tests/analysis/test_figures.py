"""What is written in the figures can be read."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from justjump.analysis import neighbourhood
from justjump.analysis.attention_statistics import Box
from justjump.analysis.figures import attention_figure, influence_figure, layout, reach_figure, share_ticks, wrapped
from justjump.analysis.receptive_field import ReceptiveFields
from justjump.data import load

LONG = "a name of many words and_one_word_that_does_not_end_" + 30 * "where_a_line_does_"


def influence_of(runs: int, top: float = 0.3, text: str = LONG) -> Figure:
    around = neighbourhood(load("cora"), 5, hops=2)
    shares = np.linspace(top, 0, len(around.nodes))
    return influence_figure(around, [shares] * runs, [text] * runs, [text] * runs, text)


def attention_of(panels: int, boxes: int, text: str = LONG) -> Figure:
    steps = [*range(boxes - 1), None]
    own = [Box(boxes - 1, None, None, step, 9, 0.2, 0.1, 0.15, 0.2, 0.25, 0.9, 1.0) for step in steps]
    return attention_figure([(text, own)] * panels, text)


def reach_of(runs: int, most: int = 9, text: str = LONG) -> Figure:
    field = np.arange(40) % most + 1
    fields = ReceptiveFields(np.full((40, 4), 0.25), field, 2 * field)
    return reach_figure([fields] * runs, [text] * runs, text)


def overlap(first: Text, second: Text) -> bool:
    return bool(first.get_window_extent().overlaps(second.get_window_extent()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "arguments"),
    [
        (influence_of, (1,)),
        (influence_of, (2,)),
        (influence_of, (1, 0.3, "Cora, node 5, Probabilistic Methods: its 2-hop neighbourhood")),
        (attention_of, (1, 2)),
        (attention_of, (1, 21)),
        (attention_of, (3, 2)),
        (attention_of, (8, 6)),
        (attention_of, (5, 11)),
        (reach_of, (1,)),
        (reach_of, (2,)),
    ],
)
def test_all_text_is_inside_the_picture(draw: Callable[..., Figure], arguments: tuple[Any, ...]) -> None:
    figure = draw(*arguments)
    figure.draw_without_rendering()
    (left, bottom), (right, top) = figure.get_tightbbox().get_points()  # of all that is drawn, in inches
    width, height = figure.get_size_inches()
    assert min(left, bottom) >= 0
    assert right <= width
    assert top <= height


def test_notes_of_two_runs_do_not_meet() -> None:
    figure = influence_of(2)
    figure.draw_without_rendering()
    first, second = figure.axes[:2]
    assert not overlap(first.title, second.title)
    assert not overlap(first.xaxis.label, second.xaxis.label)


def test_names_are_not_taken_for_formulas() -> None:
    figure = influence_of(1, text="$ \\frac $")
    figure.draw_without_rendering()
    assert figure.get_suptitle() == "$ \\frac $"


@pytest.mark.parametrize("top", [1.0, 0.62, 0.3, 0.11, 0.05, 0.0033])
def test_numbers_beside_the_colours_keep_apart(top: float) -> None:
    figure = influence_of(1, top)
    figure.draw_without_rendering()
    labels = figure.axes[-1].get_xticklabels()
    assert len(labels) >= 4
    assert not any(overlap(*pair) for pair in pairwise(labels))
    assert [label.get_text() for label in labels] == [f"{100 * tick:g}%" for tick in share_ticks(top)]


@pytest.mark.parametrize("most", [1, 3, 9, 900])
def test_counts_are_whole_numbers(most: int) -> None:
    figure = reach_of(2, most, "DNA 3/16/16/8")
    figure.draw_without_rendering()
    left, right = figure.axes
    hops = [label.get_text() for label in left.get_xticklabels()]
    assert {"0", "1", "2", "3"} <= set(hops)
    assert not any("." in hop for hop in hops)
    low, high = right.get_ylim()
    nodes = [tick for tick in right.get_yticks() if low <= tick <= high]
    assert len(nodes) >= 4
    assert all(tick == round(tick) for tick in nodes)
    assert not any(label.get_text() for label in right.get_yticklabels(minor=True))


@pytest.mark.slow
@pytest.mark.parametrize(("panels", "boxes"), [(1, 6), (8, 6), (5, 11)])
def test_the_largest_weights_stand_above_the_lines_and_below_the_title(panels: int, boxes: int) -> None:
    figure = attention_of(panels, boxes, "head 1")
    figure.draw_without_rendering()
    for panel in figure.axes[:panels]:
        assert [text.get_text() for text in panel.texts] == ["max\n100%"] * boxes
        box, title = panel.get_window_extent(), panel.title.get_window_extent()
        for text in panel.texts:
            place = text.get_window_extent()
            assert box.y1 < place.y0 < place.y1 < title.y0
        names = panel.get_xticklabels()
        assert not any(overlap(*pair) for texts in (panel.texts, names) for pair in pairwise(texts))


def test_representations_are_named_as_in_the_paper() -> None:
    figure = attention_of(1, 3)
    figure.draw_without_rendering()
    names = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert names == ["$h^{(0)}$", "$h^{(1)}$", "refused"]


def test_text_is_wrapped_by_its_width_and_cut_at_last() -> None:
    assert wrapped("short", width=5, size=10) == "short"
    assert wrapped("", width=5, size=10) == ""
    assert wrapped("iiii iiii iiii", 1, 10) == "iiii iiii iiii"
    assert len(wrapped("MMMM MMMM MMMM", 1, 10).splitlines()) == 3
    lines = wrapped(LONG, 2, 10).splitlines()
    assert len(lines) == 3
    assert lines[-1].endswith("…")


def test_the_layout_does_not_change() -> None:
    around = neighbourhood(load("cora"), 0, hops=2)
    places = layout(around)
    assert np.array_equal(places, layout(around))
    assert places.min() == 0
    assert places.max() == 1
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(len(places), 1)]
    assert apart.min() > 0.01
    lonely = neighbourhood(load("cora"), 0, hops=0)
    assert np.isfinite(layout(lonely)).all()
