"""The epochs of a run: training, validation, and when the state is saved."""

import math
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from justjump.data import Split
from justjump.train.batches import make_batches, train_on_batches
from justjump.train.checkpoint import Progress, State
from justjump.train.errors import TrainingError
from justjump.train.inputs import Inputs
from justjump.train.measures import SCORE, Values, measure
from justjump.train.objective import Objective
from justjump.train.optimizer import set_rates
from justjump.train.part import Part
from justjump.train.process import ctrl_c_waits
from justjump.train.protocol import Protocol
from justjump.train.self_training import SelfTraining
from justjump.train.stopping import is_done, record

SAVE_EVERY_SECONDS = 10.0  # an epoch of a small graph may take less time than its checkpoint


def make_steps(
    state: State, inputs: Inputs, split: Split, protocol: Protocol, objective: Objective, seed: int
) -> tuple[Callable[[], float], Callable[[], tuple[float, Values]]]:
    """An epoch of training, which gives its loss, and a look at the validation nodes: their loss and measures."""
    if protocol.self_training:
        own = SelfTraining(state, inputs, split, protocol, objective)
        chosen = torch.from_numpy(split.val).to(inputs.labels.device)
        labels, says = inputs.labels[chosen], own.says(chosen)
        return own.step, lambda: judge(says(), labels, objective, protocol.measures)
    train, val = (Part.of(inputs, rows) for rows in (split.train, split.val))
    batches = make_batches(inputs, split.train, protocol, state.model.config.layers, seed)

    def step() -> float:
        if batches is None:
            return train_epoch(state.model, state.optimizer, inputs, train, objective)
        return train_on_batches(
            state.model, state.optimizer, batches, state.progress.epoch, objective, protocol.batches_of_a_step
        )

    return step, lambda: validate(state.kept, inputs, val, objective, protocol.measures)


def train_until_done(
    state: State,
    protocol: Protocol,
    step: Callable[[], float],
    check: Callable[[], tuple[float, Values]],
    save: Callable[[], None] | None,
    on_epoch: Callable[[Progress], None],
    stops: Callable[[bool], bool] = bool,
    save_each: bool = False,
) -> bool:
    """Epochs until patience ends (True), or until Ctrl-C or a KeyboardInterrupt of ``on_epoch`` (False).

    Args:
        step: trains one epoch, and gives the loss
        check: gives the validation loss and measures
        save: writes the state
        stops: whether to stop, given whether this process was asked to
        save_each: write the state after each epoch, and not only after those that end some seconds after the last one
    """
    saved = -math.inf
    with ctrl_c_waits() as is_stopped:
        while not is_done(state.progress, protocol):
            start = time.perf_counter()
            set_rates(state.model, state.optimizer, protocol, state.progress.epoch)
            loss = step()
            state.update_average()
            val_loss, values = check()
            if not (math.isfinite(loss) and math.isfinite(val_loss)):
                raise TrainingError(
                    f"the loss became {loss} (validation {val_loss}) in epoch {state.progress.epoch + 1}: look for "
                    f"extreme feature values, or lower the learning rate (now {protocol.learning_rate})"
                )
            record(state, protocol, loss, val_loss, values, time.perf_counter() - start)
            stop = is_stopped()
            try:
                on_epoch(state.progress)
            except KeyboardInterrupt:
                stop = True
            stop = stops(stop)
            if save is not None and (stop or save_each or time.monotonic() - saved > SAVE_EVERY_SECONDS):
                save()
                saved = time.monotonic()
            if stop:
                return False
    return True


def train_epoch(
    model: nn.Module, optimizer: torch.optim.Optimizer, inputs: Inputs, part: Part, objective: Objective
) -> float:
    """One step on the training nodes; the loss before it."""
    model.train()
    optimizer.zero_grad()
    loss = objective.loss(part.output(model, inputs), part.labels)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.item()


@torch.no_grad()
def validate(
    model: nn.Module, inputs: Inputs, part: Part, objective: Objective, others: tuple[str, ...]
) -> tuple[float, Values]:
    """The loss, and the values of the task's score and of other measures."""
    model.eval()
    return judge(part.output(model, inputs), part.labels, objective, others)


def judge(output: Tensor, labels: Tensor, objective: Objective, others: tuple[str, ...]) -> tuple[float, Values]:
    """The loss of some outputs, and the values of the task's score and of other measures."""
    loss = objective.loss(output, labels).item()
    score = SCORE[objective.task]
    if score == "accuracy" and set(others) <= {"accuracy"}:  # every epoch of every run comes here: no numpy
        return loss, {"accuracy": (output.argmax(1) == labels).double().mean().item()}
    predicted = objective.predictions(output).cpu().numpy()
    return loss, measure(
        objective.task, labels.cpu().numpy(), predicted, only=(score, *(one for one in others if one != score))
    )


def both(bar: Callable[[Progress], None], on_epoch: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
    """Shows each epoch in a bar, and then calls ``on_epoch``."""

    def call(progress: Progress) -> None:
        bar(progress)
        if on_epoch is not None:
            on_epoch(progress)

    return call
