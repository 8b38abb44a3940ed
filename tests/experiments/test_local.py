"""Workers end with their parent, however that ends."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")

SECONDS_TO_END = 2.0

BUSY_WORKERS = """
    import os, sys, time
    from justjump.experiments import orphans

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
def test_each_guard_alone_ends_the_workers_of_a_killed_parent(tmp_path: Path, guard: str) -> None:
    if guard == "die_with_parent" and sys.platform != "linux":
        pytest.skip("this guard is Linux's")
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
def test_killed_commands_go_on_to_what_an_undisturbed_one_gives() -> None:
    script = Path(__file__).parents[2] / "scripts" / "kill_test.py"
    command = [sys.executable, str(script), "--kills", "5", "--seed", "3"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
