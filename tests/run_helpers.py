"""Small runs, and comparisons of them, that tests of training share."""

from collections.abc import Callable

import torch

from justjump.nn import ModelConfig
from justjump.train import Progress, Protocol, Run

SMALL = ModelConfig(layers=2, hidden=16, heads=4, groups=4)
SHORT = Protocol(max_epochs=6)


def weights(run: Run) -> dict[str, torch.Tensor]:
    return run.model.state_dict()


def assert_same_run(a: Run, b: Run) -> None:
    for name, value in weights(a).items():
        assert torch.equal(value, weights(b)[name]), name
    assert (a.epochs, a.best_epoch, a.test_accuracy, a.val_loss) == (
        b.epochs,
        b.best_epoch,
        b.test_accuracy,
        b.val_loss,
    )


def stop_after(epochs: int) -> Callable[[Progress], None]:
    def on_epoch(progress: Progress) -> None:
        if progress.epoch == epochs:
            raise KeyboardInterrupt

    return on_epoch
