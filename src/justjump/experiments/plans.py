"""How the layers of a network will be computed on a graph."""

from justjump.data import Graph
from justjump.nn import ModelConfig
from justjump.train import Protocol


def show_plan(graph: Graph, config: ModelConfig, protocol: Protocol) -> None:
    """Print which form each layer takes on this graph, what it keeps for its gradients, and why."""
    # The decision is ops.plan.Plan's; this function will make one per layer and print it.
    raise NotImplementedError("--plan cannot be shown yet")
