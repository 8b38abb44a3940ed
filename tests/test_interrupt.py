"""Ctrl-C in the middle of an import ends the process; everywhere else it is a KeyboardInterrupt."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from justjump.interrupt import interrupt, is_default

# As a library that notices the interrupt and goes on, with half of it loaded.
INTERRUPTED = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except BaseException:
    raise ImportError("cannot load module more than once per process")
"""


@pytest.mark.parametrize("start", ["import justjump.__main__; justjump.__main__.main()", None])
def test_the_command_ends_while_it_imports(tmp_path: Path, start: str | None) -> None:
    (tmp_path / "typer.py").write_text(INTERRUPTED)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, *(["-m", "justjump"] if start is None else ["-c", start]), "--help"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "stopped\n")


def test_elsewhere_it_is_raised() -> None:
    assert is_default()
    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGINT, sys._getframe())
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        assert is_default()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert not is_default()
    finally:
        signal.signal(signal.SIGINT, before)
