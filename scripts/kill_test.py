"""Kill commands at random moments, give them again until they end, and compare with an undisturbed run.

    python scripts/kill_test.py --kills 100

Each command (train, reproduce, sweep) is killed with SIGKILL: either the command alone, whose workers must follow it,
or the command with all its workers; either at a random moment, or when a file in its folder changes after that moment,
which is in the middle of a write. After every kill, each result that was there before must still be there. When the
command ends at last, its folder must hold the same files, weights and rows as an undisturbed run's. The draws depend
on the seed alone; where they strike depends on the machine.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

NETWORK = ["--model", "gcn", "--layers", "1", "--hidden", "16", "--groups", "1"]
JOBS = ["--dataset", "cora", "--splits", "3", "--jobs", "2"]
GRID = {"layers": [1], "hidden": [16], "groups": [1], "max_epochs": [30]}
COMMANDS = {
    "train": ["train", *JOBS, *NETWORK, "--max-epochs", "60", "--patience", "1000", "--output", "{folder}"],
    "reproduce": ["reproduce", *JOBS, "--model", "gcn-none", "--store", "{folder}"],
    "sweep": ["sweep", *JOBS, "--model", "gcn-none", "--grid", "{grid}", "--store", "{folder}"],
}
# What differs between two undisturbed runs.
CHANGING = ("seconds", "written")
SECONDS_TO_END = 5.0


@dataclass
class Tally:
    """What happened to one command."""

    kills: int = 0
    workers_too: int = 0
    in_writes: int = 0
    ended: int = 0
    compared: int = 0
    lost: int = 0
    different: int = 0
    left_over: int = 0
    survivors: int = 0

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.different or self.left_over or self.survivors)


def results(folder: Path) -> dict[str, Any]:
    """Every finished result in a folder, by a name: trained networks with their weights, and rows of the store."""
    found: dict[str, Any] = {}
    for path in folder.rglob("run.json"):
        values = json.loads(path.read_text(encoding="utf-8"))
        if values["finished"]:
            found[str(path.relative_to(folder))] = steady(values)
            weights = path.with_name("model.safetensors")
            if not weights.exists():  # killed just before its last step: the next start completes it
                weights = path.with_name(".model.safetensors.next")
            found[str(path.relative_to(folder).with_name("model.safetensors"))] = digest(weights)
    store = folder / "results.sqlite"
    if store.exists():
        with closing(sqlite3.connect(store)) as db:
            if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                return {}
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'results'").fetchone():
                return found  # killed before the first table was made
            for key, record in db.execute("SELECT job, record FROM results"):
                found[f"result {key}"] = steady(json.loads(record))
    return found


def everything(folder: Path) -> dict[str, Any]:
    """What the folder of an ended command holds: its results, its other files, and the store's other tables."""
    found = results(folder)
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".json":
            found[name] = steady(json.loads(path.read_text(encoding="utf-8")))
        elif path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                found[name] = steady(list(csv.DictReader(file)))
        elif path.is_file():
            found.setdefault(name, "a file")
    store = folder / "results.sqlite"
    if store.exists():
        with closing(sqlite3.connect(store)) as db:
            for table in ("failures", "claims"):
                found[table] = db.execute(f"SELECT * FROM {table}").fetchall()
    return found


def steady(value: Any) -> Any:
    """A JSON value without what differs between two undisturbed runs."""
    if isinstance(value, dict):
        return {name: steady(one) for name, one in value.items() if name not in CHANGING}
    return [steady(one) for one in value] if isinstance(value, list) else value


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def group_members(group: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, own = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:3]
        except OSError:  # it has just ended
            continue
        if int(own) == group and state not in "ZX":
            found.append(int(folder.name))
    return found


def start(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "justjump", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


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
    """Kill a command, alone or with its workers. Returns whether all of its processes then end soon."""
    if workers_too:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    deadline = time.monotonic() + SECONDS_TO_END
    while left := group_members(process.pid):
        if time.monotonic() > deadline:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            return False
        time.sleep(0.02)
    return True


class Case:
    """One command, its undisturbed run and its tally."""

    def __init__(self, name: str, place: Path, draws: random.Random) -> None:
        self.name, self.place, self.draws = name, place, draws
        self.tally, self.folders = Tally(), 0
        (place / "grid.json").write_text(json.dumps(GRID), encoding="utf-8")
        folder = self.new_folder()
        begin = time.monotonic()
        say(f"{name}: undisturbed")
        if start(self.command(folder)).wait():
            sys.exit(f"{name} fails even where nobody disturbs it: justjump {' '.join(self.command(folder))}")
        self.seconds = time.monotonic() - begin
        say(f"{name}: took {self.seconds:.1f} s undisturbed")
        self.expected = everything(folder)
        self.folder, self.seen = self.new_folder(), dict[str, Any]()

    def new_folder(self) -> Path:
        self.folders += 1
        return self.place / f"{self.name}-{self.folders}"

    def command(self, folder: Path) -> list[str]:
        return [part.format(folder=folder, grid=self.place / "grid.json") for part in COMMANDS[self.name]]

    def disturb(self) -> None:
        """Give the command once more, and kill it at a random moment unless it ends before."""
        tally, moment = self.tally, self.draws.uniform(0, 1.1) * self.seconds
        workers_too, in_write = self.draws.random() < 0.5, self.draws.random() < 0.5
        process = start(self.command(self.folder))
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=moment)
        if process.returncode is None and (not in_write or wait_for_a_write(process, self.folder)):
            tally.kills += 1
            tally.workers_too += workers_too
            tally.in_writes += in_write
            tally.survivors += not kill(process, workers_too)
            self.check_nothing_lost()
            how = f"{'with its workers' if workers_too else 'alone'}{', in a write' if in_write else ''}"
            what = f"{tally.lost} lost, {tally.different} different, {tally.survivors} lived on so far"
            say(f"{self.name}: kill {tally.kills} {how}; {len(self.seen)} results are there; {what}")
            return
        if process.returncode == 0:
            self.compare()
        else:  # it refused to go on
            tally.lost += 1
        self.folder, self.seen = self.new_folder(), {}

    def check_nothing_lost(self) -> None:
        now = results(self.folder) if self.folder.exists() else {}
        self.tally.lost += sum(name not in now for name in self.seen)
        self.tally.different += sum(self.expected.get(name) != value for name, value in now.items())
        self.seen = now

    def end(self) -> None:
        """Let the command end undisturbed, and compare."""
        if start(self.command(self.folder)).wait():
            self.tally.lost += 1
        else:
            self.compare()

    def compare(self) -> None:
        found, expected, tally = everything(self.folder), self.expected, self.tally
        tally.ended += 1
        tally.compared += len(expected)
        tally.lost += len(expected.keys() - found.keys())
        tally.left_over += len(found.keys() - expected.keys())
        tally.different += sum(found[name] != expected[name] for name in found.keys() & expected.keys())
        for name in sorted(found.keys() ^ expected.keys()):
            print(f"{self.name}: {name} is {'left over' if name in found else 'lost'}", file=sys.stderr)


def table(cases: list[Case]) -> str:
    """The tallies in Markdown."""
    heads = ["command", "undisturbed", "kills", "with its workers", "in a write", "ended and compared"]
    heads += ["results and files", "lost", "different", "left over or doubled", "workers that lived on"]
    lines = [heads, ["---"] * len(heads)]
    for case in cases:
        t = case.tally
        counts = [t.kills, t.workers_too, t.in_writes, t.ended, t.compared]
        counts += [t.lost, t.different, t.left_over, t.survivors]
        lines.append([case.name, f"{case.seconds:.1f} s", *map(str, counts)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def run_all(names: list[str], kills: int, seed: int, minutes: float) -> list[Case]:
    draws, deadline = random.Random(seed), time.monotonic() + 60 * minutes
    cases: list[Case] = []

    def done() -> int:
        return sum(case.tally.kills for case in cases)

    with tempfile.TemporaryDirectory() as place:
        try:
            for name in names:
                cases.append(Case(name, Path(place), draws))
                if done() < kills:  # the first kills come before the other commands ran undisturbed
                    cases[-1].disturb()
            while done() < kills and time.monotonic() < deadline:
                min(cases, key=lambda case: case.tally.kills).disturb()
            for case in cases:
                say(f"{case.name}: goes on to its end")
                case.end()
        finally:
            end_all()
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="number of kills in all")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    parser.add_argument("--commands", default="train,reproduce,sweep", help="which commands, separated by commas")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after so many minutes, with fewer kills")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)
    cases = run_all(options.commands.split(","), options.kills, options.seed, options.minutes)
    print(table(cases))
    sys.exit(0 if all(case.tally.is_clean for case in cases) else 1)


if __name__ == "__main__":
    main()
