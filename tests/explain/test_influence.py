"""Explanations from exact derivatives."""

from typing import Any

import pytest
import torch
from torch_geometric import explain
from torch_geometric import nn as pyg

from helpers import assert_same, random_graph
from justjump.explain import Explainer, Influence
from justjump.nn import GCNConv, NodeClassifier
from planted import NAMES, explained, planted_network

REGRESSION = {"mode": "regression", "task_level": "node", "return_type": "raw"}


def explainer(model: torch.nn.Module, node: str | None, edge: str | None, kind: Any = Explainer) -> Any:
    return kind(
        model, Influence(), explanation_type="model", model_config=REGRESSION, node_mask_type=node, edge_mask_type=edge
    )


@pytest.mark.parametrize("model", NAMES)
def test_the_planted_edge_and_feature_are_found(model: Any) -> None:
    network = planted_network(model)
    found = [explained(Explainer, network, Influence(), seed) for seed in range(5)]
    assert found == [(True, True)] * 5


def test_the_masks_are_shares_of_exact_derivatives() -> None:
    conv, x, edge_index = GCNConv(3, 2).double(), torch.randn(9, 3, dtype=torch.float64), random_graph(9, 30)
    index = torch.tensor([1, 4])
    jacobian = torch.autograd.functional.jacobian(lambda x: conv(x, edge_index)[index], x)  # [2, 2, 9, 3]
    expected = (jacobian * x).abs().sum((0, 1))
    expected = expected / expected.sum()
    for kind, summed in (
        ("attributes", expected),
        ("object", expected.sum(1, keepdim=True)),
        ("common_attributes", expected.sum(0, keepdim=True)),
    ):
        explanation = explainer(conv, kind, "object")(x, edge_index, index=index)
        assert_same(explanation.node_mask, summed)
        assert_same(explanation.edge_mask.sum(), torch.ones((), dtype=torch.float64))
        toward = (edge_index[1] == 1) | (edge_index[1] == 4)
        assert bool((explanation.edge_mask[~toward] == 0).all())  # one layer sees the edges into its node alone
    assert "edge_mask" not in explainer(conv, "object", None)(x, edge_index, index=1)
    assert "node_mask" not in explainer(conv, None, "object")(x, edge_index, index=1)


def test_other_layers_and_mistakes() -> None:
    x, edge_index = torch.randn(9, 3), random_graph(9, 30)
    theirs = explainer(pyg.GCNConv(3, 2), "object", "object", explain.Explainer)(x, edge_index, index=1)
    assert theirs.edge_mask.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match=r"layers of justjump with justjump.explain.Explainer"):
        explainer(GCNConv(3, 2), "object", "object", explain.Explainer)(x, edge_index, index=1)
    with pytest.raises(ValueError, match="'edge_mask_type' needs be None or of type 'object'"):
        explainer(GCNConv(3, 2), "object", "attributes")
    with pytest.raises(TypeError, match="one type of nodes"):
        Influence().forward(GCNConv(3, 2), {"a": x}, {"b": edge_index}, target=x)


def test_a_network_without_edges_has_no_influence_along_them() -> None:
    network = planted_network("dna", epochs=1)
    assert isinstance(network, NodeClassifier)
    none = torch.zeros(2, 0, dtype=torch.int64)
    explanation = explainer(network, "attributes", "object")(torch.ones(3, 4), none, index=0)
    assert explanation.edge_mask.shape == (0,)
    assert explanation.node_mask[1:].sum() == 0
