"""Measures over several splits."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from justjump.experiments.words import count
from justjump.train.measures import SCORE, is_share


class Summary(NamedTuple):
    """Mean and sample standard deviation over splits, of shares in percent; no deviation for a single split."""

    mean: float
    std: float | None
    splits: int

    @classmethod
    def of(cls, results: Sequence[dict[str, Any]]) -> Summary | None:
        """The test accuracy of finished runs; None if there are no runs, or no test nodes.

        >>> Summary.of([{"test_accuracy": 0.85}, {"test_accuracy": 0.87}])
        Summary(mean=86.0, std=1.4142135623730951, splits=2)
        """
        return cls._over([result["test_accuracy"] for result in results], 100)

    @classmethod
    def of_score(cls, results: Sequence[dict[str, Any]]) -> Summary | None:
        """The measure that stands for the task, of the test nodes."""
        measure = score_of(results[0])[0] if results else "accuracy"
        return cls.of(results) if measure == "accuracy" else cls.of_measure(results, measure)

    @classmethod
    def of_measure(cls, results: Sequence[dict[str, Any]], measure: str) -> Summary | None:
        """Another measure of the test nodes; None if a run does not have it."""
        scale = 100 if is_share(measure) else 1
        return cls._over([result.get("measures", {}).get("test", {}).get(measure) for result in results], scale)

    @classmethod
    def _over(cls, values: Sequence[float | None], scale: float) -> Summary | None:
        there = [scale * value for value in values if value is not None]
        if not there or len(there) < len(values):
            return None
        return cls(statistics.fmean(there), statistics.stdev(there) if len(there) > 1 else None, len(there))

    def __str__(self) -> str:
        return f"{self.short()} ({count(self.splits, 'split')})"

    def short(self, digits: int = 1) -> str:
        spread = "" if self.std is None else f" +- {self.std:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"


def score_of(result: dict[str, Any], role: str = "test") -> tuple[str, float | None]:
    """The measure that stands for a run's task, and its value on the test, validation or training nodes.

    >>> score_of({"test_accuracy": 0.85})
    ('accuracy', 0.85)
    """
    measure = SCORE[result.get("task", "multiclass")]
    if measure == "accuracy":
        return measure, result[f"{role}_accuracy"]
    return measure, result["measures"][role][measure]
