"""What does the store of reproduce and sweep hold after a power failure, at each moment?

    python scripts/power_loss_store.py --results 12

Adds results to a store, with a library preloaded that records what SQLite does to the disk (record_writes.c; this needs
a C compiler). Then it makes the folders that a power failure could leave after each of these steps. What is synced is
there. Of the writes since then, there are none, all, all but the last, the last alone or half of it, or only the size
has changed. Names are as they are now or as they were last synced. Each folder must open as a store with every result
that was added before, each as it was.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.store import Store
from justjump.nn import ModelConfig
from justjump.train import Protocol, RunError

STORE = "results.sqlite"
ADDED = "added-"  # the name of an empty file that is made after each result

Image = tuple[tuple[str, bytes], ...]


class Step(NamedTuple):
    """A line of record_writes.c with its data."""

    kind: str
    offset: int
    name: str
    data: bytes


@dataclass(eq=False)
class File:
    """Content that is on the disk for sure, and steps since then."""

    synced: bytes = b""
    since: list[Step] = field(default_factory=list)

    def contents(self) -> Iterator[bytes]:
        """What a power failure could leave of it."""
        yield self.synced
        if not self.since:
            return
        *before, last = self.since
        half = last._replace(data=last.data[: len(last.data) // 1024 * 512])
        for steps in (self.since, before, [last], [*before, half]):
            yield applied(self.synced, steps)
        size = len(applied(self.synced, self.since))
        yield self.synced[:size].ljust(size, b"\0")


def applied(content: bytes, steps: list[Step]) -> bytes:
    for step in steps:
        if step.kind == "T":
            content = content[: step.offset].ljust(step.offset, b"\0")
        else:
            end = step.offset + len(step.data)
            content = content[: step.offset].ljust(step.offset, b"\0") + step.data + content[end:]
    return content


def jobs(count: int) -> list[Job]:
    return [Job(GraphSpec("cora"), ModelConfig(), Protocol(), seed=seed) for seed in range(count)]


def result(job: Job) -> dict[str, object]:
    return {"test_accuracy": 1 / (1 + job.seed), "note": "x" * (300 * job.seed)}  # some need pages of their own


def add_results(folder: Path, count: int, synchronous: str) -> None:
    """Fill a store as the commands do. ``synchronous`` replaces SQLite's setting in it."""
    with Store(folder / STORE) as store:
        store._db.execute(f"PRAGMA synchronous = {synchronous}")
        for job in jobs(count):
            store.claim(job)
            if job.seed % 3 == 2:
                store.add_failure(job, "fails at first", "line\n" * 2000)
                store.claim(job)
            store.add(job, result(job))
            (folder / f"{ADDED}{job.seed}").touch()


def recorded(place: Path, count: int, synchronous: str) -> list[Step]:
    """The steps of :func:`add_results` in a process of its own."""
    library, log, folder = place / "record_writes.so", place / "log", place / "store"
    source = Path(__file__).with_name("record_writes.c")
    compiler = shutil.which("cc") or sys.exit("there is no C compiler: install one that is called cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    folder.mkdir()
    settings = {"LD_PRELOAD": str(library), "RECORD_FOLDER": str(folder.resolve()), "RECORD_LOG": str(log)}
    command = [sys.executable, __file__, "--fill", str(folder.resolve()), "--results", str(count)]
    subprocess.run([*command, "--synchronous", synchronous], check=True, env={**os.environ, **settings})
    return list(read_log(log.read_bytes()))


def read_log(log: bytes) -> Iterator[Step]:
    at, head = 0, re.compile(rb"([A-Z]) (\d+) (\d+) (.*)\n")
    while at < len(log):
        match = head.match(log, at)
        assert match is not None, f"byte {at} of the log begins no record"
        kind, offset, size, name = match.groups()
        at = match.end() + int(size)
        yield Step(kind.decode(), int(offset), name.decode(), log[match.end() : at])


def images(steps: list[Step]) -> Iterator[tuple[int, Image]]:
    """The folders that a power failure could leave, each with the number of results that were added before."""
    names: dict[str, File] = {}
    synced_names: dict[str, File] = {}
    added = 0
    for step in steps:
        if step.name.startswith(ADDED):
            added += 1
        elif step.kind == "C":
            names[step.name] = File()
        elif step.kind == "U":
            del names[step.name]
        elif step.kind == "S" and step.name == ".":
            synced_names = dict(names)
        elif step.kind == "S":
            file = names[step.name]
            file.synced, file.since = applied(file.synced, file.since), []
        else:
            names[step.name].since.append(step)
        for there in (names, synced_names):
            for contents in itertools.product(*(file.contents() for file in there.values())):
                yield added, tuple(zip(there, contents, strict=True))


def problem_of(image: Image, folder: Path, expected: dict[str, object], added: list[str]) -> str | None:
    """What is wrong with a folder after a power failure: ``added`` are the keys that must be in its store."""
    for path in folder.iterdir():
        path.unlink()
    for name, content in image:
        (folder / name).write_bytes(content)
    try:
        with closing(Store(folder / STORE)) as store:
            found = {str(record["job"]): record["note"] for record in store.records()}
            if store._db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                return "its store is damaged"
    except (RunError, sqlite3.Error) as error:
        return f"its store cannot be read: {str(error).replace(str(folder), '')}"
    lost = sum(key not in found for key in added)
    if lost:
        return f"{lost} of {len(added)} results are lost"
    if any(expected.get(key) != note for key, note in found.items()):
        return "a result is another"
    return None


def failures(count: int, synchronous: str = "EXTRA") -> tuple[int, list[str]]:
    """How many different folders power failures could leave, and what is wrong with them."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    keys = [job.key for job in jobs(count)]
    expected: dict[str, object] = {job.key: result(job)["note"] for job in jobs(count)}
    with tempfile.TemporaryDirectory(dir=memory) as place:
        seen, problems = set(), []
        folder = Path(place, "image")
        folder.mkdir()
        for added, image in images(recorded(Path(place), count, synchronous)):
            mark = hash((added, image))
            if mark not in seen:
                seen.add(mark)
                problems.append(problem_of(image, folder, expected, keys[:added]))
    return len(seen), [problem for problem in problems if problem is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=12, help="number of results that are added")
    parser.add_argument("--synchronous", default="EXTRA", help="SQLite's setting, to see what a weaker one loses")
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fill is not None:
        add_results(options.fill, options.results, options.synchronous)
        return
    count, problems = failures(options.results, options.synchronous)
    print(f"{count} different folders after a power failure, {len(problems)} of them with a lost or a damaged result")
    for problem in sorted(set(problems)):
        print(f"  {problems.count(problem)} times: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
