"""The pieces of a network: what they read and what they learn."""

import pytest

from justjump.nn import ModelConfig, NodeClassifier
from justjump.train.parts.pieces import check_supported, parameters_of, read_by, take_gradients
from justjump.train.protocol import Protocol

CONFIGS = [
    ModelConfig(layers=3, hidden=16, heads=4, groups=4),
    ModelConfig(layers=3, hidden=16, heads=4, groups=4, attention="equal", norm="layer"),
    ModelConfig("gat", layers=2, hidden=16, heads=4, groups=4, jump="lstm", norm="layer", norm_after="relu"),
    ModelConfig("gcn", layers=2, hidden=16, groups=4, update="gru", jump="concat"),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_each_parameter_belongs_to_one_piece(config: ModelConfig) -> None:
    model = NodeClassifier(config, 5, 3)
    found = [one for t in range(config.layers + 2) for one in parameters_of(model, t)]
    wanted = [one for name, one in model.named_parameters() if one.requires_grad and "readout" not in name]
    assert sorted(map(id, found)) == sorted(map(id, wanted))


def test_what_a_piece_reads() -> None:
    def read(**options: object) -> list[list[int]]:
        model = NodeClassifier(ModelConfig(layers=4, hidden=16, heads=4, groups=4, **options), 5, 3)  # type: ignore[arg-type]
        return [read_by(model, t) for t in range(1, 6)]

    assert read() == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [4]]
    assert read(window=2) == [[0], [0, 1], [1, 2], [2, 3], [4]]
    assert read(window=1, keep_first=True) == [[0], [0, 1], [0, 2], [0, 3], [4]]
    assert read(model="gcn", jump="pool") == [[0], [1], [2], [3], [0, 1, 2, 3, 4]]
    assert read(model="gat", update="initial") == [[0], [0, 1], [0, 2], [0, 3], [4]]


def test_gradients_are_taken_once() -> None:
    model = NodeClassifier(CONFIGS[0], 5, 3)
    (model.lin_in.weight.sum() * 2).backward()
    weight, bias = take_gradients(parameters_of(model, 0))
    assert weight.eq(2).all()
    assert bias.eq(0).all()
    assert model.lin_in.weight.grad is None


@pytest.mark.parametrize(
    ("config", "protocol", "words"),
    [
        ({"norm": "batch"}, {}, "norm='batch' takes the mean over all nodes, which parts do not have"),
        ({"drop_edge": 0.5}, {}, "drop_edge=0.5 is not for graphs in parts"),
        ({"model": "gat", "softmax": "outgoing"}, {}, "softmax='outgoing' needs all edges"),
        ({}, {"batch_size": 10}, "batch_size=10 is not for graphs in parts"),
        ({}, {"scale": "rows"}, "scale='rows' is chosen when the graph is partitioned"),
    ],
)
def test_what_is_refused(config: dict[str, object], protocol: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_supported(ModelConfig(**config), Protocol(**protocol))  # type: ignore[arg-type]
