"""Thin modules over :mod:`justjump.ops`."""

from justjump.nn.classifier import ModelConfig, NodeClassifier
from justjump.nn.dna_conv import DNAConv, EdgeAttention
from justjump.nn.gat_conv import GATConv
from justjump.nn.gcn_conv import GCNConv
from justjump.nn.grouped_linear import GroupedLinear
from justjump.nn.jump import GRUUpdate, SkipUpdate, jumping_knowledge

__all__ = [
    "DNAConv",
    "EdgeAttention",
    "GATConv",
    "GCNConv",
    "GRUUpdate",
    "GroupedLinear",
    "ModelConfig",
    "NodeClassifier",
    "SkipUpdate",
    "jumping_knowledge",
]
