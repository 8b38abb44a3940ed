"""Graphs: the paper's datasets, users' own graphs, and splits of their nodes."""

from .columns import Column, Table
from .datasets import NAMES, is_available, load, location, origin
from .errors import DataError
from .files import read_graph
from .graph import Graph
from .parts import Part, Parts, open_parts, partition_tables
from .preprocess import Preprocessing
from .splits import Split, random_split, split_from_masks

__all__ = [
    "NAMES",
    "Column",
    "DataError",
    "Graph",
    "Part",
    "Parts",
    "Preprocessing",
    "Split",
    "Table",
    "is_available",
    "load",
    "location",
    "open_parts",
    "origin",
    "partition_tables",
    "random_split",
    "read_graph",
    "split_from_masks",
]
