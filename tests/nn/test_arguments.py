"""Arguments that a layer does not have, and arguments in a wrong place: the message says what is meant."""

from typing import Any

import pytest

from justjump.nn import DNAConv, GATConv, GCNConv


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
