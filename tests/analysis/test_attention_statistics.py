"""The distribution of attention weights."""

import numpy as np
import pytest

from attention_helpers import CLASSES, network, small_inputs
from justjump.analysis import attention_statistics as statistics
from justjump.analysis.attention_statistics import Box, By, attention_statistics
from justjump.nn import NodeClassifier
from justjump.ops import blocks
from justjump.train import Inputs


@pytest.fixture
def inputs() -> Inputs:
    return small_inputs()


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
