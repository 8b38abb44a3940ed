"""What a store lacks is run, each job once, by one process or several."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from job_kinds import SHORT, SMALL, HungryJob, KilledJob, LoggedJob, RaisingJob, small_job
from justjump.experiments.execute import LocalEngine, Outcome, execute
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.store import Store, StoreError


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
        assert execute([*jobs, jobs[1]], store, LocalEngine(1)) == Outcome((), 0)
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
        store.add(jobs[0], jobs[0].run())
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
