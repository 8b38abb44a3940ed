"""A conversion that is killed, or that finds no room, leaves nothing that looks finished."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from justjump.data import load, open_parts
from justjump.data.parts import npy
from justjump.files import FileError
from made_graphs import made_graph

KILLS = """
import json, os, signal, sys
from pathlib import Path
import numpy as np
from justjump import data, files
from justjump.data.parts import manifest, npy

folder, graph = Path(sys.argv[1]), data.load("cora")
nodes, edges = folder / "nodes.csv", folder / "edges.csv"
nodes.write_text("id,x\\n" + "".join(f"{n},{n % 7}\\n" for n in range(50)))
edges.write_text("source,target\\n" + "".join(f"{n},{n * 7 % 50}\\n" for n in range(50)))
files._sync = lambda path: None
calls = 0

def killing(function, last):
    def call(*args, **options):
        global calls
        calls += 1
        if calls >= last:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **options)
    return call

def attempt(way, owner, name, last):
    pid = os.fork()
    if not pid:
        setattr(owner, name, killing(getattr(owner, name), last))
        if way == "graph":
            graph.partition(4, folder / "parts", "hash")
        else:
            data.partition_tables(nodes, edges, 4, folder / "parts")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

for way in ("graph", "tables"):
    for owner, name, lasts in (
        (npy.ArrayFile, "append", (1, 30, 60)),
        (npy.ArrayFile, "close", (40,)),
        (manifest.Manifest, "write", (1,)),
        (files, "_sync", (60,)),
    ):
        for last in lasts:
            code = attempt(way, owner, name, last)
            print(json.dumps([way, name, last, code, (folder / "parts").exists()]))
    attempt(way, npy, "check_array", 10**9)
    data.open_parts(folder / "parts")
    print(json.dumps([way, "whole", 0, 0, sorted(path.name for path in folder.iterdir())]))
    (folder / "parts").rename(folder / way)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes, and this system cannot fork")
def test_a_killed_conversion_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLS, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    killed = [line for line in lines if line[1] != "whole"]
    assert len(killed) == 12
    for way, name, last, code, exists in killed:
        assert (code, exists) == (-9, False), (way, name, last)
    # The next attempt removes what is left of the others.
    assert lines[6][4] == ["edges.csv", "nodes.csv", "parts"]
    assert lines[13][4] == ["edges.csv", "graph", "nodes.csv", "parts"]
    assert len(open_parts(tmp_path / "graph")) == len(open_parts(tmp_path / "tables")) == 4


@pytest.mark.parametrize("write", [1, 20, 70])
def test_a_full_disk_is_one_sentence(write: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, append = 0, npy.ArrayFile.append

    def fails(self: npy.ArrayFile, rows: object) -> None:
        nonlocal calls
        calls += 1
        if calls == write:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(npy.ArrayFile, "append", fails)
    with pytest.raises(FileError, match="cannot write .*parts: No space left on device; free some space and give"):
        load("cora").partition(4, tmp_path / "parts", "hash")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "thesis.txt").write_text("mine")
    graph = made_graph("multiclass", 20)
    with pytest.raises(FileError, match="it is there already; remove it, or choose another folder"):
        graph.partition(2, tmp_path / "parts", "hash")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileError, match="it is there already"):
        graph.partition(2, tmp_path / "file", "hash")
    assert (tmp_path / "parts" / "thesis.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert len(graph.partition(2, tmp_path / "empty", "hash")) == 2
    assert len(graph.partition(2, tmp_path / "new" / "deep", "hash")) == 2
