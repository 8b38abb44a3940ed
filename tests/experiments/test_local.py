"""Jobs in processes of this machine: the same bits, failures that stop nothing else, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from job_kinds import SHORT, SMALL, RaisingJob, small_job, without_time
from justjump.experiments import local
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Done, Event, Failed
from justjump.experiments.local import run_here, run_in_workers
from justjump.experiments.store import Store


def collect(events: list[Event]) -> dict[int, Any]:
    return {event.job: event.result for event in events if isinstance(event, Done)}


@pytest.mark.slow
def test_workers_give_the_results_of_this_process_bit_for_bit() -> None:
    jobs = [small_job(seed) for seed in range(3)]
    here: list[Event] = []
    there: list[Event] = []
    assert run_here(jobs, here.append)
    assert run_in_workers(jobs, 2, there.append)
    alone, together = collect(here), collect(there)
    assert sorted(alone) == sorted(together) == [0, 1, 2]
    for number in alone:
        assert without_time(alone[number]) == without_time(together[number])


@pytest.mark.slow
def test_ctrl_c_twice_ends_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "grid.json").write_text('{"layers": [1], "hidden": [16]}')
    command = [sys.executable, "-m", "justjump", "sweep", "--dataset", "cora", "--model", "dna-g1", "--splits", "50"]
    process = subprocess.Popen(
        [*command, "--grid", str(tmp_path / "grid.json"), "--jobs", "2", "--store", str(tmp_path)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "test accuracy" in line:  # it is at work
                break
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode != 0
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and _group_lives(process.pid):
            time.sleep(0.1)
        assert not _group_lives(process.pid)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    with Store(tmp_path / "results.sqlite") as store:
        assert len(store) >= 1
        assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_jobs_that_do_not_fit_into_memory_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2**28 < local.total_memory() < 2**50
    jobs = [small_job(seed) for seed in range(3)]
    one = jobs[0].memory
    monkeypatch.setattr(local, "total_memory", lambda: int(2.5 * one))
    assert local._next(jobs, [0, 1, 2], in_use=0) == 0
    assert local._next(jobs, [1, 2], in_use=one) == 1
    assert local._next(jobs, [2], in_use=2 * one) is None
    monkeypatch.setattr(local, "total_memory", lambda: 1)
    assert local._next(jobs, [0, 1, 2], in_use=0) == 0, "alone, a job may try"


def test_no_event_is_lost_where_a_job_fails_here() -> None:
    events: list[Event] = []
    assert run_here([RaisingJob(GraphSpec("cora"), SMALL, SHORT, 0), small_job(0)], events.append)
    assert isinstance(events[0], Failed)
    assert "ValueError" in events[0].traceback
    assert list(collect(events)) == [1]
