"""Tasks in several processes: the same file for any number of them, also if some die."""

import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from justjump import fit
from justjump.data.parts import Parts
from justjump.train import Run, RunError
from justjump.train.parts.pool import ATTEMPTS

from .conftest import Make

pytestmark = pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")


@pytest.fixture
def trained(make_parts: Make) -> tuple[Run, Parts]:
    parts = make_parts()
    return fit(parts, layers=2, hidden=16, heads=4, groups=4, max_epochs=2), parts


@contextmanager
def killing(deaths: int) -> Iterator[None]:
    """Kill a worker as soon as there is one, so many times."""
    ended = threading.Event()

    def kill() -> None:
        killed: set[int | None] = set()
        while len(killed) < deaths and not ended.is_set():
            alive = [one for one in multiprocessing.active_children() if one.pid not in killed]
            for one in alive[:1]:
                one.kill()
                killed |= {other.pid for other in alive}  # the others end with it
            time.sleep(0.02)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_file(trained: tuple[Run, Parts], tmp_path: Path) -> None:
    run, parts = trained
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    run.predict(parts).save(tmp_path / "alone.csv")
    with killing(1):
        run.predict(parts, workers=2, scratch=scratch).save(tmp_path / "two.csv")
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_workers_that_always_die_are_given_up(trained: tuple[Run, Parts], tmp_path: Path) -> None:
    run, parts = trained
    with killing(99), pytest.raises(RunError, match=f"ended by the system {ATTEMPTS} times: if memory is short"):
        run.predict(parts, workers=2).save(tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
