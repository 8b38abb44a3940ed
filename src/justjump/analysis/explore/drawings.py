"""Small figures of the page, as elements of SVG that explore.js makes. Their colours are in explore.css."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from dash import html

from justjump.analysis.explore.answers import Content
from justjump.analysis.summaries import shown_number
from justjump.train.measures import calibration_error

LEFT, TOP, SIZE, BELOW = 52, 22, 190, 36  # of a square figure, and the room for its axes
MOST_POINTS = 1500


def calibration_figure(curve: Sequence[tuple[float, float, int]], what: str) -> list[Content]:
    """Confidence and share of right predictions.

    Args:
        curve: what :func:`justjump.train.measures.calibration` returns
        what: what is predicted, such as "test nodes"
    """
    if not curve:
        return []
    most = max(count for _, _, count in curve)
    ticks = [(share, f"{share:.0%}") for share in (0.0, 0.5, 1.0)]
    line = " ".join(f"{_x(confidence):.1f},{_y(right):.1f}" for confidence, right, _ in curve)
    points = [
        _svg(
            "circle",
            _svg("title", f"{confidence:.0%} sure: {right:.1%} of {count:,} are right"),
            cx=f"{_x(confidence):.1f}",
            cy=f"{_y(right):.1f}",
            r=f"{2.5 + 5.5 * (count / most) ** 0.5:.1f}",
        )
        for confidence, right, count in curve
    ]
    error = calibration_error(list(curve))
    text = f"Calibration error {error:.1%}. Below the line, the run is surer than it is right; larger dots count more."
    drawn = [_axes(ticks, ticks, "how sure", "share right"), _diagonal(), _svg("polyline", points=line), *points]
    return [_figure(drawn, f"Calibration of {what}", text)]


def scatter_figure(true: np.ndarray, predicted: np.ndarray, nodes: Sequence[int], name: str) -> list[Content]:
    """Predicted numbers over true ones ``[n]``; a click on a dot shows its node."""
    known = np.flatnonzero(np.isfinite(true) & np.isfinite(predicted))
    if not len(known):
        return []
    both = np.concatenate([true[known], predicted[known]])
    low, high = float(both.min()), float(both.max())
    high = high if high > low else low + 1
    shown = known[:: -(-len(known) // MOST_POINTS)]
    ticks = [((value - low) / (high - low), shown_number(value)) for value in round_numbers(low, high)]
    points = [
        _svg(
            "circle",
            _svg("title", f"true {shown_number(true[one])}, predicted {shown_number(predicted[one])}"),
            cx=f"{_x((true[one] - low) / (high - low)):.1f}",
            cy=f"{_y((predicted[one] - low) / (high - low)):.1f}",
            r="2.6",
            **{"data-node": str(nodes[one])},
        )
        for one in shown.tolist()
    ]
    some = f"{len(shown):,} of {len(known):,} are drawn. " if len(shown) < len(known) else ""
    drawn = [_axes(ticks, ticks, "true", "predicted"), _diagonal(), *points]
    return [_figure(drawn, f"Predicted and true {name}", f"{some}On the line, the prediction is exact.", "scatter")]


def round_numbers(low: float, high: float) -> list[float]:
    """Three to six round numbers in a range.

    >>> round_numbers(-440.3, 2514)
    [0.0, 1000.0, 2000.0]
    """
    size = 10.0 ** math.floor(math.log10(high - low))
    step = next(step for step in (size / 5, size / 2, size, 2 * size) if (high - low) / step < 5)
    return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _x(share: float) -> float:
    return LEFT + SIZE * share


def _y(share: float) -> float:
    return TOP + SIZE * (1 - share)


def _diagonal() -> Content:
    return _svg("line", className="diagonal", x1=_x(0), y1=_y(0), x2=_x(1), y2=_y(1))


def _axes(across: list[tuple[float, str]], up: list[tuple[float, str]], x_name: str, y_name: str) -> Content:
    parts = [_svg("rect", x=LEFT, y=TOP, width=SIZE, height=SIZE)]
    parts += [_svg("text", text, x=_x(share), y=_y(0) + 15, **{"text-anchor": "middle"}) for share, text in across]
    parts += [_svg("text", text, x=LEFT - 6, y=_y(share) + 4, **{"text-anchor": "end"}) for share, text in up]
    parts.append(_svg("text", x_name, x=_x(1), y=_y(0) + 31, className="axis", **{"text-anchor": "end"}))
    parts.append(_svg("text", y_name, x=LEFT, y=TOP - 8, className="axis"))
    return _svg("g", *parts, className="axes")


def _figure(drawn: list[Content], title: str, text: str, kind: str = "calibration") -> Content:
    box = f"0 0 {LEFT + SIZE + 16} {TOP + SIZE + BELOW}"
    picture = _svg("svg", *drawn, viewBox=box, role="img", className=kind, **{"aria-label": f"{title}. {text}"})
    return html.Figure([picture, html.Figcaption([html.B(title), html.Span(text)])])


def _svg(kind: str, *children: Any, **attributes: Any) -> Content:
    """An element as explore.js reads it."""
    values = {name: value if isinstance(value, str) else f"{value:g}" for name, value in attributes.items()}
    return {"type": kind, "namespace": "svg", "props": {"children": list(children), **values}}
