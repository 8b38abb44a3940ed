"""A step of training over parts: forward piece by piece, backward by computing each piece again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from justjump.data.parts import Parts
from justjump.nn import NodeClassifier
from justjump.ops import Adjacency, History
from justjump.ops.dropout import rows_from
from justjump.train.objective import Objective
from justjump.train.parts.boundary import Boundary, Filling, Returning, dealt
from justjump.train.parts.local import LocalPart
from justjump.train.parts.nodes import Chosen
from justjump.train.parts.pieces import parameters_of, read_by, take_gradients, takes_weights
from justjump.train.parts.sharing import Sizes, share
from justjump.train.parts.storage import InMemory, Storage
from justjump.train.parts.transport import Transport
from justjump.train.parts.tree import TreeSum, joined, tree_nodes


class Executor:
    """The parts of one worker, and the network that is trained on all parts.

    All parts draw the same seeds of dropout, in the order in which the network draws them on the whole graph; the masks
    are then those of the whole graph, because rows and edges are numbered as there.

    Args:
        parts: of the graph
        model: the same on all workers
        transport: to the other workers
        storage: of representations and their gradients
    """

    def __init__(self, parts: Parts, model: NodeClassifier, transport: Transport, storage: Storage) -> None:
        self.parts, self.model, self.transport, self.storage = parts, model, transport, storage
        self.owned = dealt(len(parts), transport.world)
        self.own = self.owned[transport.rank]
        self.layers, self.channels = len(model.convs), model.config.hidden
        self._locals: dict[int, LocalPart] = {}
        self._slices: dict[tuple[Chosen, int], Adjacency] = {}
        self._keeps = isinstance(storage, InMemory)
        self._states: list[Tensor] = []
        self._begun: set[tuple[int, int]] = set()  # representations and parts whose gradients are of this step
        reached = share(storage, transport, self._sizes()) if isinstance(storage, InMemory) else ()
        self.boundary = Boundary(parts, self.owned, transport, reached)

    def local(self, number: int) -> LocalPart:
        """An own part. Where rows are on disk, only the one at hand stays in memory."""
        if number not in self._locals:
            if not self._keeps:
                self._locals.clear()
                self._slices.clear()
            part = self.parts[number]
            self._locals[number] = LocalPart(part, takes_weights(self.model), self.storage.dtype)
        return self._locals[number]

    def train(self, chosen: Chosen, objective: Objective, count: float) -> float:
        """One pass forward and backward: the loss, and its gradients in the parameters.

        Args:
            chosen: training nodes
            objective: of which the mean over all training nodes counts
            count: ``objective.count`` of their labels
        """
        self.model.train()
        self.model.zero_grad()
        self._forward(chosen)
        sums = [self._backward_output(chosen, objective, count)]
        sums.extend(self._backward_layer(t, chosen) for t in range(self.layers, 0, -1))
        sums.append(self._backward_input())
        loss, *gradients = self._collected(sums)
        pieces = [self.layers + 1, *range(self.layers, -1, -1)]
        for one, gradient in zip((x for t in pieces for x in parameters_of(self.model, t)), gradients, strict=True):
            one.grad = gradient.view_as(one)
        torch.set_rng_state(self._states[-1])
        return float(loss.item())

    def outputs(self, chosen: Chosen) -> list[Tensor]:
        """Logits of the chosen nodes of each own part, ``[k, C]``, without dropout."""
        return list(self.each_output(chosen))

    @torch.no_grad()
    def each_output(self, chosen: Chosen) -> Iterator[Tensor]:
        """The same, one part after the other."""
        self.model.eval()
        self._forward(chosen)
        for number in self.own:
            rows = [self._rows("h", s, number)[chosen.nodes[number]] for s in read_by(self.model, self.layers + 1)]
            yield self.model.logits(self.model.final(History(rows)))

    def _rows(self, kind: str, s: int, number: int) -> Tensor:
        """``[n + h, d]`` of representation s of a part; of the last one, which no part reads, ``[n, d]``."""
        return self.storage.rows(f"{kind}{s}-{number}", self._count(s, number), self.channels)

    def _count(self, s: int, number: int) -> int:
        sizes = self.parts.manifest.parts[number].sizes
        return sizes.nodes if s == self.layers else sizes.nodes + sizes.halo

    def _sizes(self) -> list[Sizes]:
        """What other workers read of each worker: the representations of its parts, and their gradients."""
        steps = [(kind, s) for kind in "hg" for s in range(self.layers)]
        return [
            {f"{kind}{s}-{p}": (self._count(s, p), self.channels) for p in own for kind, s in steps}
            for own in self.owned
        ]

    @torch.no_grad()
    def _forward(self, chosen: Chosen) -> None:
        """Compute all representations of the own parts; the last one is right for the chosen nodes alone."""
        self._states = []
        self.boundary.meet()  # nobody reads rows of the pass before any more
        for t in range(self.layers + 1):
            filling = Filling(self.boundary, partial(self._rows, "h", t), partial(self._write, t))
            self._states.append(torch.get_rng_state())
            for number in self.own:
                local = self.local(number)
                history = [self._rows("h", s, number) for s in read_by(self.model, t)] if t else []
                self._write(t, number, 0, self._piece(t, local, history, chosen), None)
                if t < self.layers:
                    filling.send()
            if t < self.layers:
                filling.finish()
        self._states.append(torch.get_rng_state())

    def _write(self, s: int, number: int, first: int, source: Tensor, chosen: Tensor | None) -> None:
        """Replace rows of representation s from number ``first`` on, by chosen rows of a tensor or by all."""
        self._rows("h", s, number)  # a file that is made when it is first asked for
        if chosen is None:
            self.storage.write(f"h{s}-{number}", first, source)
        else:
            self.storage.fill(f"h{s}-{number}", first, source, chosen)

    def _piece(self, t: int, local: LocalPart, history: list[Tensor], chosen: Chosen | None) -> Tensor:
        """h(t) of a part. ``[n, d]``"""
        torch.set_rng_state(self._states[t])
        with rows_from(local.begin):
            if t == 0:
                return self.model.first(local.features)
            grown = History(history)
            self.model.layer(t, grown, self._graph(t, local, chosen))
            return grown.newest

    def _graph(self, t: int, local: LocalPart, chosen: Chosen | None) -> Adjacency:
        """The graph that layer t is computed on: the last one leaves out the nodes that nobody asks for."""
        assert chosen is not None
        nodes, first = chosen.nodes[local.number], chosen.first_edges[local.number]
        if t < self.layers or (len(nodes) == local.num_nodes and first == local.adj.first):
            return local.adj
        key = chosen, local.number
        if key not in self._slices:
            self._slices[key] = local.toward(nodes, first)
        return self._slices[key]

    def _backward_output(self, chosen: Chosen, objective: Objective, count: float) -> TreeSum:
        """The loss, and its gradients in the representations and in the output map."""
        total, read = TreeSum(len(self.parts)), read_by(self.model, self.layers + 1)
        state = self._states[-1]
        self._begun.clear()
        for number in self.own:
            nodes, labels = chosen.nodes[number], self.local(number).labels
            leaves = [self._rows("h", s, number)[nodes].requires_grad_() for s in read]
            torch.set_rng_state(state)
            with rows_from(chosen.first_nodes[number]):
                logits = self.model.logits(self.model.final(History(leaves)))
            loss = objective.total(logits, labels[nodes]) / count
            loss.backward()  # type: ignore[no-untyped-call]
            for s, leaf in zip(read, leaves, strict=True):
                if leaf.grad is not None:
                    grad = torch.zeros_like(self._rows("g", s, number))
                    grad[nodes] = leaf.grad
                    self._add_gradient(s, number, grad)
            self._add(total, number, self.layers + 1, loss.detach())
        self._states.append(torch.get_rng_state())
        return total

    def _backward_layer(self, t: int, chosen: Chosen) -> TreeSum:
        """Gradients through layer t. Those of h(t-1) are complete then, and go to the owners of the rows."""
        total, read = TreeSum(len(self.parts)), read_by(self.model, t)
        returning = Returning(self.boundary, partial(self._gradient, t - 1))
        for number in self.own:
            local = self.local(number)
            leaves = [self._rows("h", s, number).requires_grad_() for s in read]
            self._backward(self._piece(t, local, leaves, chosen), t, local)
            for s, leaf in zip(read, leaves, strict=True):
                if leaf.grad is not None:
                    self._add_gradient(s, number, leaf.grad)
                leaf.grad = None
                leaf.requires_grad_(False)
            returning.send()
            self._add(total, number, t)
        returning.finish()
        return total

    def _backward_input(self) -> TreeSum:
        total = TreeSum(len(self.parts))
        for number in self.own:
            local = self.local(number)
            self._backward(self._piece(0, local, [], None), 0, local)
            self._add(total, number, 0)
        return total

    def _backward(self, out: Tensor, t: int, local: LocalPart) -> None:
        if out.requires_grad:  # not that of a part without nodes
            torch.autograd.backward(out, self._gradient(t, local.number)[: local.num_nodes])

    def _gradient(self, s: int, number: int) -> Tensor:
        """Rows of the gradient of representation s of a part; zeros if none has come to an own one."""
        rows = self._rows("g", s, number)
        if number in self.own and (s, number) not in self._begun:
            self._begun.add((s, number))
            rows.zero_()
        return rows

    def _add_gradient(self, s: int, number: int, grad: Tensor) -> None:
        """Add rows to a gradient. They may be changed."""
        rows = self._rows("g", s, number)
        if (s, number) in self._begun:
            if self._keeps:
                rows.add_(grad)
                return
            grad.add_(rows)  # a file costs less to be written anew than to be changed page by page
        self._begun.add((s, number))
        self.storage.write(f"g{s}-{number}", 0, grad)

    def _add(self, total: TreeSum, number: int, t: int, *values: Tensor) -> None:
        found = [*(value[None] for value in values), *take_gradients(parameters_of(self.model, t))]
        total.add(number, torch.cat(found) if found else torch.zeros(0, dtype=self.storage.dtype))

    def _collected(self, sums: list[TreeSum]) -> list[Tensor]:
        """The loss and the gradients of all parameters, by piece, summed over the parts of all workers."""
        rows = torch.stack([torch.cat(columns) for columns in zip(*(one.sums for one in sums), strict=True)])
        nodes = [tree_nodes(own.start, own.stop, len(self.parts)) for own in self.owned]
        gathered = self.transport.gather(rows, [len(of_worker) for of_worker in nodes])
        values = [row for of_worker in gathered for row in of_worker]
        whole = joined([node for of_worker in nodes for node in of_worker], values, len(self.parts))
        pieces = [self.layers + 1, *range(self.layers, -1, -1)]
        sizes = [1, *(one.numel() for t in pieces for one in parameters_of(self.model, t))]
        return list(torch.split(whole, sizes))
