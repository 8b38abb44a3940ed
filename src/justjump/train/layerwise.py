"""What a network says about nodes, layer by layer in blocks of nodes: in bounded memory beside the representations."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from justjump.nn import DNAConv, NodeClassifier
from justjump.ops import Adjacency, History, Hops, Sampler
from justjump.ops.matrix import rows_of
from justjump.train.inputs import Inputs

# Of the rows that a block gathers, and of what the layer makes of them.
BLOCK_BYTES = 2**29


@torch.no_grad()
def output_by_layer(
    model: nn.Module, inputs: Inputs, nodes: Tensor | None = None, block_bytes: int = BLOCK_BYTES
) -> Tensor:
    """Equal to ``model(inputs.x, inputs.adj)`` up to rounding, or to the rows of some nodes of it. ``[n, C]``

    Layer t is computed for all nodes that a later layer reads, one block of targets after the other, from the stored
    representations of the layers before it.
    """
    if not isinstance(model, NodeClassifier) or inputs.batch is not None:
        raise TypeError(f"a {type(model).__name__} of whole graphs is not computed layer by layer: use all at once")
    whole = inputs.adj.with_self_loops().normalized("gcn", model.lin_out.weight.dtype)
    nodes = torch.arange(whole.num_nodes) if nodes is None else nodes
    layers, d = model.config.layers, model.config.hidden
    budget = max(1, block_bytes // (12 * d * (layers + 1)))  # edges of a block, each of which may have its own source
    if whole.num_nodes <= budget:
        budget = whole.num_edges  # there are no more sources than nodes
    rows = _read(whole, nodes, layers)
    sampler = Sampler(whole, [-1], keep_loops=True)

    stored = [_first(model, inputs, rows[0], budget)]
    for t in range(1, layers + 1):
        former = stored if isinstance(model.convs[t - 1], DNAConv) or model.reads_first else stored[-1:]
        out = torch.zeros_like(stored[0])
        for block in _blocks(whole, rows[t], budget):
            sample = sampler(block)
            history = History([h[sample.nodes] for h in former])
            model.layer(t, history, Hops(whole, sample).layer(1))
            out[block] = history.newest
        if model.jump is None and not isinstance(model.convs[0], DNAConv) and not model.reads_first:
            stored.clear()  # no one reads them any more
        stored.append(out)
    return torch.cat([_last(model, inputs, stored, block) for block in torch.split(nodes, budget)])


def _read(whole: Adjacency, nodes: Tensor, layers: int) -> list[Tensor]:
    """The nodes whose h(t) is read, for t = 0 .. T: those that are asked for, and the sources of the layer after."""
    read = torch.zeros(whole.num_nodes, dtype=torch.bool)
    read[nodes] = True
    found = [read.nonzero()[:, 0]]
    for _ in range(layers):
        if len(found[-1]) < whole.num_nodes:
            read[whole.col[read[whole.target]].long()] = True
        found.append(read.nonzero()[:, 0])
    return found[::-1]


def _first(model: NodeClassifier, inputs: Inputs, rows: Tensor, budget: int) -> Tensor:
    """h(0) of some nodes; the rows of the others are 0. ``[N, d]``"""
    x = inputs.x
    out = torch.zeros(x.shape[0], model.config.hidden, dtype=model.lin_out.weight.dtype)
    for block in torch.split(rows, budget):
        out[block] = model.first(rows_of(x, block))
    return out


def _last(model: NodeClassifier, inputs: Inputs, stored: list[Tensor], block: Tensor) -> Tensor:
    """The output for some nodes, whose representations are stored. ``[n, C]``"""
    x = None if model.lin_alone is None else rows_of(inputs.x, block)
    return model.logits(model.final(History([h[block] for h in stored])), x)


def _blocks(whole: Adjacency, rows: Tensor, budget: int) -> Iterator[Tensor]:
    """Pieces of some targets with about ``budget`` edges each; a target with more is a piece of its own."""
    edges = torch.cumsum((whole.rowptr[rows + 1] - whole.rowptr[rows]).long(), 0)
    _, sizes = torch.unique_consecutive((edges - 1) // budget, return_counts=True)
    yield from torch.split(rows, sizes.tolist())
