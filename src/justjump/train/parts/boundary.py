"""Rows on the boundary of parts: the newest go to the parts that read them, gradients go back to their owners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from justjump.data.parts import Parts
from justjump.train.parts.transport import Transport

Rows = Callable[[int], Tensor]  # rows(p) is [n + h, d] of part p
# fill(p, first, source, chosen) replaces rows of own part p from number first on, by chosen rows of a source or by all
Fill = Callable[[int, int, Tensor, Tensor | None], None]
Picked = Callable[[int, int], "Tensor | slice"]  # rows of an own part that concern another part
Arrived = Callable[[], dict[tuple[int, int], Tensor]]  # waits for what parts of other workers have for own parts


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

    Workers send in turns, in each turn the rows of one own part: they travel while the next part is computed. A worker
    with fewer parts than another one has empty turns at the end. To workers that are reached nothing is sent: they meet
    when all have computed their parts, and read the rows of each other where they are.

    Args:
        parts: of the graph
        owned: the parts of each worker
        transport: to the other workers
        reached: for each worker, those whose rows it reads where they are; by default none
    """

    def __init__(
        self, parts: Parts, owned: Sequence[range], transport: Transport, reached: Sequence[frozenset[int]] = ()
    ) -> None:
        self.owned, self.transport = owned, transport
        self.own = owned[transport.rank]
        self.turns = max(map(len, owned))
        reached = reached or [frozenset()] * len(owned)
        self._reached = reached[transport.rank]
        self.seen = [part for worker in sorted(self._reached) for part in owned[worker]]
        self._meets, self._sends = any(reached), any(len(those) + 1 < len(owned) for those in reached)
        self._parts = {number: parts[number] for number in (*self.own, *self.seen)}  # with small arrays alone

    def sends(self, mine: int, other: int) -> Tensor:
        """Local numbers of the nodes of an own part, or of one that is seen, that another part reads."""
        return torch.from_numpy(self._parts[mine].send_to(other))

    def receives(self, mine: int, other: int) -> slice:
        """Local numbers of the nodes of another part that an own part reads, or one that is seen."""
        part = self._parts[mine]
        rows = part.receive_from(other)
        return slice(part.num_nodes + rows.start, part.num_nodes + rows.stop)

    def meet(self) -> None:
        """Wait for all workers, if some of them read rows of each other: what was written before is there."""
        if self._meets:
            self.transport.meet()

    def exchange(self, turn: int, rows: Rows, pick: Picked, place: Picked) -> Arrived:
        """Begin a turn, in which one part of each worker sends to all parts of the others.

        Args:
            turn: number of the own part that sends, counted from 0
            rows: of own parts
            pick: the rows that another part gets
            place: where the rows of another part belong
        """
        if self.transport.world == 1:
            return dict
        senders = [own[turn] if turn < len(own) else None for own in self.owned]
        sender = senders[self.transport.rank]
        sent = rows(self.own[0] if sender is None else sender)
        if sender is not None:  # what is read where it is counts as sent
            read = sum(_length(pick(sender, part)) for part in self.seen)
            self.transport.bytes_sent += read * sent.size(1) * sent.itemsize
        if not self._sends:
            return dict
        outgoing, pairs = [], []
        for worker, theirs in enumerate(self.owned):
            here = worker == self.transport.rank or worker in self._reached
            picked = [] if here or sender is None else [sent[pick(sender, other)] for other in theirs]
            outgoing.append(torch.cat([sent[:0], *picked]))
            other = None if here else senders[worker]
            pairs.append([] if other is None else [(other, mine) for mine in self.own])
        sizes = [[_length(place(mine, other)) for other, mine in of_worker] for of_worker in pairs]
        arrived = self.transport.exchange(outgoing, [sum(of_worker) for of_worker in sizes])

        def wait() -> dict[tuple[int, int], Tensor]:
            return {
                pair: found
                for of_worker, lengths, block in zip(pairs, sizes, arrived(), strict=True)
                for pair, found in zip(of_worker, torch.split(block, lengths) if lengths else (), strict=True)
            }

        return wait


class Filling:
    """Rows of own parts on their way to all parts that read them.

    Args:
        boundary: of the own parts
        rows: of own parts, and of those that are seen
        fill: of own parts
    """

    def __init__(self, boundary: Boundary, rows: Rows, fill: Fill) -> None:
        self.boundary, self.rows, self.fill = boundary, rows, fill
        self._turn = 0
        self._arrived: Arrived = dict

    def send(self) -> None:
        """The rows of the next own part are computed."""
        mine = self.boundary.own[self._turn]
        self._begin()
        self._read(mine)

    def finish(self) -> None:
        """Wait for the rows of all other parts."""
        while self._turn < self.boundary.turns:
            self._begin()
        self._take()
        self.boundary.meet()
        for other in self.boundary.seen:
            self._read(other)

    def _begin(self) -> None:
        self._take()  # so that rows of one turn alone wait in memory
        self._arrived = self.boundary.exchange(self._turn, self.rows, self.boundary.sends, self.boundary.receives)
        self._turn += 1

    def _take(self) -> None:
        for (other, mine), values in self._arrived().items():
            if len(values):
                self.fill(mine, self.boundary.receives(mine, other).start, values, None)

    def _read(self, other: int) -> None:
        """Rows of one part, which are at hand, for all own parts."""
        source = self.rows(other)  # opened once: a page of a file costs time whenever it is first touched
        for mine in self.boundary.own:
            nodes = self.boundary.sends(other, mine)
            if len(nodes):
                self.fill(mine, self.boundary.receives(mine, other).start, source, nodes)


class Returning:
    """Gradients of halo rows on their way to the owners of these rows.

    Args:
        boundary: of the own parts
        grads: of own parts, and of those that are seen
    """

    def __init__(self, boundary: Boundary, grads: Rows) -> None:
        self.boundary, self.grads = boundary, grads
        self._arrived: list[Arrived] = []

    def send(self) -> None:
        """The gradients of the halo rows of the next own part are complete."""
        boundary, turn = self.boundary, len(self._arrived)
        self._arrived.append(boundary.exchange(turn, self.grads, boundary.receives, boundary.sends))

    def finish(self) -> None:
        """Add them to the gradients of the owners, in the order of the parts that they come from."""
        boundary = self.boundary
        while len(self._arrived) < boundary.turns:
            self.send()
        received = {pair: found for arrived in self._arrived for pair, found in arrived().items()}
        boundary.meet()
        at_hand = {*boundary.own, *boundary.seen}
        for mine in boundary.own:
            into = self.grads(mine)
            for other in range(boundary.owned[-1].stop):
                nodes = boundary.sends(mine, other)
                if len(nodes):
                    here = other in at_hand
                    found = self.grads(other)[boundary.receives(other, mine)] if here else received[other, mine]
                    into.index_add_(0, nodes, found)


def _length(rows: Tensor | slice) -> int:
    return int(rows.stop - rows.start) if isinstance(rows, slice) else len(rows)
