"""Small figures of the page."""

from typing import Any

import numpy as np

from justjump.analysis.explore.drawings import MOST_POINTS, calibration_figure, round_numbers, scatter_figure
from page_text import page_text


def parts(figure: Any, kind: str) -> list[dict[str, Any]]:
    return [part for part in figure.children[0]["props"]["children"] if part["type"] == kind]


def test_a_calibration_figure_has_a_dot_for_each_point() -> None:
    curve = [(0.55, 0.5, 10), (0.95, 0.9, 90)]
    (figure,) = calibration_figure(curve, "the test nodes")
    small, large = parts(figure, "circle")
    assert float(small["props"]["r"]) < float(large["props"]["r"])
    assert float(small["props"]["cy"]) > float(large["props"]["cy"])
    assert "Calibration error 5.0%" in page_text(figure.children[1])
    assert calibration_figure([], "nothing") == []


def test_a_scatter_figure_goes_to_nodes_and_leaves_out_unknown_ones() -> None:
    (figure,) = scatter_figure(np.array([1.0, np.nan, 3.0]), np.array([2.0, 2.0, 3.0]), [10, 11, 12], "rent")
    assert [dot["props"]["data-node"] for dot in parts(figure, "circle")] == ["10", "12"]
    assert scatter_figure(np.array([np.nan]), np.array([1.0]), [0], "rent") == []


def test_a_large_scatter_figure_draws_some() -> None:
    many = np.arange(MOST_POINTS * 2.0)
    (figure,) = scatter_figure(many, many, list(range(len(many))), "rent")
    assert len(parts(figure, "circle")) == MOST_POINTS
    assert "1,500 of 3,000 are drawn" in page_text(figure.children[1])


def test_round_numbers_are_few() -> None:
    for low, high in ((0, 1), (-3e-5, 2e-5), (1e6, 1.3e6), (5, 6)):
        assert 2 <= len(round_numbers(low, high)) <= 6
