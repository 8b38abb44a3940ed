"""Thin modules over :mod:`justjump.ops`."""

from typing import TYPE_CHECKING

from justjump.lazy import lazy_names

if TYPE_CHECKING:
    from justjump.nn.classifier import NodeClassifier
    from justjump.nn.config import ModelConfig
    from justjump.nn.dna_conv import DNAConv, EdgeAttention
    from justjump.nn.gat_conv import GATConv
    from justjump.nn.gcn_conv import GCNConv
    from justjump.nn.grouped_linear import GroupedLinear
    from justjump.nn.jump import GRUUpdate, SkipUpdate, jumping_knowledge
    from justjump.nn.networks import DNA, GAT, GCN
    from justjump.nn.readout import Readout
else:
    __getattr__ = lazy_names(
        "justjump.nn",
        {
            "classifier": ["NodeClassifier"],
            "config": ["ModelConfig"],
            "dna_conv": ["DNAConv", "EdgeAttention"],
            "gat_conv": ["GATConv"],
            "gcn_conv": ["GCNConv"],
            "grouped_linear": ["GroupedLinear"],
            "jump": ["GRUUpdate", "SkipUpdate", "jumping_knowledge"],
            "networks": ["DNA", "GAT", "GCN"],
            "readout": ["Readout"],
        },
    )

__all__ = [
    "DNA",
    "GAT",
    "GCN",
    "DNAConv",
    "EdgeAttention",
    "GATConv",
    "GCNConv",
    "GRUUpdate",
    "GroupedLinear",
    "ModelConfig",
    "NodeClassifier",
    "Readout",
    "SkipUpdate",
    "jumping_knowledge",
]
