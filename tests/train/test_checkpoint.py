"""The state of a run in training, on disk."""

from pathlib import Path

import pytest
import torch

from justjump.data import Graph
from justjump.nn import ModelConfig, NodeClassifier
from justjump.train import Progress, Protocol, RunError, prepare
from justjump.train.checkpoint import STATE_FILE, State, load_state, remove_state, save_state
from justjump.train.loop import make_optimizer, train_epoch

SETTINGS = {"seed": 0}


def new_state() -> State:
    model = NodeClassifier(ModelConfig("gcn", layers=1, hidden=16), 6, 2)
    state = State(model, make_optimizer(model, Protocol()), {}, Progress())
    state.keep_best()
    return state


def step(state: State, graph: Graph) -> float:
    inputs = prepare(graph)
    return train_epoch(state.model, state.optimizer, inputs, inputs.adj.toward([0, 1, 10]))


def test_a_state_goes_on_bit_for_bit(tiny: Graph, tmp_path: Path) -> None:
    state = new_state()
    state.progress = Progress(1, 1, -0.7, 0.5, [step(state, tiny)], [0.7], [0.5])
    save_state(state, SETTINGS, tmp_path)
    expected = [step(state, tiny) for _ in range(3)]  # with dropout: the generator is part of the state
    torch.manual_seed(99)
    other = new_state()
    load_state(other, SETTINGS, tmp_path)
    assert other.progress == state.progress
    assert all(torch.equal(value, state.best[name]) for name, value in other.best.items())
    assert [step(other, tiny) for _ in range(3)] == expected


def test_where_there_is_no_state_nothing_changes(tmp_path: Path) -> None:
    state = new_state()
    load_state(state, SETTINGS, tmp_path)
    assert state.progress == Progress()
    save_state(state, SETTINGS, tmp_path)
    remove_state(tmp_path)
    remove_state(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_settings_are_refused(tmp_path: Path) -> None:
    save_state(new_state(), SETTINGS, tmp_path)
    with pytest.raises(RunError, match="an unfinished run with other settings: choose another output folder"):
        load_state(new_state(), {"seed": 1}, tmp_path)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / STATE_FILE).write_bytes(b"\x00" * 100)
    with pytest.raises(RunError, match="cannot be read.*delete it to start the run again"):
        load_state(new_state(), SETTINGS, tmp_path)
