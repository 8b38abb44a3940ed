"""Dynamic neighborhood aggregation: projections, attention of every edge, and the sum by target."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from justjump.ops.adjacency import Adjacency
from justjump.ops.dna import native, pytorch
from justjump.ops.dropout import draw_seed
from justjump.ops.history import History
from justjump.ops.layout import unpack
from justjump.ops.plan import Plan


class Projections(NamedTuple):
    """Weights ``[g, d / g, d / g]`` and biases ``[d]`` of query, key and value, and what changes the scores.

    ``step_bias`` ``[T, H]`` is added to them. With ``qk_scale`` ``[H]``, positive, queries and keys have unit length in
    each head, and a score is their product times the scale of the head, not over the square root of the channels.
    """

    query: Tensor
    query_bias: Tensor | None
    key: Tensor
    key_bias: Tensor | None
    value: Tensor
    value_bias: Tensor | None
    step_bias: Tensor | None = None
    qk_scale: Tensor | None = None


def dna_conv(
    history: History,
    projections: Projections,
    adj: Adjacency,
    heads: int,
    dropout_p: float = 0.0,
    seed: Tensor | None = None,
) -> Tensor:
    r"""One DNA layer.

    .. math::
        out_v = \sum_{e = (v \leftarrow w)} weight_e \, \textrm{Attention} \left( newest_v \, \Theta_Q, \;
            attended_w \, \Theta_K, \; attended_w \, \Theta_V \right)

    The native kernels do it in one pass over the edges; elsewhere PyTorch works through the edges in blocks.

    Args:
        history: of M sources, of which the first N are the targets
        projections: of query, key and value
        adj: a normalised graph, ``[N, M]``
        dropout_p: probability of dropping an attention weight
        seed: of the dropout mask; drawn from torch's generator by default

    Returns:
        ``[N, d]``
    """
    plan = _plan(history, projections, adj, heads)
    if history.layout not in (None, plan.layout):  # packed for another number of heads
        history = history.unpacked()
    rows = _rows(plan, history, projections, adj, heads, dropout_p, seed, relu=False)
    return rows if history.layout is None else unpack(rows, history.layout)


def dna_extend(
    history: History,
    projections: Projections,
    adj: Adjacency,
    heads: int,
    dropout_p: float = 0.0,
    seed: Tensor | None = None,
    window: int | None = None,
    keep_first: bool = False,
) -> None:
    """Append ``relu(dna_conv(history, ...))`` to the history, without a pass of its own for ReLU or the layout.

    The history takes the layout of the plan: the layers of a network pack each representation once.
    """
    attended = history.window(window, keep_first)
    plan = _plan(attended, projections, adj, heads)
    history.to_layout(plan.layout)
    attended = history.window(window, keep_first)
    history.append_rows(_rows(plan, attended, projections, adj, heads, dropout_p, seed, relu=True))


def _plan(history: History, projections: Projections, adj: Adjacency, heads: int) -> Plan:
    return Plan.choose(
        history, edges=None if adj.traced else adj.num_edges, heads=heads, groups=projections.query.size(0)
    )


def _rows(
    plan: Plan,
    history: History,
    projections: Projections,
    adj: Adjacency,
    heads: int,
    dropout_p: float,
    seed: Tensor | None,
    relu: bool,
) -> Tensor:
    """The layer's output in the layout of the history."""
    seed = draw_seed(dropout_p) if seed is None else seed
    newest, attended = history.operands()
    if adj.shape[0] != adj.shape[1]:
        newest = history.rows(len(history) - 1)[: adj.shape[0]]
    if plan.form == "torch":
        out = pytorch.dna_conv(newest, attended, projections, adj, heads, dropout_p, seed)
        return torch.relu(out) if relu else out
    return native.dna_conv(plan, newest, attended, projections, adj, heads, dropout_p, seed, history.layout, relu)
