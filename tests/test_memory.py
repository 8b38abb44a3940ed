"""How much memory there is, also in a container."""

import math
from pathlib import Path

import pytest

from justjump.memory import available_memory, free_in_group


def test_available_memory_is_known_or_unlimited() -> None:
    assert available_memory() > 2**20


def test_limits_of_a_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What files have cached counts as free."""
    files = {"memory.max": "1000", "memory.current": "900", "memory.stat": "anon 100\ninactive_file 700\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    read = Path.read_text

    def elsewhere(path: Path, *args: str, **options: str) -> str:
        if path.parent == Path("/sys/fs/cgroup"):
            return read(tmp_path / path.name)
        raise OSError

    monkeypatch.setattr(Path, "read_text", elsewhere)
    assert free_in_group() == [800]
    assert available_memory() == 800
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory() == math.inf
