"""Attention of every edge to the former representations of its source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from justjump.ops.native.checks import _address, _dense, _dropout, _edge_weight, _rows
from justjump.ops.native.graph import Csc, Csr, _graph
from justjump.ops.native.layer import keeps
from justjump.ops.native.layout import _Layout
from justjump.ops.native.module import _kernel, empty, threads


def dna_forward(
    csr: Csr,
    weight: Tensor | None,
    query: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor] | None,
    bias: Tensor | None,
    *,
    heads: int,
    channels: int,
    scale: float,
    dropout_p: float = 0.0,
    seed: int = 0,
    order: Tensor | None = None,
    return_attention: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Attention of every edge to the T former representations of its source, summed by target.

    ``values=None`` is the folded form: keys are the values, scores are ``scale * (query . key + bias)``, and the
    sum of the weights is returned too.

    Args:
        csr: N targets
        weight: ``[E]``, None for ones
        query: ``[N, stride]`` packed
        keys, values: T tensors ``[M, stride]``, packed, each with a row stride of its own
        bias: ``[N, P]``, with ``values=None`` only
        order: ``[N]`` in which to take the targets, a permutation; it changes no bit of the result

    Returns:
        ``[N, stride]``, the sums of the weights ``[N, P]`` or None, the weights before dropout ``[E, T, H]`` or None
    """
    call = _kernel("dna", query)
    layout = _Layout(heads, channels, query)
    graph = (csr, None, order)
    common, nodes = _dna_arguments(graph, weight, query, keys, values, bias, layout, scale, dropout_p, seed)
    out = empty(query, nodes, layout.stride)
    total = None if bias is None else query.new_empty(nodes, layout.padded)
    attention = empty(query, csr.col.numel(), len(keys), heads) if return_attention else None
    if len(keys) == 0:
        return out.zero_(), None if total is None else total.zero_(), attention
    none: list[int] = []
    call(
        *common, out.data_ptr(), _address(total), _address(attention),
        0, 0, 0, 0, 0, none, none, none, none, False, False, threads(),
    )  # fmt: skip
    return out, total, attention


def dna_backward(
    csr: Csr,
    csc: Csc,
    weight: Tensor | None,
    query: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor] | None,
    bias: Tensor | None,
    grad_out: Tensor,
    grad_total: Tensor | None,
    *,
    heads: int,
    channels: int,
    scale: float,
    dropout_p: float = 0.0,
    seed: int = 0,
    grad_keys: Sequence[Tensor] | None = None,
    grad_values: Sequence[Tensor] | None = None,
    accumulate: bool = False,
    need_query: bool = True,
    need_history: bool = True,
    need_weight: bool = False,
) -> tuple[Tensor | None, Tensor | None, list[Tensor] | None, list[Tensor] | None, Tensor | None]:
    """Gradients of :func:`dna_forward`, with the arguments of that call.

    ``grad_keys`` and ``grad_values`` are T tensors like the keys to write to, or with ``accumulate`` to add to; without
    them new ones are made. In the folded form ``grad_keys`` is the gradient of the shared history.

    Returns:
        gradients of query, bias, keys, values and weight; None for those that do not exist or are not needed
    """
    call = _kernel("dna", query)
    layout = _Layout(heads, channels, query)
    graph = (csr, csc, None)
    common, nodes = _dna_arguments(graph, weight, query, keys, values, bias, layout, scale, dropout_p, seed)
    folded = bias is not None
    _dense("grad_out", grad_out, query.dtype, (nodes, layout.stride))
    if folded:
        if grad_total is None:
            raise ValueError("grad_total is None, expected the gradient of the sums of the weights")
        _dense("grad_total", grad_total, query.dtype, (nodes, layout.padded))
    shape = (csc.colptr.numel() - 1, layout.stride)
    if need_history:
        grad_keys = _gradients("grad_keys", grad_keys, keys, shape, accumulate)
        grad_values = None if folded else _gradients("grad_values", grad_values, values or (), shape, accumulate)
    else:
        grad_keys = grad_values = None
    grad_query = empty(query, *query.shape) if need_query else None
    grad_bias = query.new_empty(nodes, layout.padded) if folded and need_query else None
    grad_weight = query.new_empty(csr.col.numel()) if need_weight else None
    if len(keys) == 0:
        for gradient in (grad_query, grad_bias, grad_weight):
            if gradient is not None:
                gradient.zero_()
    else:
        call(
            *common, 0, 0, 0, grad_out.data_ptr(), _address(grad_total),
            _address(grad_query), _address(grad_bias), _address(grad_weight),
            [x.data_ptr() for x in grad_keys or ()], [x.stride(0) for x in grad_keys or ()],
            [x.data_ptr() for x in grad_values or ()], [x.stride(0) for x in grad_values or ()],
            accumulate, keeps(csr.col.numel(), len(keys), layout), threads(),
        )  # fmt: skip
    return (
        grad_query,
        grad_bias,
        None if grad_keys is None else list(grad_keys),
        None if grad_values is None else list(grad_values),
        grad_weight,
    )


def _dna_arguments(
    structure: tuple[Csr, Csc | None, Tensor | None],
    weight: Tensor | None,
    query: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor] | None,
    bias: Tensor | None,
    layout: _Layout,
    scale: float,
    dropout_p: float,
    seed: int,
) -> tuple[tuple[Any, ...], int]:
    if (values is None) != (bias is not None):
        raise ValueError("bias belongs to the folded form: give either values or bias")
    if values is not None and len(values) != len(keys):
        raise ValueError(f"there are {len(values)} values, but {len(keys)} keys")
    csr, csc, order = structure
    sources = keys[0].size(0) if len(keys) else csc.colptr.numel() - 1 if csc is not None else 0
    graph, nodes = _graph(csr, csc, sources, order)
    _edge_weight(weight, csr.col.numel(), query.dtype)
    _dense("query", query, query.dtype, (nodes, layout.stride))
    if bias is not None:
        _dense("bias", bias, query.dtype, (nodes, layout.padded))
    for name, list_ in (("keys", keys), ("values", values or ())):
        for t, x in enumerate(list_):
            _rows(f"{name}[{t}]", x, query.dtype, sources, layout.stride)
    arguments = (
        graph, layout.heads, layout.channels, scale, *_dropout(dropout_p, seed), _address(weight), query.data_ptr(),
        _address(bias), [x.data_ptr() for x in keys], [x.stride(0) for x in keys],
        [x.data_ptr() for x in values or ()], [x.stride(0) for x in values or ()],
    )  # fmt: skip
    return arguments, nodes


def _gradients(
    name: str, given: Sequence[Tensor] | None, like: Sequence[Tensor], shape: tuple[int, int], accumulate: bool
) -> Sequence[Tensor]:
    if given is None:
        if accumulate:
            raise ValueError(f"accumulate=True takes the tensors to add to as {name}")
        return [empty(x, *shape) for x in like]
    if len(given) != len(like):
        raise ValueError(f"{name} holds {len(given)} tensors, expected {len(like)}")
    for t, x in enumerate(given):
        _rows(f"{name}[{t}]", x, like[t].dtype, *shape)
    return given
