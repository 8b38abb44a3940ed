"""The estimate of memory is a sentence, and never a refusal, but for weights that cannot fit."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.sparse import csr_matrix

from justjump.data import Graph
from justjump.nn import ModelConfig
from justjump.train import Protocol, fit, memory
from justjump.train.errors import TrainingError, TrainingWarning
from made_graphs import made_graphs

SMALL = ModelConfig(layers=2, hidden=16, heads=4, groups=4)


def test_more_of_everything_needs_more() -> None:
    sizes = [
        memory.run_bytes(1000, 5000, SMALL),
        memory.run_bytes(100_000, 5000, SMALL),
        memory.run_bytes(100_000, 5_000_000, SMALL),
        memory.run_bytes(100_000, 5_000_000, ModelConfig()),
    ]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 4
    protocol = Protocol(batch_size=512, fanout=(10, 5))
    assert memory.batch_bytes(100_000_000, 10**8, SMALL, protocol, 10**6) < memory.run_bytes(10**8, 10**8, SMALL)


def test_a_graph_that_will_not_fit_is_said_to_and_trains(tiny: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2**20)
    with pytest.warns(TrainingWarning, match="0.0 GB are free; train on mini-batches .*, or give a window"):
        run = fit(tiny, SMALL, Protocol(max_epochs=1))
    assert run.finished
    assert not any("memory" in note for note in run.notes)  # another machine may have more of it
    with pytest.warns(TrainingWarning, match="lower batch_size or give fanout="):
        fit(tiny, SMALL, Protocol(max_epochs=1, batch_size=4))
    (note,) = memory.notes_on_memory(tiny, SMALL, Protocol(batch_size=4, fanout=(2, 2)), 4)
    assert "lower batch_size or fanout" in note
    (note,) = memory.notes_on_memory(made_graphs(4), ModelConfig(window=2), Protocol(), 2)
    assert note.endswith("train on fewer graphs, lower hidden or layers")


def test_weights_that_cannot_fit_are_refused_for_any_graph(tiny: Graph, tmp_path: Path) -> None:
    wide = replace(tiny, features=csr_matrix(([1.0, 2.0], ([0, 1], [0, 5])), shape=(20, 2**31 - 1)))
    with pytest.raises(TrainingError, match=r"2,147,483,647 features and 2 classes take \d+.\d GB .* lower hidden or"):
        fit(wide, SMALL, Protocol(max_epochs=1, scale="none"))
    parts = tiny.partition(2, tmp_path / "parts", "hash")
    memory.check_weights(SMALL, 6, 2)
    with pytest.raises(TrainingError, match="for 6 features and 2 classes take .* GB are free"):
        fit(parts, replace(SMALL, hidden=2**24), Protocol(max_epochs=1))


@pytest.mark.parametrize("room", [math.inf, 2**40])
def test_nothing_is_said_of_graphs_that_fit(tiny: Graph, monkeypatch: pytest.MonkeyPatch, room: float) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: room)
    assert memory.notes_on_memory(tiny, ModelConfig(), Protocol(), 4) == []
