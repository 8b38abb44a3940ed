"""Accuracy over several splits."""

from typing import Any

import pytest

from justjump.experiments.summary import Summary


def results(*accuracies: float | None) -> list[dict[str, Any]]:
    return [{"test_accuracy": accuracy} for accuracy in accuracies]


def test_mean_and_sample_deviation_in_percent() -> None:
    summary = Summary.of(results(0.80, 0.82, 0.87))
    assert summary == pytest.approx((83.0, 3.6055512754639896, 3))
    assert str(summary) == "83.0 +- 3.6 (3 splits)"


def test_one_split_has_no_deviation() -> None:
    assert str(Summary.of(results(0.8))) == "80.0 (1 split)"


@pytest.mark.parametrize("accuracies", [(), (None,), (0.8, None)])
def test_without_runs_or_test_nodes_there_is_none(accuracies: tuple[float | None, ...]) -> None:
    assert Summary.of(results(*accuracies)) is None
