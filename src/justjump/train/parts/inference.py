"""A trained network on a graph in parts, layer by layer: each (layer, part) is a task that can be repeated."""

from __future__ import annotations

import torch
from torch import Tensor

from justjump.data.parts import Parts
from justjump.nn import NodeClassifier
from justjump.ops import History
from justjump.train.parts.local import LocalPart
from justjump.train.parts.pieces import read_by, takes_weights
from justjump.train.parts.storage import Storage
from justjump.train.process import one_torch_thread


class Inference:
    """Representations of the nodes of all parts, without dropout and without gradients.

    The task ``compute(t, p)`` makes h(t) of part p. It needs h(0) .. h(t - 1) of all parts that it reads, and nothing
    else, so tasks of one layer may run in any order, anywhere, and more than once: they write the same rows again.

    Args:
        parts: of the graph
        model: the trained network
        storage: of the representations, in a folder if several processes share it
    """

    def __init__(self, parts: Parts, model: NodeClassifier, storage: Storage) -> None:
        self.parts, self.model, self.storage = parts, model, storage
        self.layers, self.channels = len(model.convs), model.config.hidden

    @torch.no_grad()
    def compute(self, t: int, number: int) -> None:
        """Make h(t) of the own nodes of a part. Before, bring the rows of h(t - 1) that it reads of other parts."""
        self.model.eval()
        with one_torch_thread():
            if t:
                self.fill_halo(t - 1, number)
            local = self.local(number)
            if t == 0:
                rows = self.model.first(local.features)
            else:
                history = History(self.history(number, read_by(self.model, t)))
                self.model.layer(t, history, local.adj)
                rows = history.newest
            self.rows(t, number)  # a file that is made when it is first asked for
            self.storage.write(_name(t, number), 0, rows)

    @torch.no_grad()
    def outputs(self, number: int) -> Tensor:
        """Logits of the own nodes of a part, ``[n, C]``, after all layers are computed."""
        self.model.eval()
        own = self.parts.manifest.parts[number].sizes.nodes
        with one_torch_thread():
            rows = [self.rows(s, number)[:own] for s in read_by(self.model, self.layers + 1)]
            x = None if self.model.lin_alone is None else self.local(number).features
            return self.model.logits(self.model.final(History(rows)), x)

    def fill_halo(self, s: int, number: int) -> None:
        """Bring the rows of h(s) that a part reads of other parts."""
        part, ranges = self.parts[number], self.parts.manifest.ranges
        for other in range(len(self.parts)):
            place = part.receive_from(other)
            if place.stop > place.start:
                nodes = torch.from_numpy(part.halo[place] - ranges[other])
                values = self.rows(s, other)[nodes]
                self.storage.write(_name(s, number), part.num_nodes + place.start, values)

    def history(self, number: int, steps: list[int]) -> list[Tensor]:
        """Representations of the own nodes of a part and of those that it reads, ``[n + h, d]`` each."""
        return [self.rows(s, number) for s in steps]

    def rows(self, s: int, number: int) -> Tensor:
        """``[n + h, d]`` of h(s) of a part; of the last one, which no part reads, ``[n, d]``."""
        sizes = self.parts.manifest.parts[number].sizes
        count = sizes.nodes if s == self.layers else sizes.nodes + sizes.halo
        return self.storage.rows(_name(s, number), count, self.channels)

    def local(self, number: int) -> LocalPart:
        """The tensors of a part, which take memory as long as someone holds them."""
        return LocalPart(self.parts[number], takes_weights(self.model), self.storage.dtype)


def _name(s: int, number: int) -> str:
    return f"h{s}-{number}"
