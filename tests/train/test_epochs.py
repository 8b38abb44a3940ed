"""Epochs: Ctrl-C, saved states, a loss that is no number."""

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import array_features
from justjump.data import Graph
from justjump.train import Progress, TrainingError, epochs, fit
from run_helpers import SHORT, SMALL, assert_same_run


def test_ctrl_c_waits_for_the_end_of_the_epoch(cora: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fit(cora, SMALL, SHORT)
    step = epochs.train_epoch

    def press(*arguments: Any) -> float:
        loss = step(*arguments)
        signal.raise_signal(signal.SIGINT)  # after the weights have changed, before validation
        return loss

    monkeypatch.setattr(epochs, "train_epoch", press)
    for number in (1, 2):
        stopped = fit(cora, SMALL, SHORT, output=tmp_path)
        assert (stopped.finished, stopped.epochs) == (False, number)
    monkeypatch.undo()
    assert_same_run(whole, fit(cora, SMALL, SHORT, output=tmp_path))


def test_state_is_saved_while_training(cora: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("justjump.train.epochs.SAVE_EVERY_SECONDS", 0.0)

    def crash(progress: Progress) -> None:
        if progress.epoch == 4:
            raise SystemError("killed")

    with pytest.raises(SystemError):
        fit(cora, SMALL, SHORT, output=tmp_path, on_epoch=crash)
    seen: list[int] = []
    resumed = fit(cora, SMALL, SHORT, output=tmp_path, on_epoch=lambda progress: seen.append(progress.epoch))
    assert seen == [4, 5, 6]
    assert_same_run(resumed, fit(cora, SMALL, SHORT))


def test_divergence_is_an_error(tiny: Graph) -> None:
    huge = replace(tiny, features=array_features(tiny) * np.float32(3e38 / 3))
    with pytest.raises(TrainingError, match="the loss became .* in epoch 1: look for extreme feature values"):
        fit(huge, SMALL, replace(SHORT, scale="none"))
    assert fit(huge, SMALL, SHORT).finished  # standardised
