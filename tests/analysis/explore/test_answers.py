"""Scales of colours."""

import numpy as np

from justjump.analysis.explore.answers import level, spread


def test_a_scale_leaves_out_what_is_far_off() -> None:
    low, high = spread(np.append(np.linspace(0, 1, 1000), 1e9))
    assert 0 <= low < 0.02
    assert 0.98 < high < 1
    assert spread(np.full(3, np.nan)) == (0.0, 1.0)


def test_a_level_is_within_its_scale() -> None:
    assert [level(value, 10, 20) for value in (5, 10, 12.5, 99)] == [0.0, 0.0, 0.25, 1.0]
