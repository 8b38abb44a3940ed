"""Attention weights of edges, and their distribution."""

from typing import Any

import numpy as np
import pytest
import torch

from helpers import random_graph
from justjump.analysis import attention_blocks, edge_attention
from justjump.analysis import attention_statistics as statistics
from justjump.analysis.attention_statistics import Box, By, attention_statistics
from justjump.data import Graph
from justjump.nn import DNAConv, ModelConfig, NodeClassifier
from justjump.ops import blocks
from justjump.train import Inputs, prepare

NODES, FEATURES, CLASSES = 40, 6, 3


@pytest.fixture
def inputs() -> Inputs:
    generator = np.random.default_rng(0)
    labels = np.arange(NODES) % (CLASSES + 1) - 1  # some are unknown
    edge_index = random_graph(NODES, 120).numpy()
    return prepare(Graph(edge_index, generator.normal(size=(NODES, FEATURES)), labels, ("a", "b", "c")))


def network(**options: Any) -> NodeClassifier:
    net = NodeClassifier(ModelConfig(layers=4, hidden=16, heads=4, groups=4, **options), FEATURES, CLASSES)
    with torch.no_grad():  # sharp weights: a fresh network's are all alike
        for conv in net.convs:
            assert isinstance(conv, DNAConv)
            conv.multi_head.lin_q.weight.mul_(8)
    return net


@pytest.mark.parametrize("elements", [1000, 2**22])
def test_blocks_together_are_the_attention_of_all_edges(
    inputs: Inputs, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ELEMENTS", elements)
    net = network()
    for layer in range(1, 5):
        parts = list(attention_blocks(net, inputs, layer))
        whole = net.eval().attention(inputs.x, inputs.adj, layer)
        source, target, weight, refused = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
        assert torch.equal(torch.stack([source, target]), whole.edge_index)
        torch.testing.assert_close(weight, whole.weight)
        torch.testing.assert_close(refused, whole.refused)
        net.train()
    assert len(parts) > 1 or elements == 2**22


@pytest.mark.parametrize("window", [None, 2])
def test_one_edge_in_every_layer(inputs: Inputs, window: int | None) -> None:
    net = network(window=window)
    source, target = inputs.adj.edge_index[:, 17].tolist()
    found = edge_attention(net, inputs, target, source)
    assert [layer.layer for layer in found] == [1, 2, 3, 4]
    assert found[3].steps == ([0, 1, 2, 3] if window is None else [2, 3])
    for layer in found:
        whole = net.eval().attention(inputs.x, inputs.adj, layer.layer)
        np.testing.assert_allclose(layer.weight, whole.weight[17].T, atol=1e-6)
        np.testing.assert_allclose(layer.refused, whole.refused[17], atol=1e-6)
    (third,) = edge_attention(net, inputs, target, source, layer=3)
    assert np.array_equal(third.weight, found[2].weight)


def weights_of(net: NodeClassifier, inputs: Inputs, layer: int, box: Box) -> np.ndarray:
    """All weights that a box stands for."""
    whole = net.eval().attention(inputs.x, inputs.adj, layer)
    share = whole.refused if box.given_to is None else whole.weight[:, whole.steps.index(box.given_to)]
    if box.head is not None:
        share = share[:, box.head]
    if box.label is not None:
        share = share[inputs.labels[whole.edge_index[1]] == box.label]
    return share.flatten().numpy()


@pytest.mark.parametrize(("by", "boxes"), [("all", 5), ("head", 20), ("class", 15), ("layer", 14)])
@pytest.mark.parametrize("elements", [1000, 2**22])
def test_statistics_are_those_of_all_weights(
    inputs: Inputs, by: By, boxes: int, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ELEMENTS", elements)
    net = network()
    found = attention_statistics(net, inputs, by, classes=CLASSES)
    assert len(found) == boxes
    for box in found:
        weights = weights_of(net, inputs, box.layer, box)
        quantiles = np.quantile(weights, statistics.QUANTILES, method="inverted_cdf")
        assert box.count == len(weights)
        assert box.mean == pytest.approx(weights.mean(), abs=1e-6)
        assert box.largest == pytest.approx(weights.max(), abs=1e-6)
        np.testing.assert_allclose(
            [box.low, box.q1, box.median, box.q3, box.high], quantiles, atol=0.51 / statistics.BINS
        )


def test_what_has_no_attention_is_refused(inputs: Inputs) -> None:
    gcn = NodeClassifier(ModelConfig("gcn", layers=2), FEATURES, CLASSES)
    with pytest.raises(ValueError, match="model='gcn' has no attention over former representations: use 'dna'"):
        next(attention_blocks(gcn, inputs))
    with pytest.raises(ValueError, match="there is no layer 9: the network has layers 1 to 4"):
        next(attention_blocks(network(), inputs, layer=9))
    with pytest.raises(ValueError, match="there is no edge from node 39 to node 0"):
        edge_attention(network(), inputs, target=0, source=39)
    with pytest.raises(ValueError, match="there is no node 99"):
        edge_attention(network(), inputs, target=0, source=99)
