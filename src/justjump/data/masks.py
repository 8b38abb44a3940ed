"""Masks: which nodes, or graphs, are for training, validation and test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .errors import DataError

if TYPE_CHECKING:
    from .arrays import Header

Masks = tuple[np.ndarray, np.ndarray, np.ndarray]
# The names of the masks in files and in PyTorch Geometric.
MASK_KEYS = ("train_mask", "val_mask", "test_mask")


def checked_masks(masks: Sequence[np.ndarray], rows: int) -> Masks:
    """Three bool arrays `[rows]`; anything else raises a `DataError`."""
    if len(masks) != 3:
        raise DataError(f"masks must be three arrays (train, val, test), got {len(masks)}")
    train, val, test = (np.asarray(mask) for mask in masks)
    for role, mask in (("train", train), ("val", val), ("test", test)):
        check_mask(mask, role, rows)
    return train, val, test


def check_mask(mask: np.ndarray | Header, role: str, rows: int) -> None:
    """Raise a `DataError` unless a mask, or the header of one in a file, is bool `[rows]`."""
    if mask.shape != (rows,) or mask.dtype != bool:
        raise DataError(
            f"the {role} mask must be bool of shape [{rows}], got {mask.dtype} of shape {list(mask.shape)}"
            + (": choose one column" if mask.ndim == 2 else "")
        )
