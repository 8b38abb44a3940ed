"""Dynamic neighborhood aggregation for graph neural networks (*Just Jump*, Fey 2019)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from justjump.data import Graph, load, read_graph
    from justjump.estimator import DNAClassifier
    from justjump.nn import DNAConv, ModelConfig, NodeClassifier
    from justjump.ops import Adjacency
    from justjump.train import Protocol, Run, fit

    __version__: str

__all__ = [
    "Adjacency",
    "DNAClassifier",
    "DNAConv",
    "Graph",
    "ModelConfig",
    "NodeClassifier",
    "Protocol",
    "Run",
    "fit",
    "load",
    "read_graph",
]

# Names are looked up when used: `justjump --help` need not wait for torch.
_HOMES = {
    "justjump.data": ("Graph", "load", "read_graph"),
    "justjump.estimator": ("DNAClassifier",),
    "justjump.nn": ("DNAConv", "ModelConfig", "NodeClassifier"),
    "justjump.ops": ("Adjacency",),
    "justjump.train": ("Protocol", "Run", "fit"),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name in ("analysis", "data", "nn", "ops", "train"):
        return import_module(f"justjump.{name}")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'justjump' has no attribute {name!r}")


def _version() -> str:
    """The version that pyproject.toml states, as it was installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes a while to import

    try:
        return version("justjump")
    except PackageNotFoundError:  # the sources alone, on PYTHONPATH
        return "unknown"
