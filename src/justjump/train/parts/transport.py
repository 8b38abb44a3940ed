"""How rows come from one worker to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor


class Transport(Protocol):
    """A worker among ``world`` workers, counted from 0. ``bytes_sent`` counts the rows that others have of it."""

    rank: int
    world: int
    bytes_sent: int

    def exchange(self, outgoing: Sequence[Tensor], counts: Sequence[int]) -> Callable[[], list[Tensor]]:
        """Begin to send rows ``[k, d]`` to each worker. The result waits for those that each has for this one.

        Worker w sends ``counts[w]`` rows.
        """

    def gather(self, rows: Tensor, counts: Sequence[int]) -> list[Tensor]:
        """The rows of all workers; worker w has ``counts[w]``."""

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on some worker."""

    def meet(self) -> None:
        """Wait until all workers have come here."""


class Alone:
    """One process, which owns all parts."""

    rank, world, bytes_sent = 0, 1, 0

    def exchange(self, outgoing: Sequence[Tensor], counts: Sequence[int]) -> Callable[[], list[Tensor]]:
        return lambda: list(outgoing)

    def gather(self, rows: Tensor, counts: Sequence[int]) -> list[Tensor]:
        return [rows]

    def any(self, flag: bool) -> bool:
        return flag

    def meet(self) -> None:
        pass


class Processes:
    """A process of the default group of ``torch.distributed``."""

    def __init__(self) -> None:
        self.rank, self.world, self.bytes_sent = dist.get_rank(), dist.get_world_size(), 0

    def exchange(self, outgoing: Sequence[Tensor], counts: Sequence[int]) -> Callable[[], list[Tensor]]:
        sizes = [len(rows) for rows in outgoing]
        given = torch.cat(list(outgoing))
        found = given.new_empty(sum(counts), given.size(1))
        work = dist.all_to_all_single(found, given, list(counts), sizes, async_op=True)
        assert work is not None
        self.bytes_sent += given.nbytes - outgoing[self.rank].nbytes

        def arrived() -> list[Tensor]:
            work.wait()
            return list(torch.split(found, list(counts)))

        return arrived

    def gather(self, rows: Tensor, counts: Sequence[int]) -> list[Tensor]:
        # Gloo gathers tensors of one size.
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows
        found = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(found, padded)
        return [one[:count] for one, count in zip(found, counts, strict=True)]

    def any(self, flag: bool) -> bool:
        flags = torch.tensor([int(flag)])
        dist.all_reduce(flags, dist.ReduceOp.MAX)
        return bool(flags.item())

    def meet(self) -> None:
        dist.all_reduce(torch.zeros(1))
