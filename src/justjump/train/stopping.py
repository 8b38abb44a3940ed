"""Which epoch is kept, and when training ends."""

from statistics import fmean

from justjump.train.checkpoint import Progress, State
from justjump.train.errors import TrainingError
from justjump.train.measures import LOWER_IS_BETTER, Values
from justjump.train.protocol import Protocol


def record(state: State, protocol: Protocol, loss: float, val_loss: float, values: Values, seconds: float) -> None:
    """Count one epoch, and remember the weights if it is the best so far."""
    progress = state.progress
    progress.epoch += 1
    progress.seconds += seconds
    progress.loss.append(loss)
    progress.val_loss.append(val_loss)
    progress.val_score.append(values[progress.measure])
    known = {"loss": val_loss, **values}
    value = _better(known, protocol.watch, "watch")
    if value > progress.watched_value:
        progress.watched_value, progress.watched_epoch = value, progress.epoch
    if protocol.pick == "watched":
        is_best, value = progress.watched_epoch == progress.epoch, progress.watched_value
    elif protocol.pick == "last":
        is_best, value = True, float(progress.epoch)
    else:
        value = _better(known, protocol.pick, "pick")
        is_best = value > progress.best_value
    if is_best:
        progress.best_value, progress.best_epoch = value, progress.epoch
        state.keep_best()


def is_done(progress: Progress, protocol: Protocol) -> bool:
    """Whether the rule that stops training applies, or the last epoch has passed."""
    if progress.epoch >= protocol.max_epochs:
        return True
    if protocol.stop == "window":
        before = progress.val_loss[-protocol.patience - 1 : -1]
        is_long = len(before) == protocol.patience and progress.epoch > protocol.patience_start
        return is_long and progress.val_loss[-1] > fmean(before)
    return progress.epoch >= earliest_end(progress, protocol)


def is_stuck(progress: Progress, constant_loss: float) -> bool:
    """Whether the kept epoch is on the plateau on which training starts.

    There, the loss is about that of a network that says the same of all nodes.
    """
    return progress.best_epoch == 0 or progress.loss[progress.best_epoch - 1] > 0.9 * constant_loss


def earliest_end(progress: Progress, protocol: Protocol) -> int:
    """The epoch after which training ends, if validation does not become better."""
    if protocol.stop == "never":
        return protocol.max_epochs
    if protocol.stop == "window":
        return min(max(protocol.patience_start, protocol.patience) + 1, protocol.max_epochs)
    waits = max(progress.watched_epoch, protocol.patience_start) + protocol.patience
    return min(waits, protocol.max_epochs)


def _better(values: Values, name: str, option: str) -> float:
    """A value that is larger where the network is better."""
    value = values[name]
    if value is None:
        raise TrainingError(
            f"{option}={name!r} is not defined on this validation set, which is too small or all of one class: "
            "choose the loss, or a split with a larger one"
        )
    return -value if name == "loss" or name in LOWER_IS_BETTER else value
