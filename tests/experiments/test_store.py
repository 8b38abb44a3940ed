"""The store: each result once, whole, and safe."""

import importlib.util
import os
import platform
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from job_kinds import small_job
from justjump.experiments.store import FORMAT, Store, StoreError, _alive, _born


def result(accuracy: float = 0.5) -> dict[str, Any]:
    return {"test_accuracy": accuracy, "val_accuracy": 0.4, "epochs": 3, "seconds": 1.0, "finished": True}


def test_a_result_comes_back(tmp_path: Path) -> None:
    with Store(tmp_path / "deep" / "store.sqlite") as store:
        assert small_job(0) not in store
        assert store.add(small_job(0), result(0.75))
        assert small_job(0) in store
        assert small_job(1) not in store
        kept = store.get(small_job(0))
    assert kept is not None
    assert kept["test_accuracy"] == 0.75
    assert kept["dataset"] == "cora"
    assert kept["config"]["hidden"] == 16


def test_no_job_twice(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store, Store(tmp_path / "s") as other:
        assert store.add(small_job(0), result(0.1))
        assert not other.add(small_job(0), result(0.2))
        assert len(store) == 1
        kept = other.get(small_job(0))
    assert kept is not None
    assert kept["test_accuracy"] == 0.1, "the first one stays"


@pytest.mark.slow
def test_a_claim_keeps_others_away_while_its_process_lives(tmp_path: Path) -> None:
    job = small_job(0)
    with Store(tmp_path / "s") as store:
        assert store.claim(job)
        assert store.claim(job), "one's own claim may be taken again"
        code = "import sys; from job_kinds import small_job; from justjump.experiments.store import Store; "
        code += "print(Store(sys.argv[1]).claim(small_job(0)))"
        ask = [sys.executable, "-c", code, str(tmp_path / "s")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        assert subprocess.run(ask, env=environment, capture_output=True, text=True).stdout.strip() == "False"
        store.release([job])
        assert subprocess.run(ask, env=environment, capture_output=True, text=True).stdout.strip() == "True"
        assert store.claim(job), "that process has ended, and its claim with it"
        store.add(job, result())
        assert not store.claim(job), "there is a result"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="this system does not list its processes")
def test_a_process_that_has_ended_has_no_claim_even_if_its_parent_has_not_noticed() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    born = _born(child.pid)
    assert _alive(platform.node(), child.pid, born)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    assert not _alive(platform.node(), child.pid, born)
    child.communicate()


def test_failures_are_kept_until_the_job_succeeds(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        store.add_failure(small_job(0), "no luck")
        assert [failure["message"] for failure in store.failures()] == ["no luck"]
        assert small_job(0) not in store
        store.add(small_job(0), result())
        assert store.failures() == []


@pytest.mark.slow
def test_kill_9_loses_nothing_that_was_added(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom job_kinds import small_job\nfrom justjump.experiments.store import Store\n"
        "store = Store(sys.argv[1])\n"
        "for seed in range(100000):\n"
        "    store.add(small_job(seed), {'test_accuracy': seed, 'padding': 'x' * 5000})\n"
        "    print(seed, flush=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, str(tmp_path / "s")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for _ in range(30):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        said = 30 + len(process.stdout.read().split())
    with Store(tmp_path / "s") as store:
        assert len(store) in (said, said + 1)
        assert all(small_job(seed) in store for seed in range(said))
        assert store.claim(small_job(200000)), "no lock is left behind"
        assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.slow
def test_several_writers_at_once(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom job_kinds import small_job\nfrom justjump.experiments.store import Store\n"
        "store = Store(sys.argv[1])\n"
        "print(sum(store.add(small_job(seed), {'test_accuracy': 1}) for seed in range(40)))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, str(tmp_path / "s")]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)]
    added = [int(writer.communicate()[0]) for writer in writers]
    assert sum(added) == 40
    with Store(tmp_path / "s") as store:
        assert len(store) == 40


def test_older_newer_and_foreign_files(tmp_path: Path) -> None:
    for name, version, word in (("old", FORMAT - 1, "an older"), ("new", FORMAT + 1, "a newer")):
        with sqlite3.connect(tmp_path / name) as db:
            db.execute("CREATE TABLE runs (name)")
            db.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(StoreError, match=f"{word} version.*name another store"):
            Store(tmp_path / name)
    (tmp_path / "text").write_text("this is no database, but it is longer than its header would be\n" * 20)
    with pytest.raises(StoreError, match="not a database.*name another store"):
        Store(tmp_path / "text")
    assert (tmp_path / "text").read_text().startswith("this is no database")


def test_a_full_disk(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        store.add(small_job(0), result())
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="full; free some space and give the same command again"):
            store.add(small_job(1), {**result(), "padding": "x" * 100_000})
        assert len(store) == 1
    with Store(tmp_path / "s") as store:
        assert small_job(0) in store
        assert store.add(small_job(1), result())


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file is a file: a store is a folder"):
        Store(tmp_path / "file" / "store.sqlite")
    with pytest.raises(StoreError, match="cannot open"):
        Store(tmp_path / "file" / "deeper" / "store.sqlite")
    with pytest.raises(StoreError, match="there is no store at"):
        Store(tmp_path / "none", read_only=True)
    with Store(tmp_path / "s") as store:
        store.add(small_job(0), result())
    with Store(tmp_path / "s", read_only=True) as store:
        assert len(store) == 1
        with pytest.raises(StoreError, match="readonly.*folder that you may write to"):
            store.add(small_job(1), result())


def test_merge(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as a, Store(tmp_path / "b") as b:
        a.add(small_job(0), result(0.1))
        a.add(small_job(1), result(0.2))
        b.add(small_job(1), result(0.3))
        b.add(small_job(2), result(0.4))
        merged = a.merge(b)
        assert (merged.added, merged.known, len(a), len(b)) == (1, 1, 3, 2)
        assert merged.different == (small_job(1).key,)
        assert a.merge(b).added == 0


def test_frame_and_export(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        assert store.frame().empty
        for seed in (1, 0):
            store.add(small_job(seed), result(seed / 10))
        frame = store.frame()
    assert list(frame["seed"]) == [0, 1]
    assert list(frame["config.hidden"]) == [16, 16]
    frame.to_parquet(tmp_path / "all.parquet")
    assert pd.read_parquet(tmp_path / "all.parquet")["protocol.fractions"][0] == "0.2/0.2/0.6"


def test_a_busy_store_waits(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store, Store(tmp_path / "s") as other:
        other._db.execute("PRAGMA busy_timeout = 100")
        store._db.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        with pytest.raises(StoreError, match="locked; another process"):
            other.add(small_job(0), result())
        assert time.monotonic() - start > 0.09
        store._db.execute("ROLLBACK")
        assert other.add(small_job(0), result())


@pytest.mark.parametrize("record", ["5", "", '{"a": ', "[" * 100000, "null"])
def test_a_damaged_record_is_named(tmp_path: Path, record: str) -> None:
    path = tmp_path / "s"
    with Store(path) as store:
        store.add(small_job(0), result())
        store.add_failure(small_job(1), "no reason")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE results SET record = ?", (record,))
        db.execute("UPDATE failures SET record = ?", (record,))
    db.close()
    damaged = "cannot read .*: a record is malformed .*; it is damaged: restore it from a copy"
    with Store(path) as store:
        for read in (lambda: store.get(small_job(0)), lambda: list(store.records()), store.failures):
            with pytest.raises(StoreError, match=damaged):
                read()


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("cc") is None or sys.platform != "linux",
    reason="compiles a library and preloads it: needs Linux and cc",
)
def test_a_power_failure_loses_no_result() -> None:
    path = Path(__file__).parents[2] / "scripts" / "power_loss_store.py"
    spec = importlib.util.spec_from_file_location("power_loss_store", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules["power_loss_store"] = script  # dataclasses look their module up
    spec.loader.exec_module(script)
    count, problems = script.failures(3)
    assert count > 200
    assert problems == []
    assert script.failures(2, "FULL")[1], "the script would notice that the journal's end is not synced"
