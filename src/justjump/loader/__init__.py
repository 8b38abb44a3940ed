"""Mini-batches of a graph: the nodes that are asked for, and sampled neighbours around them."""

from typing import TYPE_CHECKING

from justjump.lazy import lazy_names
from justjump.loader.batches import Batch, Batches

if TYPE_CHECKING:
    from justjump.loader.neighbor_loader import NeighborLoader
else:
    __getattr__ = lazy_names("justjump.loader", {"neighbor_loader": ["NeighborLoader"]})  # PyG takes seconds to import

__all__ = ["Batch", "Batches", "NeighborLoader"]
