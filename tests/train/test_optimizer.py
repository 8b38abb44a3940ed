"""Which parameters decay, rates over the epochs, and the average of the weights."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from justjump.data import Graph
from justjump.nn import NodeClassifier
from justjump.train import Protocol, fit
from justjump.train.optimizer import learning_rate, make_optimizer, set_rates
from run_helpers import SMALL, stop_after


def test_which_parameters_decay() -> None:
    net = NodeClassifier(replace(SMALL, model="gat", jump="lstm"), 5, 3)
    everything = make_optimizer(net, Protocol()).param_groups
    assert len(everything) == 1
    decayed, plain = make_optimizer(net, Protocol(decay="weights")).param_groups
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.0005, 0.0)
    batches = Protocol(batch_size=100, step_nodes=0)
    assert make_optimizer(net, batches, 401).param_groups[0]["weight_decay"] == 0.0001, "shared by 5"
    names = {id(p): name for name, p in net.named_parameters()}
    assert all("bias" in names[id(p)] for p in plain["params"])
    assert not any("bias" in names[id(p)] for p in decayed["params"])
    assert len(decayed["params"]) + len(plain["params"]) == len(names)


def test_the_penalty_shrinks_with_the_number_of_training_nodes() -> None:
    net = NodeClassifier(SMALL, 5, 3)
    protocol = Protocol(decay_nodes=500, weight_decay=0.1, input_weight_decay=0.2)
    for nodes, share in ((1, 1.0), (500, 1.0), (1000, 0.5), (50_000, 0.01)):
        found = [group["weight_decay"] for group in make_optimizer(net, protocol, nodes).param_groups]
        assert found == pytest.approx([0.2 * share, 0.1 * share])


def test_the_input_map_may_decay_apart() -> None:
    net = NodeClassifier(SMALL, 5, 3)
    groups = make_optimizer(net, Protocol(input_weight_decay=0.01, decay="weights")).param_groups
    names = {id(p): name for name, p in net.named_parameters()}
    found = {group["weight_decay"]: {names[id(p)] for p in group["params"]} for group in groups}
    assert found.keys() == {0.01, 0.0005, 0.0}
    assert found[0.01] == {"lin_in.weight"}
    assert sum(map(len, found.values())) == len(names)


def test_adamw_shrinks_beside_the_gradient() -> None:
    net = NodeClassifier(SMALL, 5, 3)
    before = {name: p.clone() for name, p in net.named_parameters()}
    optimizer = make_optimizer(net, Protocol(optimizer="adamw", weight_decay=0.1, learning_rate=0.5))
    for p in net.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    for name, p in net.named_parameters():
        torch.testing.assert_close(p, before[name] * (1 - 0.5 * 0.1))


def test_rates_over_the_epochs() -> None:
    cosine = Protocol(learning_rate=2.0, schedule="cosine", max_epochs=100, warmup=10, attention_warmup=4)
    assert learning_rate(cosine, 0) == pytest.approx(0.2)
    assert learning_rate(cosine, 50) == pytest.approx(1.0)
    assert learning_rate(cosine, 100) == pytest.approx(0.0)
    for config in (SMALL, replace(SMALL, model="gat")):
        net = NodeClassifier(config, 5, 3)
        optimizer = make_optimizer(net, cosine)
        for epoch, expected in ((0, 0.0), (1, 0.2), (4, 0.8), (9, 0.8)):
            set_rates(net, optimizer, cosine, epoch)
            conv: Any = net.convs[1]
            dropout = conv.multi_head.dropout if config.model == "dna" else conv.dropout
            assert dropout == pytest.approx(expected)
            assert optimizer.param_groups[0]["lr"] == learning_rate(cosine, epoch)


def test_the_average_is_what_is_kept(cora: Graph) -> None:
    """With one epoch, the average is the weights; later it is behind them."""
    one, same = (fit(cora, SMALL, Protocol(max_epochs=1, average=share)) for share in (0.0, 0.9))
    assert one.val_loss == same.val_loss
    last = Protocol(max_epochs=3, pick="last", learning_rate=0.05)
    weights = [fit(cora, SMALL, replace(last, max_epochs=n)).model.lin_in.weight for n in (1, 2, 3)]
    mean = 0.5 * (0.5 * weights[0] + 0.5 * weights[1]) + 0.5 * weights[2]
    averaged = fit(cora, SMALL, replace(last, average=0.5)).model.lin_in.weight
    torch.testing.assert_close(averaged, mean)
    assert not torch.allclose(averaged, weights[2])


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_a_stopped_run_goes_on_with_its_rates_and_average(cora: Graph, tmp_path: Path, norm: Any) -> None:
    config = replace(SMALL, norm=norm)
    protocol = Protocol(max_epochs=12, average=0.8, schedule="cosine", warmup=3, attention_warmup=8, optimizer="adamw")
    whole = fit(cora, config, protocol)
    fit(cora, config, protocol, output=tmp_path / "run", on_epoch=stop_after(5))
    resumed = fit(cora, config, protocol, output=tmp_path / "run")
    assert resumed.epochs == 12
    for name, value in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value), name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average": 1.0}, r"average=1.0 is not in \[0, 1\): choose 0 to switch it off"),
        ({"input_weight_decay": -1.0}, "input_weight_decay=-1.0 must not be negative"),
        ({"warmup": -1}, "warmup=-1 must be at least 0"),
        ({"decay_nodes": -1}, "decay_nodes=-1 must be at least 0"),
        ({"schedule": "linear"}, "schedule='linear' is unknown: choose one of constant, cosine"),
    ],
)
def test_bad_options(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Protocol(**options)
