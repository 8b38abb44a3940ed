"""The Ray engine on a cluster of several node processes: the same bits, each job once, whatever dies."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import ray

from job_kinds import SHORT, SMALL, DiesOnceJob, LoggedJob, RaisingJob, small_job, without_time
from justjump.experiments.execute import LocalEngine, Outcome, execute
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Done, Event, Job
from justjump.experiments.ray_engine import RayEngine
from justjump.experiments.store import Store
from justjump.train import RunError
from ray_clusters import two_nodes

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the warnings are Ray's own


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as started:
        yield started


@pytest.fixture
def engine(cluster: Any) -> Iterator[RayEngine]:
    yield RayEngine(cluster.address)
    ray.shutdown()


def test_bit_for_bit_the_local_results_though_workers_die(engine: RayEngine, tmp_path: Path) -> None:
    cora = GraphSpec("cora")
    plain = [small_job(seed) for seed in range(6)]
    dying = [
        DiesOnceJob(job.spec, job.config, job.protocol, job.seed, str(tmp_path / "died")) if job.seed in (1, 4) else job
        for job in plain
    ]
    bad = RaisingJob(cora, SMALL, SHORT, 99)
    with Store(tmp_path / "ray") as ours, Store(tmp_path / "local") as theirs:
        outcome = execute([*dying, bad], ours, engine)
        assert outcome == Outcome(((bad, "this job\ncannot be done"),), 0)
        assert len(list(tmp_path.glob("died-*"))) == 2, "two workers were killed"
        execute(plain, theirs, LocalEngine(1))
        assert len(ours) == len(theirs) == 6
        for here, there in zip(ours.results(plain), theirs.results(plain), strict=True):
            assert without_time(here) == without_time(there)


@pytest.mark.parametrize(("failures", "address"), [(1, None), (2, None), (1, "auto")])
def test_a_start_that_takes_too_long_is_tried_once_more(failures: int, address: str | None) -> None:
    class Slow:
        starts = shutdowns = 0

        def init(self, **_: Any) -> None:
            self.starts += 1
            if self.starts <= failures:
                raise Exception("The current node timed out\n during startup.")

        def shutdown(self) -> None:
            self.shutdowns += 1

    slow = Slow()
    sentence = "(Ray does not start here|no Ray cluster answers at auto): The current node timed out during startup"
    with nullcontext() if (failures, address) == (1, None) else pytest.raises(RunError, match=sentence):
        RayEngine(address).connect(slow)
    assert (slow.starts, slow.shutdowns) == ((1 if address else 2), failures)


def test_a_node_dies_in_the_middle(cluster: Any, engine: RayEngine, tmp_path: Path) -> None:
    doomed = cluster.add_node(num_cpus=2, memory=8 * 2**30)
    cluster.wait_for_nodes()
    jobs = [LoggedJob(GraphSpec("cora"), SMALL, SHORT, seed, str(tmp_path / "log")) for seed in range(10)]
    removed = False

    def watch(todo: Any) -> Any:
        def on_event(event: Event) -> None:
            nonlocal removed
            if isinstance(event, Done) and not removed:
                removed = True
                cluster.remove_node(doomed, allow_graceful=False)

        return nullcontext(on_event)

    with Store(tmp_path / "s") as store:
        assert execute(jobs, store, engine, watch) == Outcome((), 0)
        assert removed
        assert len(store) == 10
    assert len((tmp_path / "log").read_text().splitlines()) >= 10


def test_the_driver_is_killed_and_started_again(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "driver.py").write_text(
        "import sys\nfrom contextlib import nullcontext\n"
        "from job_kinds import *\nfrom justjump.experiments.execute import execute\n"
        "from justjump.experiments.ray_engine import RayEngine\nfrom justjump.experiments.store import Store\n"
        "store, log, address = sys.argv[1:]\n"
        "jobs = [LoggedJob(GraphSpec('cora'), SMALL, SHORT, seed, log) for seed in range(10)]\n"
        "def watch(todo):\n"
        "    print('todo', len(todo), flush=True)\n"
        "    return nullcontext(lambda event: print('done', flush=True))\n"
        "with Store(store) as opened:\n"
        "    print(execute(jobs, opened, RayEngine(address), watch), flush=True)\n"
    )
    command = [sys.executable, "-W", "ignore", str(tmp_path / "driver.py"), str(tmp_path / "s"), str(tmp_path / "log")]
    with subprocess.Popen([*command, cluster.address], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        heard = []
        for line in driver.stdout:
            heard.append(line.strip())
            if heard.count("done") == 3:
                os.kill(driver.pid, signal.SIGKILL)
                break
    with Store(tmp_path / "s") as store:
        kept = len(store)
    assert 3 <= kept < 10
    again = subprocess.run([*command, cluster.address], capture_output=True, text=True)
    assert f"todo {10 - kept}" in again.stdout, again.stderr
    assert "Outcome(failed=(), missing=0)" in again.stdout
    jobs = [Job(GraphSpec("cora"), SMALL, SHORT, seed) for seed in range(10)]
    with Store(tmp_path / "s") as store, Store(tmp_path / "local") as theirs:
        assert len(store) == 10
        execute(jobs[:2], theirs, LocalEngine(1))
        for here, there in zip(store.results(jobs[:2]), theirs.results(jobs[:2]), strict=True):
            assert without_time(here) == without_time(there)


def test_no_cluster_at_an_address(tmp_path: Path) -> None:
    start = time.monotonic()
    with Store(tmp_path / "s") as store, pytest.raises(RunError, match="no Ray cluster answers at 127.0.0.1:1"):
        execute([small_job(0)], store, RayEngine("127.0.0.1:1"))
    assert time.monotonic() - start < 60
