"""Mini-batches of a graph: the nodes that are asked for, and sampled neighbours around them."""

from justjump.loader.batches import Batch, Batches
from justjump.loader.neighbor_loader import NeighborLoader

__all__ = ["Batch", "Batches", "NeighborLoader"]
