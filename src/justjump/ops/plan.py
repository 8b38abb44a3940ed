"""How a layer is computed: the only place that decides it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.history import History
from justjump.ops.layout import Layout

Form = Literal["torch", "native", "separate", "folded"]

# The gradients of all scores are kept between the two passes of backward up to this size: they stay in the cache.
# Larger layers compute them twice.
SCORE_BYTES = 2**23

_FORMS = {
    "torch": "PyTorch works through the edges in blocks",
    "native": "the native kernels sum over the edges",
    "separate": "keys and values are projected per node and gathered per edge",
    "folded": "the history itself is gathered per edge; the projections are applied to queries and aggregates",
}


def is_native(*tensors: Tensor) -> bool:
    """Whether the native kernels take these tensors: dense float32 or float64 on the CPU."""
    return native.available() and all(
        x.device.type == "cpu" and x.dtype == tensors[0].dtype and x.dtype in (torch.float32, torch.float64)
        for x in tensors
    )


@dataclass(frozen=True)
class Plan:
    """How one layer is computed.

    Attributes:
        form: of a DNA layer ``"torch"``, ``"separate"`` or ``"folded"``, of a GCN or GAT layer ``"torch"`` or
            ``"native"``; all give the same numbers up to rounding
        layout: of the history from layer to layer; None is the standard one
        keeps_scores: backward keeps the gradients of all scores from its pass by source to its pass by target; None
            leaves it to backward, where the number of edges is not known before
        by_community: forward visits the targets of one community together, to find more of what it gathers in the
            caches
        reason: why this form

    >>> history = History.start(torch.empty(2708, 128, dtype=torch.bfloat16))
    >>> print(Plan.choose(history, edges=13_264, heads=8, groups=16))  # doctest: +ELLIPSIS
    torch: PyTorch works through the edges in blocks, because ...
    """

    form: Form
    layout: Layout | None
    keeps_scores: bool | None
    by_community: bool
    reason: str

    @classmethod
    def choose(cls, history: History, *, edges: int | None, heads: int, groups: int) -> Plan:
        """The plan of a DNA layer, by its sizes, dtype and device; ``edges`` is None in a program that torch traces."""
        if heads < 1 or groups < 1 or history.channels % heads or (edges is not None and edges < 0):
            sizes = f"heads={heads}, groups={groups}, edges={edges}"
            raise ValueError(f"there is no layer of {history.channels} channels with {sizes}")
        why_not = _why_not_native(history)
        if why_not:
            return cls("torch", None, keeps_scores=False, by_community=False, reason=why_not)
        layout = Layout(heads, history.channels // heads, history.dtype)
        if groups % heads == 0:
            reason = f"groups={groups} is a multiple of heads={heads}: every head sees its own channels only"
            keeps = None if edges is None else keeps_scores(layout, edges, len(history.attended))
            return cls("folded", layout, keeps, by_community=False, reason=reason)
        reason = f"groups={groups} is no multiple of heads={heads}: a group spans several heads"
        return cls("separate", layout, keeps_scores=True, by_community=True, reason=reason)

    @classmethod
    def baseline(cls, history: History) -> Plan:
        """The plan of a GCN or GAT layer, which sees the newest representation only."""
        why_not = _why_not_native(history)
        reason = why_not or f"the kernels take {history.dtype} on the CPU"
        return cls("torch" if why_not else "native", None, keeps_scores=False, by_community=False, reason=reason)

    @property
    def why(self) -> str:
        """What the form does, and the reason for it."""
        return f"{self.form}: {_FORMS[self.form]}, because {self.reason}"

    def __str__(self) -> str:
        parts = [self.why]
        if self.layout is not None:
            parts.append(f"rows are packed, {self.layout.stride} numbers each")
            how = {True: "keeps", False: "computes again", None: "keeps or computes again"}[self.keeps_scores]
            parts.append(f"backward {how} the gradients of the scores")
        if self.by_community:
            parts.append("communities of nodes are visited together")
        return "; ".join(parts)


def keeps_scores(layout: Layout, edges: int, steps: int) -> bool:
    """Whether backward of a folded layer keeps the gradients of all scores."""
    return edges * steps * layout.padded * layout.dtype.itemsize <= SCORE_BYTES


def saved_shapes(
    folded: bool, unit: bool, layout: Layout, targets: int, sources: int, steps: int
) -> dict[str, tuple[int, int]]:
    """What forward leaves for backward besides the packed history, by the names of ``csrc/dna/layer.h``.

    Args:
        unit: whether queries and keys have unit length
    """
    row, head_row = (targets, layout.stride), (targets, layout.padded)
    factors = {"query_factor": head_row, "key_factor": (sources, steps * layout.padded)} if unit else {}
    if folded:
        rows = {"queries": row, "folded_queries": row, "score_bias": head_row, "aggregate": row, "total": head_row}
        return rows | factors
    return {"queries": row, "keys": (sources, 2 * steps * layout.stride)} | factors


def _why_not_native(history: History) -> str:
    if not native.available():
        return native.why_not() or "there are no native kernels"
    if history.device.type != "cpu":
        return f"the native kernels run on the CPU, not on {history.device}"
    if history.dtype not in (torch.float32, torch.float64):
        return f"the native kernels take float32 and float64, not {history.dtype}"
    if history.num_nodes == 0:
        return "there are no nodes"
    return ""
