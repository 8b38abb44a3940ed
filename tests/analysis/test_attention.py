"""Attention weights of edges."""

import numpy as np
import pytest
import torch

from attention_helpers import CLASSES, FEATURES, network, small_inputs
from justjump.analysis import attention_blocks, edge_attention
from justjump.analysis.attention import attended, step_name
from justjump.nn import ModelConfig, NodeClassifier
from justjump.ops import blocks
from justjump.train import Inputs


@pytest.fixture
def inputs() -> Inputs:
    return small_inputs()


@pytest.mark.parametrize(
    ("elements", "attention"), [(1000, "learned"), (2**22, "learned"), (2**22, "biased"), (2**22, "normalised")]
)
def test_blocks_together_are_the_attention_of_all_edges(
    inputs: Inputs, elements: int, attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ELEMENTS", elements)
    net = network(qk_norm=True) if attention == "normalised" else network(attention=attention)
    for layer in range(1, 5):
        parts = list(attention_blocks(net, inputs, layer))
        whole = net.eval().attention(inputs.x, inputs.adj, layer)
        source, target, weight, refused = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
        assert torch.equal(torch.stack([source, target]), whole.edge_index)
        torch.testing.assert_close(weight, whole.weight)
        torch.testing.assert_close(refused, whole.refused)
        assert not weight.requires_grad
        net.train()
    assert len(parts) > 1 or elements == 2**22


@pytest.mark.parametrize(("window", "attention"), [(None, "learned"), (2, "biased")])
def test_one_edge_in_every_layer(inputs: Inputs, window: int | None, attention: str) -> None:
    net = network(window=window, attention=attention)
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


def test_representations_have_numbers_and_names() -> None:
    assert attended(network(window=2, keep_first=True), 4) == [0, 3]
    assert [step_name(step) for step in (0, 3, None)] == ["h(0)", "h(3)", "refused"]
