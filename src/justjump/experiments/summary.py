"""Accuracy over several splits."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from justjump.experiments.words import count


class Summary(NamedTuple):
    """Mean and sample standard deviation of the test accuracy in percent; no deviation for a single split."""

    mean: float
    std: float | None
    splits: int

    @classmethod
    def of(cls, results: Sequence[dict[str, Any]]) -> Summary | None:
        """From the results of finished runs; None if there are no runs, or no test nodes.

        >>> Summary.of([{"test_accuracy": 0.85}, {"test_accuracy": 0.87}])
        Summary(mean=86.0, std=1.4142135623730951, splits=2)
        """
        if not results or any(result["test_accuracy"] is None for result in results):
            return None
        accuracies = [100 * result["test_accuracy"] for result in results]
        std = statistics.stdev(accuracies) if len(accuracies) > 1 else None
        return cls(statistics.fmean(accuracies), std, len(accuracies))

    def __str__(self) -> str:
        spread = "" if self.std is None else f" +- {self.std:.1f}"
        return f"{self.mean:.1f}{spread} ({count(self.splits, 'split')})"
