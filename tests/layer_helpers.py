"""A layer by the native kernels and by the reference."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from justjump.ops import native, reference
from justjump.ops.adjacency import Adjacency
from native_helpers import assert_close, edge_weights, random, views


def tensors(nodes: int, heads: int, channels: int, groups: int, steps: int, bias: bool, dtype: torch.dtype):  # type: ignore[no-untyped-def]
    width, block = heads * channels, heads * channels // groups
    history = random(nodes, steps, width, dtype=dtype, seed=1, grad=False)
    newest = random(nodes, width, dtype=dtype, seed=2, grad=False)
    size = 1 / math.sqrt(block)
    weights = [random(groups, block, block, dtype=dtype, seed=3 + i, grad=False, size=size) for i in range(3)]
    biases = [random(width, dtype=dtype, seed=6 + i, grad=False) if bias else None for i in range(3)]
    return history, newest, weights, biases, random(nodes, width, dtype=dtype, seed=9, grad=False)


def oracle(
    adj: Adjacency, history: Tensor, newest: Tensor | None, weights: Sequence[Tensor], biases: Sequence[Tensor | None],
    edge_weight: Tensor, heads: int, p: float, seed: int, grad: Tensor,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """Output and gradients (weight and bias three times, history, newest) in float64."""
    exact = [None if x is None else x.detach().double().requires_grad_() for x in (history, newest, *weights, *biases)]
    history, newest, (wq, wk, wv), (bq, bk, bv) = exact[0], exact[1], exact[2:5], exact[5:]
    asked = history[:, -1] if newest is None else newest
    nodes, shape = len(history), (*history.shape[:2], heads, -1)
    query = reference.grouped_linear(asked, wq, bq).view(nodes, heads, -1)
    key = reference.grouped_linear(history, wk, bk).view(shape)
    value = reference.grouped_linear(history, wv, bv).view(shape)
    out, _ = reference.dna_attention(query, key, value, adj.rowptr, adj.col, edge_weight.double(), p, seed)
    inputs = [x for x in (wq, bq, wk, bk, wv, bv, history, newest) if x is not None]
    return out.flatten(1), list(torch.autograd.grad(out.flatten(1), inputs, grad.double()))


def run(
    adj,
    history,
    newest,
    weights,
    biases,
    edge_weight,
    heads,
    p,
    seed,
    grad,
    packed,
    relu=False,
    wide=False,
    apart=False,
):  # type: ignore[no-untyped-def]
    """The same by the native layer. ``apart``: one tensor a step in place of one in all."""
    channels = history.size(-1) // heads
    attended = list(history.unbind(1)) if apart else [history]
    given = [x.contiguous() for x in attended]
    if packed:
        given = [native.pack(x.view(-1, x.size(-1)), heads).view(*x.shape[:-1], -1) for x in given]
        newest = None if newest is None else native.pack(newest, heads)
        grad = native.pack(grad, heads)
    csr, csc = views(adj, wide)
    layer = native.Layer(given, newest, weights, biases, edge_weight.detach(), heads, p, seed, packed, relu)
    out, saved = native.layer_forward(layer, csr, csc)
    grads = native.layer_backward(layer, csr, csc, saved, grad, out if relu else None)
    rows = [out, *grads[6:]]
    if packed:
        rows = [native.unpack(x.view(-1, x.size(-1)), heads, channels).view(*x.shape[:-1], -1) for x in rows]
    out, rows = rows[0], rows[1:]
    grad_newest = [] if newest is None else [rows.pop()]
    grad_history = torch.stack(rows, 1) if apart else rows[0]
    return out, [x for x, b in zip(grads[:6], [0, 1] * 3, strict=True) if not b or biases[0] is not None] + [
        grad_history,
        *grad_newest,
    ]


def check(
    adj,
    size,
    steps,
    dtype,
    p,
    *,
    bias=True,
    with_newest=False,
    packed=False,
    relu=False,
    wide=False,
    apart=False,
    seed=7,
):  # type: ignore[no-untyped-def]
    heads = size[0]
    history, newest, weights, biases, grad = tensors(adj.num_nodes, *size, steps, bias, dtype)
    newest = newest if with_newest else None
    edge_weight = edge_weights(adj, dtype).detach()
    arguments = (adj, history, newest, weights, biases, edge_weight, heads, p, seed)
    out, grads = run(*arguments, grad, packed, relu, wide, apart)
    # The sign of an output next to zero depends on the rounding.
    expected, expected_grads = oracle(*arguments, grad * (out > 0) if relu else grad)
    expected = expected.relu() if relu else expected
    assert_close(out, expected, dtype)
    for a, b in zip(grads, expected_grads, strict=True):
        assert_close(a, b, dtype)
