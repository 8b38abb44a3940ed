"""Graphs in parts on disk, for training on graphs that do not fit into memory and on several machines."""

from .manifest import Manifest
from .part import Part
from .partition import partition_graph
from .reader import Parts, is_parts, open_parts
from .stream import partition_tables

__all__ = ["Manifest", "Part", "Parts", "is_parts", "open_parts", "partition_graph", "partition_tables"]
