"""Training on mini-batches."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from justjump.data import Graph, Split
from justjump.nn import ModelConfig
from justjump.ops import native
from justjump.train import Progress, Protocol, Run, fit, loop, prepare
from justjump.train.batches import make_batches
from made_graphs import made_graphs
from run_helpers import SMALL, assert_same_run

BATCHES = Protocol(max_epochs=4, batch_size=128, fanout=(5, 3), step_nodes=0)


def test_all_neighbours_in_one_batch_are_the_whole_graph(cora: Graph) -> None:
    """Without dropout, the order of the nodes in the loss is all that differs."""
    config = replace(SMALL, dropout=0.0, input_dropout=0.0, attention_dropout=0.0)
    seen = []
    for batch_size in (None, 10_000):
        epochs: list[Progress] = []
        fit(cora, config, Protocol(max_epochs=3, batch_size=batch_size), on_epoch=epochs.append)
        seen.append([*epochs[-1].loss, *epochs[-1].val_loss])
    assert seen[1] == pytest.approx(seen[0], rel=1e-4)


def test_batches_that_add_up_to_all_nodes_are_the_whole_graph(cora: Graph) -> None:
    """Five batches, the last of them smaller, and one step, without dropout: the same losses, up to rounding."""
    config = replace(SMALL, dropout=0.0, input_dropout=0.0, attention_dropout=0.0)
    seen = []
    for batch_size in (None, 120):
        epochs: list[Progress] = []
        protocol = Protocol(max_epochs=3, batch_size=batch_size, step_nodes=542)
        fit(cora, config, protocol, on_epoch=epochs.append)
        seen.append([*epochs[-1].loss, *epochs[-1].val_loss])
    assert seen[1] == pytest.approx(seen[0], rel=1e-4)


def test_steps_of_several_batches(tiny: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven nodes in batches of two, at least three nodes per step: steps of four and of three nodes."""
    steps = []
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self: steps.append(self.param_groups[0]["weight_decay"]))
    monkeypatch.setattr(loop, "features_alone", lambda *_: None)  # it takes steps of its own
    split = Split(np.arange(7), np.arange(7, 9), np.arange(9, 10))
    fit(tiny, SMALL, Protocol(max_epochs=1, batch_size=2, step_nodes=3, weight_decay=0.1), split=split)
    assert steps == [0.05, 0.05]
    assert Protocol(batch_size=2, step_nodes=3).steps(7) == 2
    assert Protocol(batch_size=2, step_nodes=0).steps(7) == 4
    assert Protocol(step_nodes=3).steps(7) == 1


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits(cora: Graph) -> None:
    short = replace(BATCHES, max_epochs=2)
    one, other = (fit(cora, SMALL, short, seed=seed) for seed in (0, 1))
    torch.set_num_threads(2)
    assert_same_run(fit(cora, SMALL, short), one)
    assert native.threads() == 2
    assert not torch.equal(one.model.lin_in.weight, other.model.lin_in.weight)


def test_interrupted_run_resumes_to_the_same_bits(cora: Graph, tmp_path: Path) -> None:
    whole = fit(cora, SMALL, BATCHES)

    def stop(progress: Progress) -> None:
        if progress.epoch == 2:
            raise KeyboardInterrupt

    stopped = fit(cora, SMALL, BATCHES, output=tmp_path, on_epoch=stop)
    assert (stopped.finished, stopped.epochs) == (False, 2)
    resumed = fit(cora, SMALL, BATCHES, output=tmp_path)
    assert resumed.finished
    assert_same_run(resumed, whole)
    loaded = Run.load(tmp_path)
    assert loaded.protocol == BATCHES
    np.testing.assert_allclose(loaded.predict(cora).probabilities, whole.predict(cora).probabilities)


@pytest.mark.slow
def test_accuracy_is_that_of_the_whole_graph(cora: Graph) -> None:
    config = ModelConfig("gcn", layers=2, hidden=64, groups=1)
    whole = [fit(cora, config, seed=seed).test_accuracy for seed in range(2)]
    protocol = Protocol(batch_size=128, fanout=(10, 5))
    sampled = [fit(cora, config, protocol, seed=seed).test_accuracy for seed in range(2)]
    assert np.mean(np.array(sampled, float)) > np.mean(np.array(whole, float)) - 0.02


def test_the_default_has_no_batches(tiny: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("justjump.train.epochs.train_on_batches", None)
    fit(tiny, SMALL, Protocol(max_epochs=1))
    assert make_batches(prepare(tiny), np.array([1]), Protocol(), 2, 0) is None


def test_options_of_fit_and_all_neighbours_by_default(tiny: Graph) -> None:
    run = fit(tiny, SMALL, batch_size=3, max_epochs=2)
    assert (run.protocol.batch_size, run.protocol.fanout) == (3, None)
    batches = make_batches(prepare(tiny), np.arange(5), run.protocol, 2, 0)
    assert batches is not None
    assert batches.sampler.fanout == [-1, -1]


def test_what_does_not_fit_is_refused(tiny: Graph) -> None:
    with pytest.raises(ValueError, match=r"fanout=\[5\] must have one number per layer, and the network has layers=2"):
        fit(tiny, SMALL, batch_size=3, fanout=[5])
    with pytest.raises(ValueError, match="batch_size=4 is for labels of nodes"):
        fit(made_graphs(12), SMALL, batch_size=4)
