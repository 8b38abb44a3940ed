"""Which epoch is kept, and when training ends."""

import pytest

from justjump.data import Graph
from justjump.nn import ModelConfig
from justjump.train import Progress, Protocol, fit
from justjump.train.stopping import earliest_end, is_done, is_stuck

SMALL = ModelConfig("gcn", layers=1, hidden=16, groups=1)


def test_patience() -> None:
    protocol = Protocol(patience=3)
    assert not is_done(Progress(epoch=5, watched_epoch=3), protocol)
    assert is_done(Progress(epoch=6, watched_epoch=3), protocol)
    late = Protocol(patience=3, patience_start=10)
    assert not is_done(Progress(epoch=12, watched_epoch=3), late)
    assert is_done(Progress(epoch=13, watched_epoch=3), late)
    assert is_done(Progress(epoch=4, watched_epoch=4), Protocol(max_epochs=4))


def test_a_window_compares_with_the_mean_of_the_epochs_before() -> None:
    protocol = Protocol(stop="window", patience=3, patience_start=4, max_epochs=9)
    losses = [9.0, 1.0, 2.0, 3.0, 2.5, 1.9]  # of 1, 2, 3 the mean is 2; of 2, 3, 2.5 it is 2.5
    assert not is_done(Progress(epoch=4, val_loss=losses[:4]), protocol), "before it starts"
    assert is_done(Progress(epoch=5, val_loss=losses[:5]), protocol)
    assert not is_done(Progress(epoch=6, val_loss=losses), protocol)
    assert is_done(Progress(epoch=9, val_loss=[1.0] * 9), protocol), "the last epoch"
    early = Protocol(stop="window", patience=3)
    assert not is_done(Progress(epoch=3, val_loss=[1.0, 2.0, 3.0]), early), "the window is not full"
    with pytest.raises(ValueError, match="stop='window' compares losses: leave out watch='accuracy'"):
        Protocol(stop="window", watch="accuracy")


def test_never_is_never() -> None:
    protocol = Protocol(stop="never", patience=1, max_epochs=50)
    assert not is_done(Progress(epoch=49), protocol)
    assert is_done(Progress(epoch=50), protocol)
    assert earliest_end(Progress(epoch=3), protocol) == 50


def test_a_run_that_never_leaves_its_plateau_says_so(cora: Graph) -> None:
    assert fit(cora, SMALL, Protocol(max_epochs=2, learning_rate=1e-6)).stuck
    assert not fit(cora, SMALL, Protocol(max_epochs=60, learning_rate=0.05)).stuck
    assert is_stuck(Progress(epoch=2, best_epoch=1, loss=[0.95, 0.5]), 1.0), "the kept epoch counts"
    assert not is_stuck(Progress(epoch=2, best_epoch=2, loss=[0.95, 0.5]), 1.0)


def test_the_epoch_that_is_kept_may_be_picked_by_another_value(cora: Graph) -> None:
    seen: dict[str, list[float]] = {}

    def watch(progress: Progress) -> None:
        seen["loss"] = list(progress.val_loss)
        seen["accuracy"] = [float(score or 0) for score in progress.val_score]

    options = {"stop": "never", "max_epochs": 30, "learning_rate": 0.05}
    by_accuracy = fit(cora, SMALL, Protocol(**options, pick="accuracy"), on_epoch=watch)  # type: ignore[arg-type]
    assert by_accuracy.best_epoch == 1 + seen["accuracy"].index(max(seen["accuracy"]))
    assert by_accuracy.val_accuracy == pytest.approx(max(seen["accuracy"]))
    by_loss = fit(cora, SMALL, Protocol(**options), on_epoch=watch)  # type: ignore[arg-type]
    assert by_loss.best_epoch == 1 + seen["loss"].index(min(seen["loss"]))
    assert by_loss.best_epoch != by_accuracy.best_epoch, "otherwise this shows nothing"
    last = fit(cora, SMALL, Protocol(**options, pick="last"))  # type: ignore[arg-type]
    assert last.best_epoch == 30
    by_f1 = fit(cora, SMALL, Protocol(**{**options, "max_epochs": 5}, pick="macro_f1"))  # type: ignore[arg-type]
    assert 1 <= by_f1.best_epoch <= 5
