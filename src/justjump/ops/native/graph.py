"""The edges by target and by source, as the kernels take them."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from justjump.ops.native.checks import _address, _compressed, _index
from justjump.ops.native.module import _module


class Csr(NamedTuple):
    """Edges by target, as in :class:`~justjump.ops.adjacency.Adjacency`."""

    rowptr: Tensor  # [N + 1]
    col: Tensor  # [E]


class Csc(NamedTuple):
    """The same edges by source, with the CSR position of each."""

    colptr: Tensor  # [M + 1]
    row: Tensor  # [E]
    position: Tensor  # [E]


def _graph(csr: Csr, csc: Csc | None, sources: int, order: Tensor | None = None) -> tuple[Any, int]:
    """The kernels' view of the graph and the number of targets."""
    rows, edges = _compressed("rowptr", csr.rowptr, "col", csr.col)
    by_source = (0, 0, 0)
    if csc is not None:
        _index("row", csc.row, csr.col.dtype, edges)
        _index("position", csc.position, csr.col.dtype, edges)
        _index("colptr", csc.colptr, csr.col.dtype, sources + 1)
        by_source = (csc.colptr.data_ptr(), csc.row.data_ptr(), csc.position.data_ptr())
    if order is not None:
        _index("order", order, csr.col.dtype, rows)
    wide = csr.col.dtype == torch.int64
    addresses = (csr.rowptr.data_ptr(), csr.col.data_ptr(), *by_source, _address(order))
    return _module().graph(rows, sources, edges, wide, *addresses), rows


def community_order(rowptr: Tensor, col: Tensor) -> Tensor:
    """The nodes of a graph, communities together: work in this order finds more of what it gathers in the caches."""
    graph, nodes = _graph(Csr(rowptr, col), None, rowptr.numel() - 1)
    order = col.new_empty(nodes)
    _module().community_order(graph, order.data_ptr())
    return order
