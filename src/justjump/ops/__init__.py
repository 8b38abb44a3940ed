"""Functions on tensors: one folder per operator, each with its obvious version (``reference``) beside the fast ones."""

from justjump.ops.adjacency import Adjacency, Aggregate
from justjump.ops.dna import Projections, dna_conv, dna_extend
from justjump.ops.dna.reference import restricted_softmax
from justjump.ops.drop_edges import drop_edges
from justjump.ops.dropout import draw_seed, dropout, relu_dropout
from justjump.ops.gat import gat_attention
from justjump.ops.gat.outgoing import outgoing_attention
from justjump.ops.grouped import grouped_linear
from justjump.ops.history import History
from justjump.ops.hops import Hops
from justjump.ops.matrix import SparseMatrix
from justjump.ops.mix import mix_relu
from justjump.ops.native import without_native
from justjump.ops.plan import Plan
from justjump.ops.sample import Sample, Sampler
from justjump.ops.spmm import spmm
from justjump.ops.traced import TracedAdjacency

__all__ = [
    "Adjacency",
    "Aggregate",
    "History",
    "Hops",
    "Plan",
    "Projections",
    "Sample",
    "Sampler",
    "SparseMatrix",
    "TracedAdjacency",
    "dna_conv",
    "dna_extend",
    "draw_seed",
    "drop_edges",
    "dropout",
    "gat_attention",
    "grouped_linear",
    "mix_relu",
    "outgoing_attention",
    "relu_dropout",
    "restricted_softmax",
    "spmm",
    "without_native",
]
