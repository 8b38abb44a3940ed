"""Dynamic neighborhood aggregation for graph neural networks (*Just Jump*, Fey 2019)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from justjump.lazy import lazy_names
from justjump.registration import register_operations

if TYPE_CHECKING:
    from justjump.data import Graph, load, read_graph
    from justjump.estimator import DNAClassifier, DNARegressor
    from justjump.nn import DNAConv, ModelConfig, NodeClassifier
    from justjump.ops import Adjacency
    from justjump.options import recommended
    from justjump.train import Protocol, Run, fit

    __version__: str

__all__ = [
    "Adjacency",
    "DNAClassifier",
    "DNAConv",
    "DNARegressor",
    "Graph",
    "ModelConfig",
    "NodeClassifier",
    "Protocol",
    "Run",
    "fit",
    "load",
    "read_graph",
    "recommended",
]

_lazy = lazy_names(
    "justjump",
    {
        "data": ["Graph", "load", "read_graph"],
        "estimator": ["DNAClassifier", "DNARegressor"],
        "nn": ["DNAConv", "ModelConfig", "NodeClassifier"],
        "ops": ["Adjacency"],
        "options": ["recommended"],
        "train": ["Protocol", "Run", "fit"],
    },
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name in ("analysis", "data", "explain", "export", "loader", "nn", "ops", "train"):
        return import_module(f"justjump.{name}")
    return _lazy(name)


def _version() -> str:
    """The version that pyproject.toml states, as it was installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes a while to import

    try:
        return version("justjump")
    except PackageNotFoundError:  # the sources alone, on PYTHONPATH
        return "unknown"


register_operations()
