"""Rows between two visits of a part."""

import errno
import os
from pathlib import Path

import pytest
import torch

from justjump.files import FileError
from justjump.train.parts.storage import InMemory, OnDisk, new_folder


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("disk", [False, True])
def test_rows_stay(tmp_path: Path, disk: bool, dtype: torch.dtype) -> None:
    storage = OnDisk(dtype, tmp_path) if disk else InMemory(dtype)
    rows = storage.rows("h0-1", 3, 4)
    assert torch.equal(rows, torch.zeros(3, 4, dtype=dtype))
    rows[1] = 7
    del rows
    assert storage.rows("h0-1", 3, 4)[1].eq(7).all()
    held = storage.rows("h0-1", 3, 4)
    storage.write("h0-1", 1, torch.full((2, 4), 9, dtype=dtype))
    storage.write("h0-1", 3, torch.full((0, 4), 8, dtype=dtype))
    assert held[:, 0].tolist() == [0, 9, 9]  # who holds the rows sees it
    storage.fill("h0-1", 0, torch.arange(8, dtype=dtype).view(2, 4), torch.tensor([1, 1]))
    assert held.tolist() == [[4, 5, 6, 7], [4, 5, 6, 7], [9, 9, 9, 9]]
    assert storage.rows("h0-2", 0, 4).shape == (0, 4)


def test_rows_in_memory_may_be_placed() -> None:
    storage, rows = InMemory(torch.float32), torch.zeros(3, 4)
    storage.place({"h0-1": rows})
    storage.write("h0-1", 1, torch.ones(1, 4))
    assert storage.rows("h0-1", 3, 4) is rows
    assert rows.sum() == 4


def test_a_full_disk_is_an_error_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(FileError, match="of 48 bytes: No space left on device; free some space"):
        OnDisk(torch.float32, tmp_path).rows("h0-1", 3, 4)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_later_is_named(tmp_path: Path) -> None:
    storage = OnDisk(torch.float32, tmp_path)
    (tmp_path / "h0-1").symlink_to("/dev/full")
    with pytest.raises(FileError, match="cannot write .*h0-1: No space left on device; free some space"):
        storage.write("h0-1", 0, torch.ones(2, 4))


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "justjump-left"
    left.mkdir()
    (left / "lock").touch()
    (left / "rows").write_bytes(b"much")
    (tmp_path / "justjump-of-a-user").mkdir()
    with new_folder(tmp_path) as one:
        assert not left.exists()
        (one / "rows").write_bytes(b"mine")
        with new_folder(tmp_path) as other:
            assert one != other
        assert (one / "rows").exists(), "its process lives"
    assert [path.name for path in tmp_path.iterdir()] == ["justjump-of-a-user"]


def test_a_scratch_folder_is_made(tmp_path: Path) -> None:
    with new_folder(tmp_path / "new" / "scratch") as one:
        assert one.parent == tmp_path / "new" / "scratch"
    (tmp_path / "file").touch()
    with (
        pytest.raises(FileError, match="cannot write to the scratch folder .*file: "),
        new_folder(tmp_path / "file"),
    ):
        pass
