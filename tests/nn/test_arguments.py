"""Arguments that a layer does not have, and arguments in a wrong place: the message says what is meant."""

import inspect
from typing import Any

import numpy as np
import pytest
import torch

from justjump.nn import DNA, GAT, GCN, DNAConv, GATConv, GCNConv, ModelConfig, NodeClassifier


@pytest.mark.parametrize(
    ("layer", "arguments", "message"),
    [
        (DNAConv, (32,), "DNAConv has no argument 'cachd': did you mean 'cached'?"),
        (GCNConv, (8, 8), "GCNConv has no argument 'cachd': it takes in_channels, out_channels, groups, bias"),
        (GATConv, (8, 8), "GATConv has no argument 'cachd': it takes in_channels, out_channels, heads, groups, "),
    ],
)
def test_an_unknown_argument_is_named(layer: Any, arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(TypeError) as error:
        layer(*arguments, cachd=True)
    assert str(error.value).startswith(message)
    assert "aggr=" not in str(error.value)


def test_a_near_match_is_offered() -> None:
    for layer in (GCNConv, GATConv):
        with pytest.raises(TypeError, match=r"has no argument 'group': did you mean 'groups'\?"):
            layer(8, 8, group=2)


@pytest.mark.parametrize("heads", [64, 24, 12])
def test_a_number_of_outputs_in_the_place_of_the_heads(heads: int) -> None:
    with pytest.raises(ValueError, match="heads") as error:
        DNAConv(32, heads)
    assert f"heads={heads} does not divide channels=32: choose one of 1, 2, 4, 8, 16, 32." in str(error.value)
    assert "The second argument of DNAConv(channels, heads, groups) is the number of heads" in str(error.value)


@pytest.mark.parametrize("sizes", [(64, 32), (64, 64), (64, 16), (32, np.int64(16))])
def test_a_number_of_outputs_that_could_be_heads(sizes: tuple[int, int]) -> None:
    channels, heads = sizes
    message = rf"DNAConv\({channels}, {heads}\) has {heads} heads .* write heads={heads} if you mean that"
    with pytest.warns(UserWarning, match=message) as seen:
        DNAConv(*sizes)
    assert seen[0].filename == __file__


def test_heads_that_are_meant_are_silent() -> None:
    DNAConv(64, heads=32)
    DNAConv(64, 8)
    DNAConv(8, 4)
    DNAConv(32, 16, 16)  # as in the paper's grid
    DNAConv(32, 16, groups=16)
    DNA(5, 64, 2, heads=32)
    NodeClassifier(ModelConfig(layers=1, hidden=32, heads=16), 3, 2)


def test_the_signature_stays() -> None:
    assert list(inspect.signature(DNAConv).parameters)[:4] == ["channels", "heads", "groups", "dropout"]


def test_places_of_pyg_s_arguments() -> None:
    with pytest.raises(TypeError, match="groups=True is of type bool, expected an int"):
        GCNConv(8, 8, True)  # PyG's improved
    with pytest.raises(TypeError, match="groups=False is of type bool, expected an int"):
        GATConv(8, 8, 2, False)  # PyG's concat


def test_what_pyg_hands_to_its_base_class() -> None:
    DNAConv(8, aggr="add", node_dim=0)
    DNAConv(8, aggr="sum")
    for name, value in {"aggr": "max", "node_dim": -2, "decomposed_layers": 2}.items():
        with pytest.raises(ValueError, match=f"{name}={value!r} is not supported, only"):
            DNAConv(8, **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("network", [DNA, GCN, GAT])
def test_missing_arguments_are_those_of_the_network(network: Any) -> None:
    name = network.__name__
    with pytest.raises(TypeError, match=rf"^{name}.__init__\(\) missing 1 required .*'num_layers'"):
        network(5, 8)
    with pytest.raises(TypeError, match=rf"^{name}.forward\(\) missing 1 required .*'edge_index'"):
        network(5, 8, 2)(torch.ones(3, 5))
    assert "out_channels" in inspect.signature(network).parameters


@pytest.mark.parametrize(
    ("network", "options", "message"),
    [
        (DNA, {"heads": 3}, "heads=3 does not divide hidden_channels=8: choose one of 1, 2, 4, 8$"),
        (DNA, {"groups": 3}, "groups=3 does not divide hidden_channels=8"),
        (DNA, {"attention_dropout": 1.5}, r"^attention_dropout=1.5 is not in \[0, 1\)"),
        (DNA, {"dropout": 2}, r"^dropout=2 is not in \[0, 1\)"),
        (DNA, {"act": "rel"}, "act='rel' is unknown: give a name, such as 'relu', "),
        (DNA, {"norm": "batchnorm1"}, "norm='batchnorm1' is unknown: give a name, such as 'batch_norm'"),
        (DNA, {"hidden": 4}, "DNA has no argument 'hidden': did you mean 'hidden_channels'?"),
        (GCN, {"groups": 3}, "groups=3 does not divide hidden_channels=8"),
        (
            GCN,
            {"norm": "batch_norm", "norm_kwargs": {"x": 1}},
            "norm_kwargs={'x': 1} does not go with norm=",
        ),
        (GAT, {"heads": 3}, "heads=3 does not divide hidden_channels=8"),
        (GAT, {"heads": 0}, "heads=0 must be at least 1"),
        (GAT, {"heads": 2.5}, "heads=2.5 is of type float, expected an int"),
        (GAT, {"heads": 4, "groups": 3}, "groups=3 does not divide hidden_channels=8"),
        (GAT, {"attention_dropout": 3}, r"^attention_dropout=3 is not in"),
    ],
)
def test_errors_name_what_was_passed(network: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        network(5, 8, 3, **options)


def test_sizes_of_a_layer_are_named() -> None:
    with pytest.raises(ValueError, match=r"groups=3 does not divide heads \* out_channels=8"):
        GATConv(6, 4, heads=2, groups=3)
    with pytest.raises(ValueError, match="groups=3 does not divide in_channels=5: choose one of 1, 5"):
        GCNConv(5, 6, groups=3)


@pytest.mark.parametrize(
    "network", [DNA(5, 8, 2), GCN(5, 8, 2), GAT(5, 8, 2), NodeClassifier(ModelConfig(layers=1, hidden=16), 5, 2)]
)
def test_features_of_another_type_are_named(network: Any) -> None:
    edge_index = torch.tensor([[0], [1]])
    with pytest.raises(TypeError, match="x is a ndarray, expected a tensor of features"):
        network(np.ones((3, 5)), edge_index)
    with pytest.raises(TypeError, match=r"x has dtype torch.float64, .* torch.float32: pass x.to\(torch.float32\)"):
        network(torch.ones(3, 5).double(), edge_index)
    with pytest.raises(TypeError, match=r"x has dtype torch.int64"):
        network(torch.ones(3, 5).long(), edge_index)
    with pytest.raises(ValueError, match=r"x has shape \[3, 4\], expected \[num_nodes, 5\]"):
        network(torch.ones(3, 4), edge_index)
