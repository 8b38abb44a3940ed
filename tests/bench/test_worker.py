"""One side of a case in a process of its own."""

import json
import subprocess
import sys

import pytest

from justjump.bench.worker import memory


@pytest.mark.skipif(sys.platform != "linux", reason="reads in /proc how much memory is taken, which only Linux has")
def test_memory_in_megabytes() -> None:
    assert 10 < memory("VmRSS") <= memory("VmHWM") < 2**20
    assert memory("VmNothing") != memory("VmNothing"), "NaN"


@pytest.mark.slow
def test_answers_one_line_for_each_line() -> None:
    command = [sys.executable, "-m", "justjump.bench.worker", "gcn-computers", "ours", "1", "1", "0", ""]
    done = subprocess.run(command, input="1\n3\n", capture_output=True, text=True, check=True)
    first, *answers = map(json.loads, done.stdout.splitlines())
    assert len(first["check"]) == 2
    assert [len(answer["seconds"]) for answer in answers] == [1, 3]
