"""Workers, here threads, that read each other's rows where they are."""

import errno
import os
from pathlib import Path

import pytest
import torch

from justjump.train.parts import sharing
from justjump.train.parts.sharing import Sizes, share
from justjump.train.parts.storage import InMemory

from .conftest import Turns, in_turns

SIZES: list[Sizes] = [{f"h-{worker}": (3 + worker, 4), f"g-{worker}": (worker % 2, 2)} for worker in range(3)]
NONE: list[frozenset[int]] = [frozenset()] * 3
pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="memory without a name is there on Linux alone")


def names_of_open_files() -> list[str]:
    return [str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]


def shared_by(world: int) -> list[frozenset[int]]:
    """Who reaches whom, after all have written their rows and have read those of the others."""

    def work(transport: Turns) -> list[frozenset[int]]:
        storage = InMemory(torch.float32)
        reached = share(storage, transport, SIZES[:world])
        own = transport.rank
        for name, size in SIZES[own].items():
            assert not storage.rows(name, *size).any()
            storage.write(name, 0, torch.full(size, 1.0 + own))
        transport.meet()
        for other in range(world):
            expected = 1.0 + other if other in reached[own] or other == own else 0.0
            for name, size in SIZES[other].items():
                assert torch.equal(storage.rows(name, *size), torch.full(size, expected))
        transport.meet()
        return reached

    first, *others = in_turns(world, work)
    assert all(other == first for other in others)
    assert not any("justjump-rows" in name for name in names_of_open_files())
    return list(first)


def test_rows_of_one_machine_are_seen(machines: int) -> None:
    """Two machines are those of the workers 0 and 2, and of worker 1."""
    everyone = [frozenset({1, 2}), frozenset({0, 2}), frozenset({0, 1})]
    assert shared_by(3) == {1: everyone, 2: [frozenset({2}), frozenset(), frozenset({0})], 3: NONE}[machines]
    assert shared_by(1) == [frozenset()]


def test_a_lack_of_memory_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    take = os.posix_fallocate

    def full(file: int, begin: int, size: int) -> None:
        if Turns.here.rank == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        take(file, begin, size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert shared_by(3) == [frozenset({2}), frozenset(), frozenset({0})]


@pytest.mark.parametrize("place", ["", "/proc/1/fd/999999 00", "/dev/null 00", "/nowhere 1f", "nonsense"])
def test_what_is_not_the_memory_of_a_worker_is_not_taken(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    tell = sharing._told

    def tell_something_else(transport: Turns, text: str) -> list[str]:
        return tell(transport, place if transport.rank == 2 and text.startswith("/proc") else text)

    monkeypatch.setattr(sharing, "_told", tell_something_else)
    assert shared_by(3) == [frozenset({1}), frozenset({0}), frozenset()]


def test_systems_without_such_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    assert shared_by(3) == NONE
    monkeypatch.setattr(sharing, "Path", lambda name: Path("/nowhere") / name[1:])
    assert sharing.machine() == ""
    assert shared_by(3) == NONE
