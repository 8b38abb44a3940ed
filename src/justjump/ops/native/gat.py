"""Graph attention."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from justjump.ops.native.checks import _address, _dense, _dropout
from justjump.ops.native.graph import Csc, Csr, _graph
from justjump.ops.native.layout import _Layout
from justjump.ops.native.module import _kernel, empty, threads


class GatSaved(NamedTuple):
    """What :func:`gat_backward` needs of the forward pass."""

    out: Tensor  # [N, stride]
    sloped: Tensor  # [N, stride]
    state: Tensor  # [N, 4, P]


def gat_forward(
    csr: Csr,
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    *,
    heads: int,
    channels: int,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    seed: int = 0,
    need_grad: bool = True,
    return_attention: bool = False,
) -> tuple[Tensor, GatSaved | None, Tensor | None]:
    """Graph attention.

    Args:
        value: ``[M, stride]`` packed
        score_source, score_target: ``[M, P]``, ``[N, P]``

    Returns:
        ``[N, stride]``, what the backward pass needs or None, the weights before dropout ``[E, H]`` or None
    """
    call = _kernel("gat", value)
    layout = _Layout(heads, channels, value)
    graph, nodes = _gat_arguments(csr, None, value, score_source, score_target, layout)
    out = empty(value, nodes, layout.stride)
    saved = None
    if need_grad:
        saved = GatSaved(out, empty(out, *out.shape), value.new_empty(nodes, 4, layout.padded))
    attention = empty(value, csr.col.numel(), heads) if return_attention else None
    call(
        graph, heads, channels, negative_slope, *_dropout(dropout_p, seed),
        value.data_ptr(), score_source.data_ptr(), score_target.data_ptr(), out.data_ptr(),
        _address(saved and saved.sloped), _address(saved and saved.state), _address(attention), 0, 0, 0, 0, threads(),
    )  # fmt: skip
    return out, saved, attention


def gat_backward(
    csr: Csr,
    csc: Csc,
    value: Tensor,
    score_source: Tensor,
    score_target: Tensor,
    saved: GatSaved,
    grad_out: Tensor,
    *,
    heads: int,
    channels: int,
    negative_slope: float = 0.2,
    dropout_p: float = 0.0,
    seed: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of value, score_source and score_target, with the arguments of :func:`gat_forward`."""
    call = _kernel("gat", value)
    layout = _Layout(heads, channels, value)
    graph, nodes = _gat_arguments(csr, csc, value, score_source, score_target, layout)
    for name, x in (("grad_out", grad_out), ("saved.out", saved.out), ("saved.sloped", saved.sloped)):
        _dense(name, x, value.dtype, (nodes, layout.stride))
    _dense("saved.state", saved.state, value.dtype, (nodes, 4, layout.padded))
    grad_value, grad_source = empty(value, *value.shape), torch.empty_like(score_source)
    grad_target = torch.empty_like(score_target)
    call(
        graph, heads, channels, negative_slope, *_dropout(dropout_p, seed),
        value.data_ptr(), score_source.data_ptr(), score_target.data_ptr(),
        *(x.data_ptr() for x in saved), 0, grad_out.data_ptr(),
        grad_value.data_ptr(), grad_source.data_ptr(), grad_target.data_ptr(), threads(),
    )  # fmt: skip
    return grad_value, grad_source, grad_target


def _gat_arguments(
    csr: Csr, csc: Csc | None, value: Tensor, score_source: Tensor, score_target: Tensor, layout: _Layout
) -> tuple[Any, int]:
    _dense("value", value, value.dtype, (None, layout.stride))
    graph, nodes = _graph(csr, csc, value.size(0))
    _dense("score_source", score_source, value.dtype, (value.size(0), layout.padded))
    _dense("score_target", score_target, value.dtype, (nodes, layout.padded))
    return graph, nodes
