"""Layer by layer, the representations are those of the whole graph."""

from pathlib import Path

import pytest
import torch

from justjump.nn import ModelConfig, NodeClassifier
from justjump.train.inputs import prepare
from justjump.train.parts.inference import Inference
from justjump.train.parts.storage import InMemory, OnDisk

from .conftest import Make, random_graph

SMALL = {"layers": 2, "hidden": 16, "heads": 4, "groups": 4}
NETWORKS = [
    {},
    {"window": 1, "keep_first": True, "norm": "layer"},
    {"model": "gat", "jump": "lstm", "norm": "batch"},
    {"model": "gcn", "update": "initial", "jump": "concat", "drop_edge": 0.3},
]


@pytest.mark.parametrize("options", NETWORKS)
def test_outputs_are_those_of_the_whole_graph(make_parts: Make, tmp_path: Path, options: dict[str, object]) -> None:
    """Also of networks that are not trained on parts: their norms have means of their own by then."""
    parts = make_parts(random_graph(weighted=options.get("model") != "gat"))
    model = NodeClassifier(ModelConfig(**SMALL | options), 9, 3)  # type: ignore[arg-type]
    inputs = prepare(parts.to_graph(), "none")
    model.train()(inputs.x, inputs.adj)  # the means
    with torch.no_grad():
        expected = model.eval()(inputs.x, inputs.adj)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    inference = Inference(parts, model.train(), InMemory(torch.float32))
    again = Inference(parts, model, OnDisk(torch.float32, scratch))
    for t in range(3):
        for number in range(4):
            inference.compute(t, number)
        for number in (3, 0, 2, 2, 1, 3):  # in any order, and more than once
            again.compute(t, number)
    found = [inference.outputs(number) for number in range(4)]
    torch.testing.assert_close(torch.cat(found), expected, rtol=1e-5, atol=1e-5)
    assert all(torch.equal(one, again.outputs(number)) for number, one in enumerate(found))
