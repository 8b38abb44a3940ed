"""The native CPU kernels: typed calls on torch tensors.

Every function here checks shapes, dtypes, devices and strides and allocates its outputs; none takes part in autograd.
Index arrays (``rowptr``, ``col``, ``colptr``, ``row``, ``position``) are trusted: they come from an
:class:`~justjump.ops.adjacency.Adjacency`, which has validated them. Of those only shape and end points are checked.

Packed layout. A row of d = H * C channels is stored as ``[C, P]`` with the head fastest, P = the power of two >= H, and
zero padded to ``row_stride(H, C, dtype)``, a multiple of 64 bytes. A head row ``[P]`` holds one number a head. The
padding of every packed input must be zero; the padding of every output is.
"""

from justjump.ops.native.dna import dna_backward, dna_forward
from justjump.ops.native.dropout import dropout_relu, dropout_relu_backward
from justjump.ops.native.gat import GatSaved, gat_backward, gat_forward
from justjump.ops.native.graph import Csc, Csr, community_order
from justjump.ops.native.grouped import grouped_linear, grouped_linear_dot, grouped_linear_weight_grad
from justjump.ops.native.layer import Layer, layer_backward, layer_forward
from justjump.ops.native.layout import pack, padded_heads, row_stride, unpack
from justjump.ops.native.module import (
    available,
    available_isas,
    empty,
    isa,
    set_isa,
    set_threads,
    thread_backend,
    threads,
    why_not,
)
from justjump.ops.native.sparse import sddmm, spmm

__all__ = [
    "Csc",
    "Csr",
    "GatSaved",
    "Layer",
    "available",
    "available_isas",
    "community_order",
    "dna_backward",
    "dna_forward",
    "dropout_relu",
    "dropout_relu_backward",
    "empty",
    "gat_backward",
    "gat_forward",
    "grouped_linear",
    "grouped_linear_dot",
    "grouped_linear_weight_grad",
    "isa",
    "layer_backward",
    "layer_forward",
    "pack",
    "padded_heads",
    "row_stride",
    "sddmm",
    "set_isa",
    "set_threads",
    "spmm",
    "thread_backend",
    "threads",
    "unpack",
    "why_not",
]
