"""Options of a network that is trained in a moment, and a table to train it on."""

from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="session")
def small() -> dict[str, Any]:
    sizes = {"layers": 1, "hidden": 8, "heads": 2, "groups": 2}
    rates = {"learning_rate": 0.05, "dropout": 0.0, "input_dropout": 0.0, "attention_dropout": 0.0}
    return {**sizes, **rates, "max_epochs": 40}


@pytest.fixture(scope="session")
def rows() -> np.ndarray:
    """``[60, 3]``; the first column tells three classes apart."""
    noise = np.random.RandomState(0).randn(60, 3)
    return noise * [0.1, 1, 1] + np.outer(np.arange(60) % 3 - 1, [1, 0, 0])
