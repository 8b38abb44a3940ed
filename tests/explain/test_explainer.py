"""PyG's Explainer on our layers: the gradients of masks that PyG's layers give, the right edge, nothing left behind."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg
from torch_geometric.explain import GNNExplainer, fidelity
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from helpers import assert_same, random_graph, simple_graph
from justjump.explain import Explainer, explainable
from justjump.nn import DNAConv, GATConv, GCNConv
from justjump.ops import Adjacency
from planted import NAMES, explained, planted_network, star

CONFIG = {
    "explanation_type": "model",
    "node_mask_type": "attributes",
    "edge_mask_type": "object",
    "model_config": {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
}


def pairs() -> dict[str, tuple[nn.Module, nn.Module]]:
    """Our layers and PyG's, with the same weights."""
    return {
        "folded": (DNAConv(8, 4, 4), pyg.DNAConv(8, 4, 4)),
        "separate": (DNAConv(8, 4, 1), pyg.DNAConv(8, 4, 1)),
        "without loops": (DNAConv(8, 2, 2, add_self_loops=False), pyg.DNAConv(8, 2, 2, add_self_loops=False)),
        "gcn": (GCNConv(8, 8), pyg.GCNConv(8, 8)),
        "gat": (GATConv(8, 2, 4), pyg.GATConv(8, 2, 4)),
    }


def copy_weights(ours: nn.Module, theirs: nn.Module) -> None:
    with torch.no_grad():
        if isinstance(ours, DNAConv):
            theirs.load_state_dict(ours.state_dict())
            return
        theirs.lin.weight.copy_(ours.lin.weight[0].T)  # type: ignore[union-attr,index,operator]
        theirs.bias.copy_(ours.bias)  # type: ignore[operator,arg-type]
        if isinstance(ours, GATConv):
            theirs.att_src.copy_(ours.att_src)  # type: ignore[operator]
            theirs.att_dst.copy_(ours.att_dst)  # type: ignore[operator]


@pytest.mark.parametrize("kind", pairs())
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("sigmoid", [False, True])
def test_masks_and_features_get_the_gradients_of_pyg(kind: str, loops: bool, sigmoid: bool) -> None:
    ours, theirs = (layer.double() for layer in pairs()[kind])
    copy_weights(ours, theirs)
    edge_index = random_graph(9, 40) if loops else simple_graph(9, 30)
    x = torch.randn((9, 2, 8) if isinstance(ours, DNAConv) else (9, 8), dtype=torch.float64)
    values = torch.rand(edge_index.size(1), dtype=torch.float64)

    def run(layer: nn.Module) -> list[Tensor]:
        mask, features = nn.Parameter(values.clone()), x.clone().requires_grad_()
        set_masks(layer, mask, edge_index, apply_sigmoid=sigmoid)
        out = layer(features, edge_index)
        clear_masks(layer)
        return [out.detach(), *torch.autograd.grad((out**2).sum(), [mask, features])]

    with explainable(ours):
        found = run(ours)
    for a, b in zip(found, run(theirs), strict=True):
        assert_same(a, b)
    assert found[1].abs().max() > 0


def test_every_edge_knows_its_number() -> None:
    edge_index = random_graph(9, 40)
    adj = Adjacency.build(edge_index, num_nodes=9)
    flipped, part = adj.flipped(), adj.with_self_loops().normalized("gcn").toward([3, 1])
    assert torch.equal(edge_index[:, adj.edge_id], adj.edge_index)
    assert torch.equal(edge_index[:, flipped.edge_id].flip(0), flipped.edge_index)
    assert torch.equal(Adjacency(adj.rowptr, adj.col).edge_id, torch.arange(40))
    for looped in (adj.with_self_loops(), adj.with_self_loops().normalized("gcn"), part):
        source, target = looped.edge_index
        new = looped.edge_id < 0
        assert torch.equal(new, source == target)
        assert torch.equal(edge_index[:, looped.edge_id[~new]], looped.edge_index[:, ~new])


@pytest.mark.slow
@pytest.mark.parametrize("model", NAMES)
def test_the_planted_edge_and_feature_are_found(model: Any) -> None:
    network = planted_network(model)
    state = copy.deepcopy(network.state_dict())
    algorithm = GNNExplainer(epochs=80, lr=0.1, edge_size=0.2, edge_ent=0.0, node_feat_size=0.5, node_feat_ent=0.0)
    assert [explained(Explainer, network, algorithm, seed) for seed in range(4)] == [(True, True)] * 4
    assert all(torch.equal(state[key], value) for key, value in network.state_dict().items())


class Failing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.dropout, self.fails = GCNConv(4, 2), nn.Dropout(), False

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.dropout(self.conv(x, edge_index))
        if self.fails and torch.is_grad_enabled():
            raise RuntimeError("on purpose")
        return out


@pytest.mark.parametrize("fails", [False, True])
def test_a_network_is_the_same_afterwards(fails: bool) -> None:
    model = Failing()
    model.dropout.eval()  # a part in another mode
    model.conv.lin.weight.requires_grad_(False)
    model.conv.bias.grad = torch.ones(2)  # type: ignore[union-attr]
    x, edge_index = torch.randn(9, 4), random_graph(9, 30)
    expected, names = model.eval()(x, edge_index), [name for name, _ in model.named_modules()]
    model.train()
    model.dropout.eval()
    model.fails = fails
    explainer = Explainer(model, GNNExplainer(epochs=2), **CONFIG)
    if fails:
        with pytest.raises(RuntimeError, match="on purpose"):
            explainer(x, edge_index, index=2)
    else:
        explainer(x, edge_index, index=2)
    assert model.training
    assert model.conv.training
    assert not model.dropout.training
    assert [name for name, _ in model.named_modules()] == names
    assert {name: p.requires_grad for name, p in model.named_parameters()} == {
        "conv.bias": True,
        "conv.lin.weight": False,
    }
    assert model.conv.bias.grad.tolist() == [1, 1]  # type: ignore[union-attr]
    model.fails = False
    assert torch.equal(model.eval()(x, edge_index), expected)


def test_masked_predictions_and_metrics() -> None:
    model = planted_network("gcn", epochs=1)
    x, edge_index, _ = star(0)
    explainer = Explainer(model, GNNExplainer(epochs=2), **CONFIG)
    none = torch.zeros(edge_index.size(1))
    with torch.no_grad():
        alone = model(x, edge_index[:, :0])
        masked = explainer.get_masked_prediction(x, edge_index, edge_mask=none)
    assert not torch.allclose(masked, model(x, edge_index))  # the degrees still count
    assert masked.shape == alone.shape
    positive, negative = fidelity(explainer, explainer(x, edge_index, index=0))
    assert 0 <= positive <= 1
    assert 0 <= negative <= 1
