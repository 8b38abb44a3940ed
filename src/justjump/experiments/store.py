"""Results of jobs in one SQLite file: at most one per job, safe when a process is killed, for several writers."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import justjump
from justjump.experiments.jobs import Job
from justjump.options import restored
from justjump.train import Protocol, RunError
from justjump.train.errors import first_line

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
WAIT_SECONDS = 60.0

SCHEMA = f"""
CREATE TABLE results (job TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE failures (job TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE claims (job TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = {FORMAT};
"""


class StoreError(RunError):
    """The store cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Merged:
    """The outcome of a merge: new results, results that were here already, and keys whose accuracies differ."""

    added: int
    known: int
    different: tuple[str, ...]


class Store:
    """Results by the key of their job, in a file.

    A result is there completely or not at all: each is one transaction that is on the disk before :meth:`add` returns.
    Any number of processes of one machine may write. Several machines use one store each, and :meth:`merge`.

    Args:
        path: the file; it is created, with its folders, if it does not exist
        read_only: open an existing file for reading only
    """

    def __init__(self, path: str | Path, read_only: bool = False) -> None:
        self.path = Path(path)
        if self.path.parent.is_file():
            raise StoreError(f"{self.path.parent} is a file: a store is a folder, name another")
        if read_only and not self.path.is_file():
            raise StoreError(f"there is no store at {self.path}: justjump reproduce or sweep makes one")
        with self._errors("open"):
            if not read_only:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            uri = f"{self.path.resolve().as_uri()}?mode={'ro' if read_only else 'rwc'}"
            self._db = sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS, isolation_level=None)
            # A rollback journal keeps the store in one file, and EXTRA flushes it and its folder at each commit.
            self._db.execute("PRAGMA synchronous = EXTRA")
            self._check_format(read_only)

    def _check_format(self, read_only: bool) -> None:
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        empty = not self._db.execute("SELECT 1 FROM sqlite_master").fetchone()
        if empty and not read_only:
            with self._transaction():  # another process may be creating it at this moment
                if not self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
                    for statement in filter(str.strip, SCHEMA.split(";")):
                        self._db.execute(statement)
        elif found != FORMAT:
            age = "an older" if found < FORMAT else "a newer"
            raise StoreError(
                f"{self.path} was written by {age} version of justjump (format {found}, this one reads {FORMAT}), or "
                "by another program: name another store, or export it with the version that wrote it"
            )

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM results").fetchone()[0])

    def __contains__(self, job: Job) -> bool:
        return self.get(job) is not None

    def get(self, job: Job) -> dict[str, Any] | None:
        """The result of a job, or None."""
        with self._errors("read"):
            row = self._db.execute("SELECT record FROM results WHERE job = ?", (job.key,)).fetchone()
            return None if row is None else _read(row[0])

    def results(self, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """The results of those jobs that have one, in the order of the jobs."""
        return [result for job in jobs if (result := self.get(job)) is not None]

    def add(self, job: Job, result: dict[str, Any]) -> bool:
        """Store a result and drop the claim on its job. Returns False if the job had a result already, which stays."""
        record = {
            **result,
            **job.describe(),
            "written": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "version": justjump.__version__,
            "machine": f"{platform.machine()} {platform.system()}",
        }
        with self._errors("write"), self._transaction():
            added = self._db.execute("INSERT OR IGNORE INTO results VALUES (?, ?)", (job.key, json.dumps(record)))
            self._db.execute("DELETE FROM claims WHERE job = ?", (job.key,))
            self._db.execute("DELETE FROM failures WHERE job = ?", (job.key,))
        return added.rowcount == 1

    def add_failure(self, job: Job, message: str, traceback: str = "") -> None:
        """Note that a job failed and drop the claim on it. The job runs again when it is asked for again."""
        record = {**job.describe(), "message": message, "traceback": traceback}
        with self._errors("write"), self._transaction():
            self._db.execute("INSERT OR REPLACE INTO failures VALUES (?, ?)", (job.key, json.dumps(record)))
            self._db.execute("DELETE FROM claims WHERE job = ?", (job.key,))

    def failures(self) -> list[dict[str, Any]]:
        """All jobs that failed and have not succeeded since."""
        with self._errors("read"):
            return [_read(record) for (record,) in self._db.execute("SELECT record FROM failures ORDER BY job")]

    def claim(self, job: Job) -> bool:
        """Take a job for this process. Returns False if it has a result, or if another living process works on it."""
        me = (platform.node(), os.getpid(), _born(os.getpid()))
        with self._errors("write"), self._transaction():
            if self._db.execute("SELECT 1 FROM results WHERE job = ?", (job.key,)).fetchone():
                return False
            owner = self._db.execute("SELECT host, pid, born FROM claims WHERE job = ?", (job.key,)).fetchone()
            if owner is not None and owner != me and _alive(*owner):
                return False
            self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)", (job.key, *me))
        return True

    def release(self, jobs: Iterable[Job]) -> None:
        """Give up claims of this process."""
        with self._errors("write"), self._transaction():
            own = [(job.key, platform.node(), os.getpid()) for job in jobs]
            self._db.executemany("DELETE FROM claims WHERE job = ? AND host = ? AND pid = ?", own)

    def records(self) -> Iterator[dict[str, Any]]:
        """Everything about every result, ordered by the key of its job."""
        with self._errors("read"):
            for key, record in self._db.execute("SELECT job, record FROM results ORDER BY job"):
                yield {"job": key, **_read(record)}

    def frame(self) -> pd.DataFrame:
        """One row per result; settings are columns named ``config.layers``, ``protocol.patience`` and so on."""
        import pandas as pd

        hidden = ("class_names", "feature_names", "num_features", "preprocessing", "finished", "split_sizes")
        rows = [{name: value for name, value in row.items() if name not in hidden} for row in self.records()]
        rows = [row | {"protocol": restored(Protocol, row["protocol"])} for row in rows]
        frame = pd.json_normalize(rows)
        if "protocol.fractions" in frame:
            frame["protocol.fractions"] = ["/".join(map(str, shares)) for shares in frame["protocol.fractions"]]
        order = ["dataset", "config.model", "config.layers", "config.hidden", "config.groups", "config.heads", "seed"]
        return frame.sort_values(order, ignore_index=True) if rows else frame

    def merge(self, other: Store) -> Merged:
        """Take over the results of another store. Results that are here already stay; differences are reported."""
        added, known, different = 0, 0, []
        with self._errors("write"), self._transaction():
            for record in other.records():
                key = record.pop("job")
                row = self._db.execute("SELECT record FROM results WHERE job = ?", (key,)).fetchone()
                if row is None:
                    self._db.execute("INSERT INTO results VALUES (?, ?)", (key, json.dumps(record)))
                    self._db.execute("DELETE FROM failures WHERE job = ?", (key,))
                    added += 1
                    continue
                known += 1
                if _read(row[0]).get("test_accuracy") != record.get("test_accuracy"):
                    different.append(key)
        return Merged(added, known, tuple(different))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Turn sqlite's errors into ones that say what to do. In all these cases, earlier results are safe."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            hints = {
                "full": "free some space and give the same command again: it goes on from what is there",
                "readonly": "name a store in a folder that you may write to",
                "read-only": "name a store in a folder that you may write to",
                "Permission": "name a store in a folder that you may write to",
                "unable to open": "name a store in a folder that you may read and write",
                "locked": "another process has used it for a minute: try again when that has ended",
                "not a database": "it is not a store of justjump: name another store",
                "malformed": "it is damaged: restore it from a copy, or name another store",
            }
            hint = next((text for word, text in hints.items() if word.lower() in reason.lower()), "")
            raise StoreError(f"cannot {doing} {self.path}: {reason}" + (f"; {hint}" if hint else "")) from error


def _read(record: Any) -> dict[str, Any]:
    """The values of a record; sqlite's error if it cannot be one of ours."""
    try:
        return dict(json.loads(record))
    except (TypeError, ValueError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"a record is malformed ({first_line(error)})") from error


def _born(pid: int) -> str:
    """When a process started, in ticks of its system: a pid may be used again, but not with the same start.

    Nothing if it has ended and its parent has not asked how.
    """
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return "" if state == "Z" else rest[18]
    except (OSError, IndexError, ValueError):
        return ""


def _alive(host: str, pid: int, born: str) -> bool:
    """Whether a process still runs. A store is for one machine: processes of other machines count as ended."""
    if host != platform.node():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _born(pid) == born
