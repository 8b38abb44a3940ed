"""What a trained network does: which nodes influence a node, and what the edges attend to."""

from justjump.analysis.attention import AttentionBlock, LayerAttention, attention_blocks, edge_attention
from justjump.analysis.hops import Neighbourhood, neighbourhood
from justjump.analysis.jacobian import Influence, influence, influences

__all__ = [
    "AttentionBlock",
    "Influence",
    "LayerAttention",
    "Neighbourhood",
    "attention_blocks",
    "edge_attention",
    "influence",
    "influences",
    "neighbourhood",
]
