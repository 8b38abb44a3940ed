"""How layers will be computed, as ``train --plan`` shows it."""

import json

import pytest

from justjump.data import load
from justjump.experiments.plans import layer_plans, show_plan
from justjump.nn import ModelConfig
from justjump.train import Protocol
from made_graphs import made_graphs


def test_each_layer_sees_what_came_before_and_the_last_has_fewer_edges() -> None:
    plans = layer_plans(load("cora"), ModelConfig(layers=3), Protocol())
    assert [plan.attends_to for plan in plans] == ["h(0)", "h(0) .. h(1)", "h(0) .. h(2)"]
    assert [plan.layer for plan in plans] == [1, 2, 3]
    whole = 2 * 5_278 + 2_708
    assert plans[0].edges == plans[1].edges == whole
    assert 0 < plans[2].edges < whole / 3, "a fifth of the nodes is trained on"


def test_a_window_and_other_models_see_less() -> None:
    windowed = layer_plans(load("cora"), ModelConfig(layers=4, window=2, keep_first=True), Protocol())
    assert windowed[3].attends_to == "h(0), h(3)"
    plain = layer_plans(load("cora"), ModelConfig("gcn", layers=2), Protocol())
    assert [plan.attends_to for plan in plain] == ["h(0)", "h(1)"]


def test_text_and_json_hold_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    cora, config = load("cora"), ModelConfig(layers=2)
    show_plan(cora, config, Protocol(), as_json=True)
    layers = json.loads(capsys.readouterr().out)
    show_plan(cora, config, Protocol())
    printed = capsys.readouterr().out
    assert printed.startswith("cora: 2708 nodes, dna 2/128/16/8 on ")
    for layer in layers:
        assert layer["reason"] in printed
        assert f"{layer['edges']:,}" in printed


def test_mini_batches_have_fewer_edges(capsys: pytest.CaptureFixture[str]) -> None:
    cora, config, protocol = load("cora"), ModelConfig(layers=2), Protocol(batch_size=32, fanout=(3, 2))
    first, last = layer_plans(cora, config, protocol)
    assert last.edges <= 32 * (1 + 3), "a training node takes itself and three neighbours"
    assert last.edges < first.edges <= 32 * (1 + 3) * (1 + 2)
    show_plan(cora, config, protocol)
    assert "the first mini-batch, of up to 32 training nodes:" in capsys.readouterr().out
    with pytest.raises(ValueError, match="must have one number per layer, and the network has layers=2"):
        layer_plans(cora, config, Protocol(batch_size=32, fanout=(3,)))


def test_the_nodes_of_whole_graphs_are_all_computed() -> None:
    graphs = made_graphs(20)
    plans = layer_plans(graphs, ModelConfig(layers=2), Protocol())
    assert [plan.edges for plan in plans] == [graphs.edge_index.shape[1] + graphs.num_nodes] * 2
