"""Rows on the boundary of parts: the newest go to the parts that read them, gradients go back to their owners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from justjump.data.parts import Parts
from justjump.train.parts.transport import Transport


def dealt(parts: int, workers: int) -> list[range]:
    """Which parts each worker owns: as many as the others, and those of one worker together.

    >>> dealt(5, 2)
    [range(0, 2), range(2, 5)]
    """
    if not 1 <= workers <= parts:
        raise ValueError(f"{workers} workers cannot share {parts} parts: choose 1 to {parts} workers")
    bounds = [worker * parts // workers for worker in range(workers + 1)]
    return [range(*pair) for pair in pairwise(bounds)]


class Boundary:
    """What the parts of one worker send and receive.

    Args:
        parts: of the graph
        owned: the parts of each worker
        transport: to the other workers
    """

    def __init__(self, parts: Parts, owned: Sequence[range], transport: Transport) -> None:
        self.owned, self.transport = owned, transport
        self.own = owned[transport.rank]
        self._parts = {number: parts[number] for number in self.own}  # with small arrays alone

    def sends(self, mine: int, other: int) -> Tensor:
        """Local numbers of the nodes of an own part that another part reads."""
        return torch.from_numpy(self._parts[mine].send_to(other))

    def receives(self, mine: int, other: int) -> slice:
        """Local numbers of the nodes of another part that an own part reads."""
        part = self._parts[mine]
        rows = part.receive_from(other)
        return slice(part.num_nodes + rows.start, part.num_nodes + rows.stop)

    def fill_halos(self, rows: Callable[[int], Tensor], write: Callable[[int, int, Tensor], None]) -> None:
        """Bring the rows of own nodes to all parts that read them.

        Args:
            rows: ``rows(p)`` is ``[n + h, d]`` of an own part
            write: ``write(p, first, values)`` writes rows of an own part from number ``first`` on
        """
        outgoing = self._outgoing(lambda mine, other: rows(mine)[self.sends(mine, other)], rows)
        received = self._received(outgoing, lambda mine, other: _length(self.receives(mine, other)))
        for (other, mine), values in received.items():
            write(mine, self.receives(mine, other).start, values)
        for other in self.own:  # each part is opened once: a page of a file costs time whenever it is first touched
            nodes = [self.sends(other, mine) for mine in self.own]
            values = rows(other)[torch.cat(nodes)]
            for mine, own in zip(self.own, torch.split(values, list(map(len, nodes))), strict=True):
                if len(own):
                    write(mine, self.receives(mine, other).start, own)

    def return_gradients(self, grads: Callable[[int], Tensor]) -> None:
        """Add the gradients of halo rows to those of their owners, in the order of the parts that they come from."""
        outgoing = self._outgoing(lambda mine, other: grads(mine)[self.receives(mine, other)], grads)
        received = self._received(outgoing, lambda mine, other: len(self.sends(mine, other)))
        for mine in self.own:
            into = grads(mine)
            for other in range(self.owned[-1].stop):
                nodes = self.sends(mine, other)
                if len(nodes):
                    here = other in self.own
                    found = grads(other)[self.receives(other, mine)] if here else received[other, mine]
                    into.index_add_(0, nodes, found)

    def _outgoing(self, chosen: Callable[[int, int], Tensor], rows: Callable[[int], Tensor]) -> list[Tensor]:
        """For each other worker, by its parts and then by own parts."""
        nothing = rows(self.own[0])[:0]
        found = []
        for worker, theirs in enumerate(self.owned):
            there = worker != self.transport.rank
            found.append(torch.cat([nothing, *(chosen(mine, other) for other in theirs for mine in self.own if there)]))
        return found

    def _received(self, outgoing: list[Tensor], count: Callable[[int, int], int]) -> dict[tuple[int, int], Tensor]:
        """What each part of another worker has sent to each own part."""
        if self.transport.world == 1:
            return {}
        pairs = [
            [(other, mine) for mine in self.own for other in theirs if worker != self.transport.rank]
            for worker, theirs in enumerate(self.owned)
        ]
        sizes = [[count(mine, other) for other, mine in of_worker] for of_worker in pairs]
        arrived = self.transport.exchange(outgoing, [sum(of_worker) for of_worker in sizes])
        return {
            pair: rows
            for of_worker, lengths, block in zip(pairs, sizes, arrived, strict=True)
            for pair, rows in zip(of_worker, torch.split(block, lengths) if lengths else (), strict=True)
        }


def _length(rows: slice) -> int:
    return int(rows.stop - rows.start)
