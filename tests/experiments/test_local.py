"""Jobs in processes of this machine: the same bits, failures that stop nothing else, Ctrl-C."""

import os
import signal
import subprocess
import sys
import textwrap
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


looks_into_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks processes up in /proc, which only Linux has"
)

SECONDS_TO_END = 2.0

BUSY_WORKERS = """
    import os, sys, time
    from justjump.train import orphans

    def busy(number):
        getattr(orphans, sys.argv[1])()
        os.write(1, b"ready\\n")  # in one piece: both workers write to this pipe
        time.sleep(600)

    if __name__ == "__main__":
        import multiprocessing
        processes = multiprocessing.get_context("spawn")
        for number in range(2):
            processes.Process(target=busy, args=(number,), daemon=True).start()
        time.sleep(600)
"""


def descendants(pid: int) -> set[int]:
    """The living processes below a process."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
        except OSError:  # it has just ended
            continue
        if state not in "ZX":
            children.setdefault(int(parent), []).append(int(folder.name))
    found: set[int] = set()
    todo = [pid]
    while todo:
        own = children.get(todo.pop(), [])
        found.update(own)
        todo.extend(own)
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def kill_and_count(parent: "subprocess.Popen[str]") -> tuple[int, float]:
    """Kill a process. Returns how many processes it had, and after how many seconds the last of them had ended."""
    below = descendants(parent.pid)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    start = time.monotonic()
    while any(map(is_alive, below)) and time.monotonic() - start < 30:
        time.sleep(0.01)
    left = [pid for pid in below if is_alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left
    return len(below), time.monotonic() - start


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["die_with_parent", "exit_after_parent"])
@looks_into_proc
def test_each_guard_alone_ends_the_workers_of_a_killed_parent(tmp_path: Path, guard: str) -> None:
    if guard == "die_with_parent" and sys.platform != "linux":
        pytest.skip("only Linux ends a process with its parent; other systems have the other guard")
    (tmp_path / "main.py").write_text(textwrap.dedent(BUSY_WORKERS))
    command = [sys.executable, str(tmp_path / "main.py"), guard]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        said = [parent.stdout.readline() for _ in range(2)]
        processes, seconds = kill_and_count(parent)
    assert said == ["ready\n"] * 2
    assert processes >= 2
    assert seconds < SECONDS_TO_END


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.3, 1.0, None])
@looks_into_proc
def test_no_worker_of_a_killed_command_lives_on(tmp_path: Path, delay: float | None) -> None:
    """Killed some seconds after the first worker has started (its imports take longer), or while all of them train."""
    command = [sys.executable, "-m", "justjump", "train", "--dataset", "cora", "--patience", "100000"]
    options = ["--max-epochs", "100000", "--splits", "2", "--jobs", "2", "--output", str(tmp_path)]
    parent = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, text=True)
    deadline = time.monotonic() + 120
    while len(descendants(parent.pid)) < 2 and time.monotonic() < deadline:  # a worker and Python's resource tracker
        time.sleep(0.01)
    if delay is None:
        while len(list(tmp_path.glob("split-*/state.safetensors"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    else:
        time.sleep(delay)
    processes, seconds = kill_and_count(parent)
    assert processes >= 2
    assert seconds < SECONDS_TO_END


@pytest.mark.slow
@looks_into_proc
def test_killed_commands_go_on_to_what_an_undisturbed_one_gives() -> None:
    script = Path(__file__).parents[2] / "scripts" / "kill_test.py"
    command = [sys.executable, str(script), "--kills", "2", "--seed", "29", "--commands", "train,parts-workers"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@looks_into_proc
def test_a_kill_test_that_is_ended_ends_what_it_started(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "scripts" / "kill_test.py"
    command = [sys.executable, str(script), "--kills", "1", "--commands", "train"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert process.stderr is not None
    assert "train: undisturbed" in process.stderr.readline()  # said before anything else happens
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 30
    while not (started := children.read_text().split()) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.terminate()
    assert process.wait(timeout=30) == 128 + signal.SIGTERM
    process.stderr.close()
    assert len(started) == 1
    assert not Path(f"/proc/{started[0]}").exists()
    assert not list(tmp_path.iterdir()), "its folder is removed"
