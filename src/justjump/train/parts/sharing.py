"""Rows that workers of one machine read where they are, in each other's memory, instead of sending them.

The memory has no name: it is gone with the last of its processes, however that one ends, and the size of ``/dev/shm``
does not matter.
"""

from __future__ import annotations

import mmap
import os
import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from torch import Tensor

from justjump.train.parts.storage import InMemory
from justjump.train.parts.transport import Transport

Sizes = Mapping[str, tuple[int, int]]  # rows and channels by names


def share(storage: InMemory, transport: Transport, sizes: Sequence[Sizes]) -> list[frozenset[int]]:
    """Let workers of one machine read each other's rows. The result is, for each worker, those that it reaches.

    Each worker says where its memory is, and tries to map that of the others. The storage has the rows of those that
    are reached then. Two workers that do not reach each other send rows; this is no error.

    Args:
        storage: of the rows of this worker, of which none was asked for yet
        transport: to the other workers
        sizes: of the rows of each worker
    """
    rank, world = transport.rank, transport.world
    if world == 1:
        return [frozenset()]
    here = machine() or f"worker {rank}"
    near = [worker for worker, there in enumerate(_told(transport, here)) if there == here]
    ends = [sum(_room(size, storage.dtype) for size in of_worker.values()) for of_worker in sizes]
    found: dict[int, mmap.mmap] = {}
    with _new_memory(ends[rank] if len(near) > 1 else 0) as place:
        places = _told(transport, place)
        for worker in near:
            with suppress(OSError, ValueError):
                found[worker] = _mapped(places[worker], ends[worker])
        opened = torch.tensor([[worker in found for worker in range(world)]]).long()
        table = torch.cat(transport.gather(opened, [1] * world))  # after this, all have mapped what they can
    good = table.diagonal()
    mutual = table * table.T * good[:, None] * good * (1 - torch.eye(world, dtype=torch.long))
    reached = [frozenset(row.nonzero().flatten().tolist()) for row in mutual]
    for worker in (rank, *reached[rank]) if reached[rank] else ():
        storage.place(_rows(found[worker], sizes[worker], storage.dtype))
    return reached


def machine() -> str:
    """What tells the machine, or the container, of this process from others; empty if nothing does."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        spaces = [str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("pid", "net")]
    except OSError:
        return ""
    return " ".join([boot, *spaces, socket.gethostname()])


def _told(transport: Transport, text: str) -> list[str]:
    """What each worker has to say."""
    own = torch.frombuffer(bytearray(text.encode() or b" "), dtype=torch.uint8)
    counts = [int(one) for one in transport.gather(torch.tensor([len(own)]), [1] * transport.world)]
    return [bytes(one.tolist()).decode().strip() for one in transport.gather(own, counts)]


@contextmanager
def _new_memory(size: int) -> Iterator[str]:
    """Memory, and where others find it within this block; nowhere if there is none. Mappings of it stay."""
    if not size or not hasattr(os, "memfd_create"):
        yield ""
        return
    token, file = secrets.token_bytes(16), os.memfd_create("justjump-rows")
    try:
        place = ""
        with suppress(OSError):
            os.posix_fallocate(file, 0, size + len(token))  # a lack of memory shows here, and not by a signal later
            os.pwrite(file, token, size)
            place = f"/proc/{os.getpid()}/fd/{file} {token.hex()}"
        yield place
    finally:
        os.close(file)


def _mapped(place: str, size: int) -> mmap.mmap:
    """The memory of a worker. ValueError if another file is there: process numbers say less than they seem to."""
    path, token = place.split()
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if os.pread(file, len(token), size).hex() != token:
            raise ValueError(f"{path} is of another process")
        return mmap.mmap(file, size)
    finally:
        os.close(file)


def _rows(memory: mmap.mmap, sizes: Sizes, dtype: torch.dtype) -> dict[str, Tensor]:
    found, begin = {}, 0
    for name, (count, channels) in sizes.items():
        if count:
            flat = torch.frombuffer(memory, dtype=dtype, count=count * channels, offset=begin)
            found[name] = flat.view(count, channels)
        begin += _room((count, channels), dtype)
    return found


def _room(size: tuple[int, int], dtype: torch.dtype) -> int:
    """Bytes of rows, in whole pages."""
    count, channels = size
    return -(-count * channels * dtype.itemsize // mmap.PAGESIZE) * mmap.PAGESIZE
