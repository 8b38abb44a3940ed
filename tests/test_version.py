"""pyproject.toml alone states the version; what else names it agrees."""

import importlib.metadata
import re
from pathlib import Path

import pytest

import justjump

ROOT = Path(__file__).parents[1]


def version_in(name: str, pattern: str) -> str:
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return found[1]


def test_the_package_and_its_citation_have_the_version_of_the_project() -> None:
    stated = version_in("pyproject.toml", r'^version = "(.+)"$')
    assert justjump.__version__ == stated
    assert version_in("CITATION.cff", r"^version: (.+)$") == stated


def test_sources_that_are_not_installed_have_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert justjump.__version__ == "unknown"
