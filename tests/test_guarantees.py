"""Every test that docs/guarantees.md names exists, and every promise names one."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
PROMISES, NOT_PROMISED = PAGE.split("## Not promised")
NAMED = sorted(set(re.findall(r"`(tests/\S+?\.py)::(\w+)`", PAGE)))


def test_the_page_names_tests() -> None:
    assert len(NAMED) > 40
    assert "::" not in NOT_PROMISED


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[f"{file}::{name}" for file, name in NAMED])
def test_the_named_test_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("promise", re.findall(r"^- (.+(?:\n  .+)*)", PROMISES, flags=re.MULTILINE))
def test_every_promise_names_a_test(promise: str) -> None:
    assert re.search(r"`tests/\S+\.py::\w+`$", promise)
