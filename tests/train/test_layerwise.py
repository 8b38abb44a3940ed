"""Outputs layer by layer: those of the whole graph."""

from typing import Any

import pytest
import torch

from helpers import assert_same
from justjump.data import Graph
from justjump.nn import ModelConfig, NodeClassifier
from justjump.train import prepare
from justjump.train.layerwise import output_by_layer


@pytest.mark.parametrize("model", ["dna", "gcn", "gat"])
@pytest.mark.parametrize("options", [{}, {"jump": "concat"}, {"update": "skip"}])
def test_equal_to_all_at_once(cora: Graph, model: Any, options: dict[str, Any]) -> None:
    inputs = prepare(cora)
    network = NodeClassifier(ModelConfig(model, layers=3, hidden=16, heads=4, groups=4, **options), 1433, 7).eval()
    with torch.no_grad():
        whole = network(inputs.x, inputs.adj)
    blocks = 300 * 12 * 16 * 4  # 300 edges
    assert_same(output_by_layer(network, inputs, block_bytes=blocks), whole)
    some = torch.tensor([2707, 3, 3, 1000])
    assert_same(output_by_layer(network, inputs, some, block_bytes=blocks), whole[some])
    assert_same(output_by_layer(network, inputs), whole)


def test_dense_features_a_window_and_a_target_larger_than_a_block(tiny: Graph) -> None:
    inputs = prepare(tiny)
    config = ModelConfig(layers=3, hidden=8, heads=2, groups=2, window=1)
    network = NodeClassifier(config, 6, 2).eval()
    with torch.no_grad():
        whole = network(inputs.x, inputs.adj)
    assert_same(output_by_layer(network, inputs, block_bytes=1), whole)
    assert output_by_layer(network, inputs, torch.empty(0, dtype=torch.int64)).shape == (0, 2)


def test_other_networks_are_refused(tiny: Graph) -> None:
    with pytest.raises(TypeError, match="is not computed layer by layer"):
        output_by_layer(torch.nn.Linear(1, 1), prepare(tiny))
