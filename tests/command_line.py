"""The command line as a user meets it, for the tests of many modules."""

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

from forked import run_forked

QUICK = ["--layers", "1", "--hidden", "16", "--heads", "4", "--groups", "4", "--max-epochs", "3"]


def justjump(*arguments: str | Path, code: int = 0, **settings: Any) -> subprocess.CompletedProcess[str]:
    """What a command prints. It must end with this exit code."""
    asked = list(map(str, arguments))
    if settings.keys() <= {"cwd"} and sys.platform == "linux":
        done = run_forked(asked, **settings)
    else:
        command = [sys.executable, "-m", "justjump", *asked]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **settings)
    assert done.returncode == code, done.stderr
    return done


def read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))
