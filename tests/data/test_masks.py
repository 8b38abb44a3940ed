from __future__ import annotations

import numpy as np
import pytest

from justjump.data import DataError
from justjump.data.masks import checked_masks


def test_three_masks_stay_as_they_are() -> None:
    masks = list(np.eye(3, dtype=bool))
    assert [mask.tolist() for mask in checked_masks(masks, 3)] == [mask.tolist() for mask in masks]


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ((np.ones(3, bool),), "three arrays .*got 1"),
        ((np.ones(3, bool), np.ones(2, bool), np.ones(3, bool)), r"val mask must be bool of shape \[3\], .* \[2\]"),
        ((np.ones(3, int),) * 3, "train mask must be bool"),
        ((np.ones((3, 2), bool),) * 3, "choose one column"),
    ],
)
def test_errors_name_the_mask(masks: tuple[np.ndarray, ...], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        checked_masks(masks, 3)
    assert "\n" not in str(caught.value)
