"""Dropout by a counter-based mask: a seed is drawn from torch's generator, the mask is a function of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from justjump.ops.dropout import native, reference
from justjump.ops.dropout.reference import dropout_threshold
from justjump.ops.operation import is_traced
from justjump.ops.plan import is_native

_first_row = ContextVar("first_row", default=0)


@contextmanager
def rows_from(first: int) -> Iterator[None]:
    """In this block, dropout numbers rows from ``first`` on, as those of a part of a graph are in the whole graph.

    >>> with rows_from(2):
    ...     part = dropout(torch.ones(1, 4), p=0.5)
    """
    token = _first_row.set(first)
    try:
        yield
    finally:
        _first_row.reset(token)


def _first() -> int:
    return 0 if torch.compiler.is_compiling() else _first_row.get()


def draw_seed(p: float) -> Tensor:
    """A fresh seed for dropout at rate p from torch's default generator (untouched where p is 0): int64 scalar."""
    if p == 0:
        return torch.zeros((), dtype=torch.int64)
    return torch.randint(2**62, (), dtype=torch.int64)


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """Zero each entry of ``x`` ``[R, d]`` with probability p and scale the others by ``1 / (1 - p)``.

    >>> dropout(torch.ones(2, 3), p=0.5, training=False)
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    if p == 0 or not training:
        return x
    seed = draw_seed(p)
    if is_traced(x) and not is_native(x):
        return reference.dropout(_rows(x)[:, None], p, seed, _first())[:, 0]
    dropped: Tensor = native.dropout(_rows(x), p, seed, _first())
    return dropped


def relu_dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """``dropout(relu(x))`` in one pass. ``[R, d] -> [R, d]``"""
    if p == 0 or not training:
        return torch.relu(x)
    if is_traced(x) and not is_native(x):
        return dropout(torch.relu(x), p)
    dropped: Tensor = native.relu_dropout(_rows(x), p, draw_seed(p), _first())
    return dropped


def _rows(x: Tensor) -> Tensor:
    if x.dim() != 2:
        raise ValueError(f"x has shape {list(x.shape)}, expected [rows, channels]")
    return x


__all__ = ["draw_seed", "dropout", "dropout_threshold", "relu_dropout", "rows_from"]
