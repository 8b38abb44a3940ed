"""The tensors of one part of a graph, as the layers of a network take them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from justjump.data.parts import Part
from justjump.ops import Adjacency, SparseMatrix
from justjump.ops.normalize import gcn_scaled


class LocalPart:
    """One part: its features, its edges by local numbers, and its labels.

    The own n nodes come first, the h nodes of other parts that it reads follow.

    Args:
        part: on disk
        gcn: whether the layers take weights as GCN normalises them
        dtype: of the weights
    """

    def __init__(self, part: Part, gcn: bool, dtype: torch.dtype) -> None:
        self.part, self._gcn, self._dtype = part, gcn, dtype
        self.number, self.begin = part.number, part.begin
        self.num_nodes, self.num_local = part.num_nodes, part.num_nodes + part.num_halo

    @cached_property
    def features(self) -> Tensor | SparseMatrix:
        """``[n, F]``"""
        rows = self.part.features
        if isinstance(rows, np.ndarray):
            return torch.from_numpy(rows).to(self._dtype)
        weight = torch.from_numpy(rows.data).to(self._dtype)
        matrix = SparseMatrix.__new__(SparseMatrix)
        matrix._set(rows.shape, torch.from_numpy(rows.indptr), torch.from_numpy(rows.indices), weight)
        matrix._structure["csc"] = tuple(map(torch.from_numpy, self.part.features_by_column))
        matrix.first = self.part.first_entry
        return matrix

    @cached_property
    def adj(self) -> Adjacency:
        """``[n, n + h]`` with the weights of the whole graph."""
        part = self.part
        shape = self.num_nodes, self.num_local
        rowptr, col = torch.from_numpy(part.rowptr), torch.from_numpy(part.col)
        adj = Adjacency._trusted(shape, rowptr, col)
        adj._structure["csc"] = tuple(map(torch.from_numpy, (part.colptr, part.row, part.position)))
        adj.first = part.first_edge
        if self._gcn:
            given = torch.ones(part.num_edges) if part.weight is None else torch.from_numpy(part.weight)
            degree = torch.from_numpy(part.degree).to(self._dtype)
            adj = adj._with_weight(gcn_scaled(given.to(self._dtype), degree, adj.target, adj.col), "gcn")
        adj._looped = True
        return adj

    def toward(self, nodes: Tensor, first: int) -> Adjacency:
        """The edges to some own nodes alone, as ``Adjacency.toward`` of the whole graph has them.

        Args:
            nodes: ``[k]`` local numbers
            first: number of such edges in the parts before
        """
        whole = self.adj
        wanted = torch.zeros(self.num_nodes, dtype=torch.bool)
        wanted[nodes] = True
        kept = wanted[whole.target.long()]
        place = torch.cumsum(kept, 0)
        rowptr = torch.cat([place.new_zeros(1), place])[whole.rowptr.long()]
        weight = None if whole.weight is None else whole.weight[kept]
        adj = Adjacency._trusted(whole.shape, rowptr, whole.col[kept], weight, whole.aggregate)
        # By source, the kept edges stay in their order.
        kept_by_source = wanted[whole.row.long()]
        count = torch.cat([place.new_zeros(1), torch.cumsum(kept_by_source, 0)])
        position = place[whole.position[kept_by_source].long()] - 1
        dtype = adj.col.dtype
        adj._structure["csc"] = (
            count[whole.colptr.long()].to(dtype),
            whole.row[kept_by_source].to(dtype),
            position.to(dtype),
        )
        adj._looped, adj.first = True, first
        return adj

    @cached_property
    def labels(self) -> Tensor:
        """``[n]`` or ``[n, K]``"""
        return torch.from_numpy(self.part.labels)
