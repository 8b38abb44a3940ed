"""Engines and what keeps their results: the same bits, each job once, failures that stop nothing else."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from job_kinds import SHORT, SMALL, HungryJob, KilledJob, LoggedJob, RaisingJob, small_job
from justjump.experiments import local
from justjump.experiments.execute import LocalEngine, Outcome, execute, missing
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Done, Event, Failed, Job, biggest_first
from justjump.experiments.local import run_here, run_in_workers
from justjump.experiments.store import Store, StoreError
from justjump.nn import ModelConfig


def collect(events: list[Event]) -> dict[int, Any]:
    return {event.job: event.result for event in events if isinstance(event, Done)}


def without_time(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in ("seconds", "written")}


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
def test_failures_are_told_and_the_rest_is_done(tmp_path: Path) -> None:
    cora = GraphSpec("cora")
    bad = [kind(cora, SMALL, SHORT, 50 + n) for n, kind in enumerate((RaisingJob, KilledJob, HungryJob))]
    good = [small_job(seed) for seed in range(2)]
    with Store(tmp_path / "s") as store:
        outcome = execute([*bad, *good], store, LocalEngine(2))
        reasons = {job.seed: message for job, message in outcome.failed}
        assert outcome.missing == 0
        assert len(store.results(good)) == 2
        assert len(store.failures()) == 3
    assert reasons[50] == "this job\ncannot be done"
    assert "SIGKILL, most likely for lack of memory: use fewer --jobs" in reasons[51]
    assert "MemoryError" in reasons[52]


@pytest.mark.slow
def test_only_what_is_missing_is_run_and_a_failure_is_tried_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    jobs = [LoggedJob(GraphSpec("cora"), SMALL, SHORT, seed, str(log)) for seed in range(3)]
    with Store(tmp_path / "s") as store:
        store.add_failure(jobs[0], "the last time")
        execute(jobs[:1], store, LocalEngine(1))
        assert log.read_text().split()[::2] == ["0"]
        assert execute([*jobs, jobs[1]], store, LocalEngine(2)) == Outcome((), 0)
        assert sorted(log.read_text().split()[::2]) == ["0", "1", "2"]
        execute(jobs, store, LocalEngine(2))
        assert len(log.read_text().split()[::2]) == 3
        assert store.failures() == []


@pytest.mark.slow
def test_two_processes_on_one_store_share_the_work(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom job_kinds import *\nfrom justjump.experiments.execute import *\n"
        "from justjump.experiments.store import Store\n"
        "if __name__ == '__main__':\n"
        "    jobs = [LoggedJob(GraphSpec('cora'), SMALL, SHORT, seed, sys.argv[2]) for seed in range(8)]\n"
        "    with Store(sys.argv[1]) as store:\n"
        "        print(execute(jobs, store, LocalEngine(1)).missing, len(store.results(jobs)))\n"
    )
    (tmp_path / "main.py").write_text(code)
    command = [sys.executable, str(tmp_path / "main.py"), str(tmp_path / "s"), str(tmp_path / "log")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    assert [process.communicate()[0].split() for process in both] == [["0", "8"], ["0", "8"]], "each waits for all"
    started = (tmp_path / "log").read_text().split()
    assert sorted(started[::2]) == [str(seed) for seed in range(8)], "each job was started once"
    assert len(set(started[1::2])) == 2, "by both"


@pytest.mark.slow
def test_a_store_that_fills_up_ends_the_run_and_keeps_the_rest(tmp_path: Path) -> None:
    jobs = [small_job(seed) for seed in range(3)]
    with Store(tmp_path / "s") as store:
        execute(jobs[:1], store, LocalEngine(1))
        store._db.execute(f"PRAGMA max_page_count = {store._db.execute('PRAGMA page_count').fetchone()[0]}")
        real_add = store.add

        def add(job: Job, result: dict[str, Any]) -> bool:
            return real_add(job, {**result, "padding": "x" * 100_000})

        store.add = add  # type: ignore[method-assign]
        with pytest.raises(StoreError, match="full; free some space"):
            execute(jobs, store, LocalEngine(1))
    with Store(tmp_path / "s") as store:
        assert len(store) == 1
        assert execute(jobs, store, LocalEngine(1)) == Outcome((), 0)
        assert len(store) == 3


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


def test_biggest_first_and_each_once(tmp_path: Path) -> None:
    small, big = small_job(0), Job(GraphSpec("coauthor_physics"), ModelConfig("gat", layers=5), SHORT, 0)
    assert biggest_first([small, big]) == [big, small]
    assert big.memory > small.memory
    with Store(tmp_path / "s") as store:
        assert missing([small, big, small], store) == [big, small]


def test_a_user_s_graph_is_named_by_its_content(tmp_path: Path) -> None:
    for name, value in (("a", 1.0), ("b", 1.0), ("c", 2.0)):
        adjacency, features = csr_matrix(np.eye(3, k=1)), csr_matrix(value * np.eye(3))
        parts = {"adj": adjacency, "attr": features}
        arrays: dict[str, Any] = {
            f"{n}_{part}": getattr(m, part) for n, m in parts.items() for part in ("data", "indices", "indptr")
        }
        shapes: dict[str, Any] = {f"{n}_shape": np.array(m.shape) for n, m in parts.items()}
        np.savez(tmp_path / f"{name}.npz", **arrays, **shapes, labels=np.array([0, 1, 1]))
    first, copy, other = (Job(GraphSpec(path=str(tmp_path / f"{name}.npz")), SMALL, SHORT, 0) for name in "abc")
    assert first.key == copy.key
    assert first.key != other.key


def test_no_event_is_lost_where_a_job_fails_here() -> None:
    events: list[Event] = []
    assert run_here([RaisingJob(GraphSpec("cora"), SMALL, SHORT, 0), small_job(0)], events.append)
    assert isinstance(events[0], Failed)
    assert "ValueError" in events[0].traceback
    assert list(collect(events)) == [1]
