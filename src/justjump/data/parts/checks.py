"""Checks of the indices of a part: native code trusts them, and files may hold anything."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import DataError

_AGAIN = "copy the file again, or partition the graph again"


def check_pointer(path: Path, pointer: np.ndarray, entries: int) -> None:
    """Raise a `DataError` unless a pointer `[R + 1]` ascends from 0 to the number of entries."""
    if pointer[0] != 0 or pointer[-1] != entries or (pointer[1:] < pointer[:-1]).any():
        raise DataError(f"{path} must ascend from 0 to {entries}, but does not: {_AGAIN}")


def check_numbers(path: Path, numbers: np.ndarray, size: int, lowest: int = 0) -> None:
    """Raise a `DataError` unless all numbers are in `lowest .. size - 1`."""
    if numbers.size and not lowest <= numbers.min() <= numbers.max() < size:
        bad = numbers.min() if numbers.min() < lowest else numbers.max()
        raise DataError(f"{path} holds {bad}, expected numbers from {lowest} to {size - 1}: {_AGAIN}")


def check_halo(path: Path, halo: np.ndarray, pointer: np.ndarray, ranges: np.ndarray, part: int) -> None:
    """Raise a `DataError` unless the halo ascends, holds nodes of other parts, and the pointer `[P + 1]` groups it."""
    check_numbers(path, halo, int(ranges[-1]))
    if (halo[1:] <= halo[:-1]).any():
        raise DataError(f"{path} must ascend, but does not: {_AGAIN}")
    if not np.array_equal(pointer, np.searchsorted(halo, ranges)) or pointer[part] != pointer[part + 1]:
        raise DataError(f"{path} does not fit halo_ptr.npy and the ranges of the parts: {_AGAIN}")


def check_known(path: Path, values: np.ndarray, task: str) -> None:
    """Raise a `DataError` unless labels of several columns are numbers of the task, or NaN."""
    good = ~np.isinf(values) if task == "regression" else np.isnan(values) | (values == 0) | (values == 1)
    if not good.all():
        wanted = "finite numbers" if task == "regression" else "0 or 1"
        raise DataError(f"{path} holds {values[~good][0]:g}, expected {wanted}, or NaN for unknown: {_AGAIN}")


def check_finite(path: Path, values: np.ndarray, lowest: float = -np.inf) -> None:
    """Raise a `DataError` unless all values are finite and not below `lowest`."""
    if values.size and not (np.isfinite(values.max()) and np.isfinite(values.min()) and values.min() >= lowest):
        wanted = "finite numbers" if lowest < 0 else "finite numbers that are not negative"
        raise DataError(f"{path} holds a value that is none of {wanted}: {_AGAIN}")
