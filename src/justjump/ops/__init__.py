"""Functions on tensors. ``reference`` is the obvious version of each; the others are fast and agree with it."""

from justjump.ops.adjacency import Adjacency, Aggregate, Targets
from justjump.ops.dna import Projections, dna_attention, dna_conv, is_packable, is_sparse
from justjump.ops.dropout import draw_seed, dropout, relu_dropout
from justjump.ops.gat import gat_attention
from justjump.ops.grouped_linear import grouped_linear
from justjump.ops.packed import is_native, pack, unpack
from justjump.ops.reference import restricted_softmax
from justjump.ops.sparse import SparseMatrix
from justjump.ops.spmm import spmm

__all__ = [
    "Adjacency",
    "Aggregate",
    "Projections",
    "SparseMatrix",
    "Targets",
    "dna_attention",
    "dna_conv",
    "draw_seed",
    "dropout",
    "gat_attention",
    "grouped_linear",
    "is_native",
    "is_packable",
    "is_sparse",
    "pack",
    "relu_dropout",
    "restricted_softmax",
    "spmm",
    "unpack",
]
