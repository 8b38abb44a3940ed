"""One training run, by flat functions."""

import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from justjump.data import Graph, Split
from justjump.data.parts import Parts
from justjump.nn import ModelConfig, NodeClassifier
from justjump.options import changed, given
from justjump.train.batches import check_batches, make_batches, train_on_batches
from justjump.train.checkpoint import Progress, State, load_state, remove_state, save_state
from justjump.train.device import checked_device
from justjump.train.errors import RunError, TrainingError, TrainingWarning
from justjump.train.evaluation import calibrated, evaluate, notes_on_data
from justjump.train.inputs import Inputs, data_hash, prepare
from justjump.train.measures import SCORE, Values, measure
from justjump.train.memory import notes_on_memory
from justjump.train.objective import Objective
from justjump.train.optimizer import make_average, make_optimizer, set_rates
from justjump.train.part import Part
from justjump.train.process import ctrl_c_waits, keep_memory, one_torch_thread
from justjump.train.protocol import Protocol
from justjump.train.remedies import Remedies
from justjump.train.run import Run, differences, saved_settings, settings
from justjump.train.saved import RUN_FILE, read_values, tidy
from justjump.train.show import EpochBar
from justjump.train.start import as_graph, check_learnable, default_split, preprocessing_of, say_task
from justjump.train.stopping import is_done, is_stuck, record
from justjump.warn import warn

SAVE_EVERY_SECONDS = 10.0
OF_PARTS = ("workers", "scratch", "worker_timeout")  # options for graphs in parts


def fit(
    graph: Graph | object,
    config: ModelConfig | None = None,
    protocol: Protocol | None = None,
    *,
    split: Split | None = None,
    seed: int = 0,
    output: str | Path | None = None,
    on_epoch: Callable[[Progress], None] | None = None,
    inputs: Inputs | None = None,
    progress: bool | None = None,
    device: str | torch.device | None = None,
    **options: Any,
) -> Run:
    """Train a network that predicts the labels of nodes, or of whole graphs.

    Args:
        graph: a :class:`~justjump.data.Graph`, a PyG ``Data``, a graph in parts (:class:`~justjump.data.Parts`),
            or for whole graphs a list of them or a PyG dataset
        config: which network; the paper's DNA with g=16 by default
        protocol: how it is trained
        split: training, validation and test nodes; by default the graph's own masks, else a random split
        seed: seed of the split, the initialisation and dropout; the same seed gives the same run bit for bit
        output: folder to save the run in; a run that was stopped there goes on where it stopped, and a finished run
            is returned as it is
        on_epoch: called after each epoch
        inputs: ``prepare(graph, protocol.scale)``, if it exists already; runs may share it
        progress: show a bar; by default in a terminal and in a notebook
        device: where it computes, such as ``"cuda"``; on other devices than the CPU by PyTorch, without the kernels
        options: any fields of ``config`` and ``protocol`` by their names, such as ``layers=2, task="regression"``; for
            a graph in parts also ``workers``, the number of processes, ``scratch``, a folder for representations, and
            ``worker_timeout``, seconds without an answer after which a worker is replaced

    Ctrl-C ends training with the best network so far: ``run.finished`` is then False.

    >>> from justjump.data import load
    >>> run = fit(load("cora"), model="gcn", layers=1, max_epochs=3)
    >>> run.epochs, run.finished
    (3, True)
    """
    if isinstance(graph, torch.Tensor):  # fit(x, edge_index, y): what is wrong is not the config
        Graph.of(graph)
    own: dict[str, Any] = {name: options.pop(name) for name in OF_PARTS if name in options and isinstance(graph, Parts)}
    config = changed(given("config", config, ModelConfig), options, ModelConfig, Protocol)
    protocol = changed(given("protocol", protocol, Protocol), options, ModelConfig, Protocol)
    if split is not None and not isinstance(split, Split):
        kind = type(split).__name__
        raise TypeError(f"split is a {kind}, expected a Split of node numbers: shares are fractions=(0.5, 0.2, 0.3)")
    place = checked_device(device)
    if isinstance(graph, Parts):
        from justjump.train.parts.workers import train_on_parts  # built on this module

        if inputs is not None or place.type != "cpu":
            raise ValueError("a graph in parts is trained on the CPU and has inputs of its own: leave out the others")
        own |= {"split": split, "seed": seed, "output": output, "on_epoch": on_epoch, "progress": progress}
        return train_on_parts(graph, config, protocol, **own)
    graph = as_graph(graph, protocol)
    check_learnable(graph, protocol)
    check_batches(graph, config, protocol)
    split = split or default_split(graph, protocol, seed)
    split.check(graph)
    digest = data_hash(graph, split)
    preprocessing = inputs.preprocessing if inputs else preprocessing_of(graph, protocol)
    wanted = settings(config, protocol, seed, digest, preprocessing)
    folder = None if output is None else Path(output)
    if folder is not None and (run := finished_run(folder, wanted)) is not None:
        return run
    if inputs is None:
        say_task(graph, protocol, "task=...")
    inputs = inputs.with_labels(graph) if inputs else prepare(graph, preprocessing)
    if protocol.batch_size is not None:
        inputs = replace(inputs, by_layer=True)
    inputs = inputs.to(place)
    objective = Objective.of(graph, split, protocol.class_weight == "balanced").to(place)
    odd = notes_on_data(graph, split)
    for note in odd + notes_on_memory(graph, config, protocol, len(split.train)):
        warn(note, TrainingWarning)

    keep_memory()
    with one_torch_thread(), torch.random.fork_rng(devices=[]), EpochBar(protocol, graph.task, progress) as bar:
        torch.manual_seed(seed)
        model = NodeClassifier(config, preprocessing.num_outputs, graph.num_classes).to(place)
        state = State(
            model,
            make_optimizer(model, protocol, protocol.steps(len(split.train))),
            {},
            Progress(measure=SCORE[graph.task]),
            make_average(model, protocol),
        )
        state.keep_best()
        save = None
        if folder is not None:
            load_state(state, wanted, folder)
            if state.progress.epoch and progress is not False:
                print(f"{folder}: the run goes on after epoch {state.progress.epoch}", file=sys.stderr)
            save = partial(save_state, state, wanted, folder)
        step, check = _steps(state, inputs, split, protocol, objective, seed)
        finished = train_until_done(state, protocol, step, check, save, both(bar, on_epoch))
        model.load_state_dict(state.best)
        if protocol.calibrate:
            objective = replace(objective, temperature=calibrated(model, inputs, split, objective))
        constant_loss = objective.constant_loss(inputs.labels[torch.from_numpy(split.train).to(place)])
        found = evaluate(model, inputs, graph, split, objective, Remedies(config, protocol, state.progress.epoch))
    model, objective = model.cpu(), objective.to(torch.device("cpu"))
    for note in found["notes"] if finished else ():
        warn(note, TrainingWarning)
    found["notes"] = (*odd, *found["notes"])
    done = state.progress
    run = Run(
        model=model,
        graph_name=graph.name,
        class_names=graph.class_names,
        feature_names=graph.feature_names,
        preprocessing=preprocessing,
        protocol=protocol,
        seed=seed,
        data_hash=digest,
        split_sizes=(len(split.train), len(split.val), len(split.test)),
        finished=finished,
        epochs=done.epoch,
        best_epoch=done.best_epoch,
        val_loss=done.val_loss[done.best_epoch - 1] if done.best_epoch else None,
        seconds=done.seconds,
        task=graph.task,
        stuck=is_stuck(done, constant_loss),
        objective=objective,
        split=split,
        whole_graphs=graph.batch is not None,
        label_columns=graph.label_columns,
        **found,
    )
    if folder is not None:
        run.save(folder)
        if finished:
            remove_state(folder)
    return run


def finished_run(folder: Path, wanted: dict[str, Any]) -> Run | None:
    """The finished run in a folder, if there is one; RunError if it has other settings."""
    if not (folder / RUN_FILE).exists():
        return None
    values = read_values(folder)
    found = saved_settings(values)
    if found != wanted:
        differ = ", ".join(differences(found, wanted))
        raise RunError(f"{folder} holds a run with other settings ({differ}): choose another output folder")
    if not values["finished"]:  # it goes on from its state: nobody needs these weights any more
        return None
    run = Run.load(folder)
    with suppress(OSError):  # a finished run may be on a disk that cannot be written
        tidy(folder, values)
        remove_state(folder)
    return run


def _steps(
    state: State, inputs: Inputs, split: Split, protocol: Protocol, objective: Objective, seed: int
) -> tuple[Callable[[], float], Callable[[], tuple[float, Values]]]:
    """An epoch of training, which gives its loss, and a look at the validation nodes: their loss and measures."""
    train, val = (Part.of(inputs, rows) for rows in (split.train, split.val))
    batches = make_batches(inputs, split.train, protocol, state.model.config.layers, seed)

    def step() -> float:
        if batches is None:
            return train_epoch(state.model, state.optimizer, inputs, train, objective)
        return train_on_batches(state.model, state.optimizer, batches, state.progress.epoch, objective)

    return step, lambda: validate(state.kept, inputs, val, objective, protocol.measures)


def train_until_done(
    state: State,
    protocol: Protocol,
    step: Callable[[], float],
    check: Callable[[], tuple[float, Values]],
    save: Callable[[], None] | None,
    on_epoch: Callable[[Progress], None],
    stops: Callable[[bool], bool] = bool,
) -> bool:
    """Epochs until patience ends (True), or until Ctrl-C or a KeyboardInterrupt of ``on_epoch`` (False).

    Args:
        step: trains one epoch, and gives the loss
        check: gives the validation loss and measures
        save: writes the state
        stops: whether to stop, given whether this process was asked to
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
            if save is not None and (stop or time.monotonic() - saved > SAVE_EVERY_SECONDS):
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
    output = part.output(model, inputs)
    loss = objective.loss(output, part.labels).item()
    score = SCORE[objective.task]
    if score == "accuracy" and set(others) <= {"accuracy"}:  # every epoch of every run comes here: no numpy
        return loss, {"accuracy": (output.argmax(1) == part.labels).double().mean().item()}
    predicted = objective.predictions(output).cpu().numpy()
    return loss, measure(
        objective.task, part.labels.cpu().numpy(), predicted, only=(score, *(one for one in others if one != score))
    )


def both(bar: EpochBar, on_epoch: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
    def call(progress: Progress) -> None:
        bar(progress)
        if on_epoch is not None:
            on_epoch(progress)

    return call
