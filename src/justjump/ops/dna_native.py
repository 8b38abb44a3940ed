"""The whole DNA layer on the native kernels, in their packed layout or in the standard one.

Three forms give the same numbers:

separate
    keys and values of all T representations are projected per node, then gathered per edge.
folded
    where every head sees its own channels only (groups a multiple of heads), the projections commute with the
    attention: ``q . (K x + b) = (K^T q) . x + q . b`` and ``sum a (V x + b) = V (sum a x) + (sum a) b``. The query is
    projected once more and the aggregate once per node; keys and values are never formed.
sparse
    folded, where besides a head fills whole cache lines, dropout is on and the graph is small: rows stay in the
    standard layout, and what dropout takes is skipped. See ``csrc/sparse_tile.h``.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from justjump.ops import native
from justjump.ops.adjacency import Adjacency
from justjump.ops.operation import is_traced

if TYPE_CHECKING:
    from justjump.ops.dna import Projections


def dna_layer(
    newest: Tensor | None,
    attended: Sequence[Tensor],
    projections: "Projections",
    adj: Adjacency,
    weight: Tensor,
    heads: int,
    dropout_p: float,
    seed: Tensor,
    packed: bool,
    relu: bool,
) -> Tensor:
    """:func:`justjump.ops.dna.dna_conv` of rows in the standard or the packed layout.

    Args:
        newest: ``[N, d]`` or ``[N, stride]``, or None for the last of those attended
        attended: tensors ``[N, d]`` or ``[N, t, d]`` (packed: stride), T representations in all

    Returns:
        ``[N, d]`` or ``[N, stride]``
    """
    structure = (adj.rowptr, adj.col, adj.colptr, adj.row, adj.position, weight)
    order = None if native.layer.folds(len(projections.query), heads) else adj.order
    options = (heads, dropout_p, seed, packed, relu)
    if is_traced(*attended, projections[0]):
        out: Tensor = _forward(newest, list(attended), *projections, *structure, order, *options)[0]
    else:
        fixed = (structure, order, options)
        out = _Layer.apply(fixed, len(attended), *attended, newest, *projections)  # type: ignore[no-untyped-call]
    return out


def _run_forward(
    newest: Tensor | None,
    attended: Sequence[Tensor],
    wq: Tensor,
    bq: Tensor | None,
    wk: Tensor,
    bk: Tensor | None,
    wv: Tensor,
    bv: Tensor | None,
    rowptr: Tensor,
    col: Tensor,
    colptr: Tensor,
    row: Tensor,
    position: Tensor,
    weight: Tensor,
    order: Tensor | None,
    heads: int,
    dropout_p: float,
    seed: Tensor,
    packed: bool,
    relu: bool,
) -> tuple[Tensor, list[Tensor]]:
    """The output, and what backward needs."""
    inputs = _inputs(newest, attended, (wq, wk, wv), (bq, bk, bv))
    layer = native.Layer(*inputs, weight, heads, dropout_p, int(seed), packed, relu)
    return native.layer_forward(layer, native.Csr(rowptr, col), native.Csc(colptr, row, position), order)


def _run_backward(
    grad: Tensor,
    saved: Sequence[Tensor],
    newest: Tensor | None,
    attended: Sequence[Tensor],
    wq: Tensor,
    bq: Tensor | None,
    wk: Tensor,
    bk: Tensor | None,
    wv: Tensor,
    bv: Tensor | None,
    rowptr: Tensor,
    col: Tensor,
    colptr: Tensor,
    row: Tensor,
    position: Tensor,
    weight: Tensor,
    heads: int,
    dropout_p: float,
    seed: Tensor,
    packed: bool,
    out: Tensor | None,
) -> list[Tensor]:
    """Gradients of wq, bq, wk, bk, wv, bv, of each attended tensor, and of newest if it was given.

    ``out`` is the output where there is a ReLU.
    """
    inputs = _inputs(newest, attended, (wq, wk, wv), (bq, bk, bv))
    layer = native.Layer(*inputs, weight, heads, dropout_p, int(seed), packed, relu=out is not None)
    csr, csc = native.Csr(rowptr, col), native.Csc(colptr, row, position)
    return native.layer_backward(layer, csr, csc, saved, grad.contiguous(), out)


_forward = torch.library.custom_op("justjump::dna_layer", _run_forward, mutates_args=())
_backward = torch.library.custom_op("justjump::dna_layer_backward", _run_backward, mutates_args=())


@_forward.register_fake
def _(  # type: ignore[no-untyped-def]
    newest, attended, wq, bq, wk, bk, wv, bv, rowptr, col, colptr, row, position, weight, order, heads, p, seed, packed,
    relu,
):  # fmt: skip
    last, nodes = attended[-1] if newest is None else newest, attended[0].size(0)
    layout = native.layout._Layout(heads, wq.size(0) * wq.size(1) // heads, last)
    groups, edges, steps = wq.size(0), col.numel(), native.layer.count_steps(attended)
    sparse = not packed and native.layer.is_sparse(layout, groups, edges, steps, p)
    made = [] if packed or sparse else [*attended, *([] if newest is None else [newest])]
    made = [x.new_empty(*x.shape[:-1], layout.stride) for x in made]
    shapes = native.layer.saved_shapes(layout, groups, nodes, nodes, edges, steps, sparse)
    return last.new_empty(nodes, last.size(-1)), [*made, *(last.new_empty(shape) for shape in shapes)]


@_backward.register_fake
def _(grad, saved, newest, attended, wq, bq, wk, bk, wv, bv, *_):  # type: ignore[no-untyped-def]
    like, bias = torch.empty_like, wq.new_empty(wq.size(0) * wq.size(1))
    grads = [like(wq), bias, like(wk), like(bias), like(wv), like(bias), *(x.new_empty(x.shape) for x in attended)]
    return grads if newest is None else [*grads, grad.new_empty(grad.shape)]


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    newest, attended, wq, bq, wk, bk, wv, bv, *structure, _, ctx.heads, ctx.dropout_p, seed, ctx.packed, relu = inputs
    ctx.attended = len(attended)
    ctx.set_materialize_grads(False)
    out = output[0] if relu else None
    ctx.save_for_backward(seed, *structure, out, newest, wq, bq, wk, bk, wv, bv, *attended, *output[1])


def _gradients(ctx: Any, grad: Tensor | None, _: Any) -> tuple[Any, ...]:
    seed, *rest = ctx.saved_tensors
    if grad is None:
        return (None, [None] * ctx.attended) + (None,) * 18
    options = (ctx.heads, ctx.dropout_p, seed, ctx.packed)
    newest, attended, *parts = _split(ctx, grad, rest[6:], rest[:6], options, _backward)
    return (newest, attended, *parts) + (None,) * 12


def _split(
    ctx: Any, grad: Tensor, tensors: Sequence[Tensor], structure: Any, options: Any, run: Callable[..., list[Tensor]]
) -> tuple[Any, ...]:
    """Gradients of newest, of those attended as a list, and of the weights and biases that there are."""
    out, newest, wq, bq, wk, bk, wv, bv, *rest = tensors
    attended, saved = rest[: ctx.attended], rest[ctx.attended :]
    grads = run(grad, saved, newest, attended, wq, bq, wk, bk, wv, bv, *structure, *options, out)
    weights, grad_attended, grad_newest = grads[:6], grads[6 : 6 + ctx.attended], grads[6 + ctx.attended :]
    parts = [None if part is None else g for part, g in zip((wq, bq, wk, bk, wv, bv), weights, strict=True)]
    return grad_newest[0] if grad_newest else None, grad_attended, *parts


_forward.register_autograd(_gradients, setup_context=_setup)


class _Layer(torch.autograd.Function):
    """The operation without torch's dispatcher: on a small graph the way through it takes as long as a kernel.

    What has no gradient comes in one tuple: torch looks at every argument by itself.
    """

    @staticmethod
    def forward(ctx: Any, fixed: Any, count: int, *inputs: Any) -> Tensor:
        (structure, order, options), attended = fixed, inputs[:count]
        newest, wq, bq, wk, bk, wv, bv = inputs[count:]
        arguments = (newest, attended, wq, bq, wk, bk, wv, bv, *structure, order, *options)
        out, saved = _run_forward(*arguments)
        ctx.attended = count
        ctx.structure, ctx.options = structure, options[:4]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(out if options[4] else None, newest, wq, bq, wk, bk, wv, bv, *attended, *saved)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Any, ...]:
        if grad is None:
            return (None,) * (9 + ctx.attended)
        newest, attended, *parts = _split(ctx, grad, ctx.saved_tensors, ctx.structure, ctx.options, _run_backward)
        return None, None, *attended, newest, *parts


def _inputs(
    newest: Tensor | None, attended: Sequence[Tensor], weights: Sequence[Tensor], biases: Sequence[Tensor | None]
) -> tuple[list[Tensor], Tensor | None, list[Tensor], list[Tensor | None]]:
    """As :class:`native.Layer` takes them, copied only where they aren't."""
    rows = [_with_rows(x) for x in attended]
    contiguous = [None if x is None else x.contiguous() for x in biases]
    return rows, None if newest is None else _with_rows(newest), [x.contiguous() for x in weights], contiguous


def _with_rows(x: Tensor) -> Tensor:
    """``x`` with contiguous rows."""
    x = x.resolve_neg()
    return x if x.stride(-1) == 1 else x.contiguous()
