"""Functions on tensors. ``reference`` is the obvious version of each; the others are fast and agree with it."""

from justjump.ops.adjacency import Adjacency, Aggregate
from justjump.ops.dna import dna_attention
from justjump.ops.dropout import draw_seed, dropout
from justjump.ops.gat import gat_attention
from justjump.ops.reference import grouped_linear, restricted_softmax
from justjump.ops.sparse import SparseMatrix
from justjump.ops.spmm import spmm

__all__ = [
    "Adjacency",
    "Aggregate",
    "SparseMatrix",
    "dna_attention",
    "draw_seed",
    "dropout",
    "gat_attention",
    "grouped_linear",
    "restricted_softmax",
    "spmm",
]
