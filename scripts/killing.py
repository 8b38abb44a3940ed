"""Start commands, kill them or their workers, and look for what lives on; for kill_test.py."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

SECONDS_TO_END = 10.0
SAID = "said"


class Process(NamedTuple):
    """A process; another one may get its number later, but not with the same start."""

    pid: int
    start: str

    @property
    def is_alive(self) -> bool:
        try:
            status = _status(self.pid)
        except OSError:
            return False
        return status[0] not in "ZX" and status[19] == self.start

    @property
    def command(self) -> str:
        with suppress(OSError):
            return Path(f"/proc/{self.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return ""


def _status(pid: int) -> list[str]:
    """State, parent, ... as in proc(5)."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def descendants(pid: int) -> list[Process]:
    """The living processes below a process, also those in sessions of their own."""
    children: dict[int, list[Process]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            status = _status(int(folder.name))
            if status[0] not in "ZX":
                children.setdefault(int(status[1]), []).append(Process(int(folder.name), status[19]))
    found, todo = [], [pid]
    while todo:
        own = children.get(todo.pop(), [])
        found += own
        todo += [one.pid for one in own]
    return found


def workers_of(pid: int) -> list[Process]:
    """The workers of a command that shares one graph among them."""
    return [one for one in descendants(pid) if "spawn_main" in one.command or "RayTrainWorker" in one.command]


def start(command: list[str], temporary: Path) -> subprocess.Popen[bytes]:
    """A command whose temporary files are in a folder, with what it says in the file ``said`` there."""
    with (temporary / SAID).open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "justjump", *command],
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(temporary), "GLOO_SOCKET_IFNAME": "lo"},
        )


def last_words(temporary: Path, lines: int = 20) -> str:
    """The end of what the last command said."""
    text = (temporary / SAID).read_text(encoding="utf-8", errors="replace")
    return "\n".join(text.splitlines()[-lines:])


def end_all() -> None:
    """Kill what was started and still runs, with its workers: nothing else would, in sessions of their own."""
    own = os.getpid()
    for child in map(int, Path(f"/proc/{own}/task/{own}/children").read_text().split()):
        with suppress(ProcessLookupError):
            group = os.getpgid(child)  # its own, unless it has just been forked
            (os.killpg if group == child else os.kill)(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)


def stop(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


def say(text: str) -> None:
    """Progress, beside the table on stdout."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of each file below a folder."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                status = Path(parent, name).stat()
                found[f"{parent}/{name}"] = (status.st_size, status.st_mtime_ns)
    return found


def wait_for_a_write(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Wait until a file in a folder changes. Returns False if the process ends before."""
    before = files(folder)
    while process.poll() is None:
        if files(folder) != before:
            return True
        time.sleep(0.001)
    return False


def kill(process: subprocess.Popen[bytes], workers_too: bool) -> bool:
    """Kill a command, alone or with all below it. Returns whether all of its processes then end soon."""
    below = descendants(process.pid)
    process.kill()
    for one in below if workers_too else ():
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + SECONDS_TO_END
    while left := [one for one in below if one.is_alive and not is_of_ray(one.command)]:
        if time.monotonic() > deadline:
            for one in left:
                say(f"lives on: {one.command}")
                os.kill(one.pid, signal.SIGKILL)
            return False
        time.sleep(0.02)
    return True


def is_of_ray(command: str) -> bool:
    """Whether a process is Ray's own and trains nothing: its agents look for their node for a minute."""
    return ("ray::" in command or "/ray/" in command) and "RayTrainWorker" not in command


def kill_a_worker(process: subprocess.Popen[bytes], draws: random.Random) -> bool:
    """Kill one worker of a command, when there is one. Returns False if the command ends before."""
    while process.poll() is None:
        if workers := workers_of(process.pid):
            with suppress(ProcessLookupError):
                os.kill(draws.choice(workers).pid, signal.SIGKILL)
                return True
        time.sleep(0.01)
    return False
