"""What the edges of a DNA network attend to."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from justjump.data import Graph
from justjump.nn import DNAConv, NodeClassifier
from justjump.ops import Adjacency, History
from justjump.ops.blocks import edge_blocks
from justjump.ops.dna.reference import dna_edge_attention
from justjump.ops.history import attended_steps
from justjump.train import Inputs, prepare


class LayerAttention(NamedTuple):
    """What one edge attends to in one layer.

    Attributes:
        layer: its number, counted from 1
        steps: ``[t]`` numbers s of the representations h(s) that it may attend to; h(0) are the projected features
        weight: ``[H, t]`` the share that each head gives to each of them
        refused: ``[H]`` the share that each head gives to none
    """

    layer: int
    steps: list[int]
    weight: np.ndarray
    refused: np.ndarray


class AttentionBlock(NamedTuple):
    """What some edges attend to in one layer.

    Attributes:
        source, target: ``[e]`` the ends of each edge; self-loops are among them
        weight: ``[e, t, H]`` the share of each former representation
        refused: ``[e, H]`` the share that is given to none
    """

    source: Tensor
    target: Tensor
    weight: Tensor
    refused: Tensor


@torch.no_grad()
def edge_attention(
    model: NodeClassifier, graph: Graph | Inputs, target: int, source: int, layer: int | None = None
) -> list[LayerAttention]:
    """What the edge ``target <- source`` attends to in every layer, or in one layer (counted from 1).

    >>> from justjump.data import load
    >>> from justjump.nn import ModelConfig
    >>> cora = load("cora")
    >>> model = NodeClassifier(ModelConfig(layers=2, hidden=16), cora.num_features, cora.num_classes)
    >>> [found.weight.shape for found in edge_attention(model, cora, target=0, source=8)]
    [(8, 1), (8, 2)]
    """
    inputs = graph if isinstance(graph, Inputs) else prepare(graph)
    adj = inputs.adj.with_self_loops()
    for node in (target, source):
        if not 0 <= node < adj.num_nodes:
            raise ValueError(f"there is no node {node}: the graph has nodes 0 to {adj.num_nodes - 1}")
    if source not in adj.col[adj.rowptr[target] : adj.rowptr[target + 1]]:
        raise ValueError(f"there is no edge from node {source} to node {target}")
    layers = range(1, model.config.layers + 1) if layer is None else [checked_layer(model, layer)]
    ends = _history(model, inputs).take(torch.tensor([target, source]))
    edge = torch.tensor([0]), torch.tensor([1])
    found = []
    for number in layers:
        bias = _conv(model, number).multi_head.step_bias
        weight = dna_edge_attention(*_query_and_key(model, ends, number), *edge, bias)[0].T  # [H, t]
        found.append(LayerAttention(number, attended(model, number), weight.numpy(), (1 - weight.sum(1)).numpy()))
    return found


def attention_blocks(
    model: NodeClassifier, graph: Graph | Inputs, layer: int | None = None
) -> Iterator[AttentionBlock]:
    """What the edges attend to in one layer (counted from 1; the last by default), one block of edges at a time.

    The blocks together are :meth:`NodeClassifier.attention <justjump.nn.NodeClassifier.attention>`, but memory holds
    one block only.
    """
    inputs = graph if isinstance(graph, Inputs) else prepare(graph)
    adj = inputs.adj.with_self_loops()
    layer = checked_layer(model, layer)
    yield from blocks_of(model, _history(model, inputs), adj, layer)


@torch.no_grad()
def blocks_of(
    model: NodeClassifier, history: History | Mapping[int, Tensor], adj: Adjacency, layer: int
) -> Iterator[AttentionBlock]:
    """The same, given the representations h(s) that the layer sees, and the graph with self-loops."""
    query, key = _query_and_key(model, history, layer)
    bias = _conv(model, layer).multi_head.step_bias
    for e in edge_blocks(adj.num_edges, key.shape[1:].numel()):
        weight = dna_edge_attention(query, key, adj.target[e], adj.col[e], bias)
        yield AttentionBlock(adj.col[e], adj.target[e], weight, 1 - weight.sum(1))


@torch.no_grad()
def _history(model: NodeClassifier, inputs: Inputs) -> History:
    """All representations h(0) .. h(T), without dropout."""
    check_dna(model)
    training = model.training
    try:
        return model.eval().representations(inputs.x, inputs.adj.with_self_loops())
    finally:
        model.train(training)


def check_dna(model: NodeClassifier) -> None:
    """Raise ValueError unless the network attends to former representations."""
    if model.config.model != "dna":
        raise ValueError(f"model={model.config.model!r} has no attention over former representations: use 'dna'")


@torch.no_grad()
def _query_and_key(model: NodeClassifier, history: History | Mapping[int, Tensor], layer: int) -> tuple[Tensor, Tensor]:
    """Query and keys of some nodes in one layer, given h(0) .. h(T). ``[n, H, C], [n, t, H, C]``"""
    head = _conv(model, layer).multi_head
    former = torch.stack([history[s] for s in attended(model, layer)], dim=1)
    return head.query_and_key(history[layer - 1], former)


def attended(model: NodeClassifier, layer: int) -> list[int]:
    """Numbers s of the representations h(s) that layer t (counted from 1) attends to: 0 .. t-1, or a window of them."""
    conv = _conv(model, layer)
    return attended_steps(layer, conv.window, conv.keep_first)


def step_name(step: int | None) -> str:
    """The name of a representation h(s) in text; None stands for the share that is given to none of them.

    >>> step_name(0), step_name(None)
    ('h(0)', 'refused')
    """
    return "refused" if step is None else f"h({step})"


def _conv(model: NodeClassifier, layer: int) -> DNAConv:
    conv = model.convs[layer - 1]
    assert isinstance(conv, DNAConv)
    return conv


def checked_layer(model: NodeClassifier, layer: int | None) -> int:
    """A layer's number, which is that of the last layer by default; ValueError if there is no such layer."""
    layer = model.config.layers if layer is None else layer
    if not 1 <= layer <= model.config.layers:
        raise ValueError(f"there is no layer {layer}: the network has layers 1 to {model.config.layers}")
    return layer
