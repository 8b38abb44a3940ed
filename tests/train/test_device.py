"""Which devices are taken."""

import pytest
import torch

from justjump.nn import ModelConfig, NodeClassifier
from justjump.train import fit
from justjump.train.device import checked_device
from made_graphs import made_graph

SMALL = ModelConfig(layers=2, hidden=16, heads=4, groups=4)


def test_the_cpu_by_default() -> None:
    assert checked_device(None) == checked_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize(("device", "message"), [("gpu", "is unknown: choose"), ("meta", "no training")])
def test_other_words_are_refused(device: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(made_graph("multiclass", 30), SMALL, device=device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, so asking for one is no mistake")
def test_a_device_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="'cuda' cannot be used here .*: use cpu"):
        checked_device("cuda")


def test_the_same_run_with_the_device_named() -> None:
    graph = made_graph("multiclass", 60)
    plain, named = (fit(graph, SMALL, max_epochs=3, device=device) for device in (None, "cpu"))
    for name, value in plain.model.state_dict().items():
        assert torch.equal(value, named.model.state_dict()[name])


def test_shapes_on_a_device_without_numbers() -> None:
    model = NodeClassifier(SMALL, 6, 3).to("meta")
    out = model(torch.empty(5, 6, device="meta"), torch.empty(2, 9, dtype=torch.long, device="meta"))
    assert (out.shape, out.device.type) == ((5, 3), "meta")
