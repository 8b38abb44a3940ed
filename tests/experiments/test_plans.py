"""How layers will be computed, as ``train --plan`` shows it."""

import json

import pytest

from justjump.data import load
from justjump.experiments.plans import layer_plans, show_plan
from justjump.nn import ModelConfig
from justjump.train import Protocol


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
