"""Tests of graphs in parts write thousands of small files."""

from pathlib import Path

import pytest

from justjump import files


@pytest.fixture(autouse=True)
def quick_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the disk; tests/test_files.py tests that writers do."""

    def sync(path: Path) -> None:
        assert path.exists()

    monkeypatch.setattr(files, "_sync", sync)
