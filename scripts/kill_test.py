"""Kill commands at random moments, give them again until they end, and compare with an undisturbed run.

    python scripts/kill_test.py --kills 100

Each command (train, reproduce, sweep) is killed with SIGKILL: either the command alone, whose workers must follow it,
or the command with all its workers; either at a random moment, or when a file in its folder changes after that moment,
which is in the middle of a write. Of the commands that train on a graph in parts (--commands parts), one worker may be
killed as well: then the command must go on by itself. After every kill, each result that was there before must still
be there. When the command ends at last, its folder must hold the same files, weights and rows as an undisturbed run's.
The draws depend on the seed alone; where they strike depends on the machine.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from killing import end_all, files, kill, kill_a_worker, last_words, say, start, stop, wait_for_a_write

NETWORK = ["--model", "gcn", "--layers", "1", "--hidden", "16", "--groups", "1"]
JOBS = ["--dataset", "cora", "--splits", "3", "--jobs", "2"]
GRID = {"layers": [1], "hidden": [16], "groups": [1], "max_epochs": [30]}
PARTS = ["train", "--graph", "{parts}", "--model", "gcn", "--layers", "2", "--hidden", "16", "--groups", "1"]
PARTS += ["--max-epochs", "30", "--stop", "never", "--output", "{folder}"]
# Ways to train on a graph in parts.
WAYS = {
    "disk": ["--scratch", "{scratch}"],
    "workers": ["--workers", "2"],
    "ray": ["--workers", "2", "--engine", "ray"],
}
COMMANDS = {
    "train": ["train", *JOBS, *NETWORK, "--max-epochs", "60", "--patience", "1000", "--output", "{folder}"],
    "reproduce": ["reproduce", *JOBS, "--model", "gcn-none", "--store", "{folder}"],
    **{f"parts-{name}": [*PARTS, *own] for name, own in WAYS.items()},
    "sweep": ["sweep", *JOBS, "--model", "gcn-none", "--grid", "{grid}", "--store", "{folder}"],
}
# What differs between two undisturbed runs.
CHANGING = ("seconds", "written")
# Kills of workers before a command may end: after more of them in a row it would give up, and rightly.
WORKERS_PER_COMMAND = 2


@dataclass
class Tally:
    """What happened to one command."""

    kills: int = 0
    workers_too: int = 0
    one_worker: int = 0
    in_writes: int = 0
    ended: int = 0
    compared: int = 0
    lost: int = 0
    different: int = 0
    left_over: int = 0
    survivors: int = 0
    recoveries: list[float] = field(default_factory=list)  # seconds until an epoch was saved again

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


class Case:
    """One command, its undisturbed run and its tally."""

    def __init__(self, name: str, place: Path, draws: random.Random) -> None:
        self.name, self.place, self.draws = name, place, draws
        self.tally, self.folders = Tally(), 0
        (place / "grid.json").write_text(json.dumps(GRID), encoding="utf-8")
        folder = self.new_folder()
        begin = time.monotonic()
        say(f"{name}: undisturbed")
        if self.start(folder).wait():
            command = f"justjump {' '.join(self.command(folder))}"
            sys.exit(f"{name} fails even where nobody disturbs it: {command}\n{last_words(place / 't')}")
        self.seconds = time.monotonic() - begin
        say(f"{name}: took {self.seconds:.1f} s undisturbed")
        self.expected = everything(folder)
        self.folder, self.seen = self.new_folder(), dict[str, Any]()

    def new_folder(self) -> Path:
        self.folders += 1
        return self.place / f"{self.name}-{self.folders}"

    def command(self, folder: Path) -> list[str]:
        names = {"folder": folder, "grid": self.place / "grid.json", "parts": self.place / "parts"}
        names["scratch"] = self.place / "scratch"
        return [part.format(**names) for part in COMMANDS[self.name]]

    def start(self, folder: Path) -> subprocess.Popen[bytes]:
        return start(self.command(folder), self.place / "t")

    def disturb(self) -> None:
        """Give the command once more, and kill it at a random moment unless it ends before."""
        tally, process, left = self.tally, self.start(self.folder), WORKERS_PER_COMMAND
        while process.returncode is None:
            moment = self.draws.uniform(0, 1.1) * self.seconds
            workers_too, in_write = self.draws.random() < 0.5, self.draws.random() < 0.5
            one_worker = "--workers" in self.command(self.folder) and self.draws.random() < 0.6
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=moment)
            if process.returncode is not None or (in_write and not wait_for_a_write(process, self.folder)):
                break
            if one_worker:
                if not left or not kill_a_worker(process, self.draws):
                    break
                left -= 1
            tally.kills += 1
            tally.in_writes += in_write
            if one_worker:
                tally.one_worker += 1
                self.recover(process)
            else:
                tally.workers_too += workers_too
                tally.survivors += not kill(process, workers_too)
            self.check_nothing_lost()
            how = "a worker" if one_worker else "with its workers" if workers_too else "alone"
            how += ", in a write" if in_write else ""
            what = f"{tally.lost} lost, {tally.different} different, {tally.survivors} lived on so far"
            say(f"{self.name}: kill {tally.kills} {how}; {len(self.seen)} results are there; {what}")
            if not one_worker:
                return
        if process.wait() == 0:
            self.compare()
        else:
            self.refused()
        self.folder, self.seen = self.new_folder(), {}

    def recover(self, process: subprocess.Popen[bytes]) -> None:
        """Measure how long it takes until something is saved again after the loss of a worker."""
        begin, before = time.monotonic(), files(self.folder)
        while process.poll() is None and files(self.folder) == before:
            time.sleep(0.01)
        if process.returncode is None:
            self.tally.recoveries.append(time.monotonic() - begin)

    def check_nothing_lost(self) -> None:
        now = results(self.folder) if self.folder.exists() else {}
        self.tally.lost += sum(name not in now for name in self.seen)
        self.tally.different += sum(self.expected.get(name) != value for name, value in now.items())
        self.seen = now

    def end(self) -> None:
        """Let the command end undisturbed, and compare, unless that has just happened."""
        if self.tally.ended and not self.folder.exists():
            return
        say(f"{self.name}: goes on to its end")
        if self.start(self.folder).wait():
            self.refused()
        else:
            self.compare()

    def refused(self) -> None:
        """The command does not go on, though nobody killed it: its result is lost."""
        self.tally.lost += 1
        say(f"{self.name}: ends with an error, and says:\n{last_words(self.place / 't')}")

    def compare(self) -> None:
        found, expected, tally = everything(self.folder), self.expected, self.tally
        tally.ended += 1
        tally.compared += len(expected)
        tally.lost += len(expected.keys() - found.keys())
        tally.left_over += len(found.keys() - expected.keys())
        tally.different += sum(found[name] != expected[name] for name in found.keys() & expected.keys())
        if "{scratch}" in COMMANDS[self.name]:
            tally.left_over += len(list((self.place / "scratch").iterdir()))
        for name in sorted(found.keys() ^ expected.keys()):
            print(f"{self.name}: {name} is {'left over' if name in found else 'lost'}", file=sys.stderr)


def table(cases: list[Case]) -> str:
    """The tallies in Markdown."""
    heads = ["command", "undisturbed", "kills", "with its workers", "of one worker", "in a write", "ended and compared"]
    heads += [
        "results and files",
        "lost",
        "different",
        "left over or doubled",
        "workers that lived on",
        "saved again after",
    ]
    lines = [heads, ["---"] * len(heads)]
    for case in cases:
        t = case.tally
        counts = [t.kills, t.workers_too, t.one_worker, t.in_writes, t.ended, t.compared]
        counts += [t.lost, t.different, t.left_over, t.survivors]
        after = f"{statistics.median(t.recoveries):.1f} s (at most {max(t.recoveries):.1f} s)" if t.recoveries else ""
        lines.append([case.name, f"{case.seconds:.1f} s", *map(str, counts), after])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def prepare(place: Path, names: list[str]) -> None:
    (place / "t").mkdir()
    if any(name.startswith("parts-") for name in names):
        command = ["partition", "cora", "--parts", "3", "--method", "hash", "--output", str(place / "parts")]
        if start(command, place / "t").wait():
            sys.exit("there is no graph in parts: justjump partition fails")


def check_ways(cases: list[Case]) -> None:
    """All ways to train on a graph in parts give the same bits."""
    ways = [case for case in cases if case.name.startswith("parts-")]
    if ways and ways[-1].expected != ways[0].expected:
        say(f"{ways[-1].name} and {ways[0].name} give different results")
        ways[-1].tally.different += 1


def run_all(names: list[str], kills: int, seed: int, minutes: float) -> list[Case]:
    draws, deadline = random.Random(seed), time.monotonic() + 60 * minutes
    cases: list[Case] = []

    def done() -> int:
        return sum(case.tally.kills for case in cases)

    with tempfile.TemporaryDirectory() as place:
        try:
            prepare(Path(place), names)
            for name in names:
                cases.append(Case(name, Path(place), draws))
                check_ways(cases)
                if done() < kills:  # the first kills come before the other commands ran undisturbed
                    cases[-1].disturb()
            while done() < kills and time.monotonic() < deadline:
                min(cases, key=lambda case: case.tally.kills).disturb()
            for case in cases:
                case.end()
        finally:
            end_all()
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="number of kills in all")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    parser.add_argument(
        "--commands", default="train,reproduce,sweep", help="which commands, separated by commas; or parts"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after so many minutes, with fewer kills")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)
    names = [f"parts-{name}" for name in WAYS] if options.commands == "parts" else options.commands.split(",")
    cases = run_all(names, options.kills, options.seed, options.minutes)
    print(table(cases))
    sys.exit(0 if all(case.tally.is_clean for case in cases) else 1)


if __name__ == "__main__":
    main()
