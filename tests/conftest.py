"""Settings that all tests share."""

import os
import signal
import threading
from pathlib import Path

import pytest
import torch
from hypothesis import settings

# A shell's job in the background ignores Ctrl-C, and so would the commands that tests start and interrupt.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A slow machine is not a failure.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Test processes run side by side: one thread each."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the raw files of the benchmark datasets, where there is one."""
    named = os.environ.get("JUSTJUMP_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the raw datasets are not here: set JUSTJUMP_DATA to the folder that holds them")
    return folder
