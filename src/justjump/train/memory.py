"""How much memory a run needs, and whether there is as much."""

import torch

from justjump.data import Graph
from justjump.memory import available_memory
from justjump.nn import ModelConfig, NodeClassifier
from justjump.train.errors import TrainingError
from justjump.train.protocol import Protocol

# Memory of a process that has imported torch and holds a dataset.
PROCESS_BYTES = 600 * 2**20
# Runs of all models were measured to need this share of the upper estimate, or somewhat more.
LIKELY = 0.25
# The weights, those of the best epoch, their gradients, and the two moments of the optimizer.
WEIGHT_COPIES = 5


def run_bytes(nodes: int, edges: int, config: ModelConfig) -> int:
    """An upper estimate of the bytes that a process needs at its peak to train on a graph at once.

    Args:
        nodes: N
        edges: joined pairs of nodes
    """
    representations = 24 * nodes * config.hidden * (config.layers + 2)
    lstm = 24 * nodes * config.hidden * (config.layers + 1) ** 2 if config.jump == "lstm" else 0
    attention = 8 * (2 * edges + nodes) * config.heads if config.model == "gat" else 0
    return PROCESS_BYTES + 120 * edges + 4 * (representations + lstm + config.layers * attention)


def batch_bytes(nodes: int, edges: int, config: ModelConfig, protocol: Protocol, training: int) -> int:
    """The same for mini-batches: one batch, and the representations of all nodes without gradients."""
    assert protocol.batch_size is not None
    degree = max(1, 2 * edges // max(1, nodes))
    inside, ring = min(protocol.batch_size, training), min(protocol.batch_size, training)
    for size in protocol.fanout or (-1,) * config.layers:
        ring = min(ring * (degree if size < 0 else min(size, degree)), nodes)
        inside = min(inside + ring, nodes)
    one = run_bytes(inside, min(edges, inside * degree // 2), config)
    return one + 120 * edges + 8 * nodes * config.hidden * (config.layers + 1)


def check_weights(config: ModelConfig, num_features: int, num_classes: int, copies: int = WEIGHT_COPIES) -> None:
    """Raise a TrainingError if the weights of a network, which are dense, take more memory than there is."""
    with torch.device("meta"):  # shapes without memory
        weights = NodeClassifier(config, num_features, num_classes).parameters()
        need = copies * sum(weight.nbytes for weight in weights)
    room = available_memory()
    if need > room:
        raise TrainingError(
            f"the weights of a network for {num_features:,} features and {num_classes:,} classes take "
            f"{need / 2**30:.1f} GB with all that training keeps of them, and {room / 2**30:.1f} GB are free: lower "
            "hidden or layers, or give the nodes fewer features"
        )


def notes_on_memory(graph: Graph, config: ModelConfig, protocol: Protocol, training: int) -> list[str]:
    """A sentence if training will most likely not fit into memory, and what to do.

    It is an estimate, and nothing is refused.

    Args:
        training: number of training nodes
    """
    room, edges = available_memory(), graph.edge_index.shape[1] // 2
    if protocol.batch_size is None:
        need = run_bytes(graph.num_nodes, edges, config)
        remedy = "train on mini-batches (batch_size=1024, and fanout=... with a number for each layer)"
        if graph.batch is not None:
            remedy = "train on fewer graphs"  # there are no mini-batches of whole graphs
    else:
        need = batch_bytes(graph.num_nodes, edges, config, protocol, training)
        remedy = "lower batch_size or fanout=..." if protocol.fanout else "lower batch_size or give fanout=..."
    if LIKELY * need <= room:
        return []
    window = ", or give a window" if config.model == "dna" and not config.window else ""
    return [
        f"training will most likely not fit into memory: it needs {LIKELY * need / 2**30:.1f} GB or more, and "
        f"{room / 2**30:.1f} GB are free; {remedy}, lower hidden or layers{window}"
    ]
