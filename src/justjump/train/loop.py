"""One training run, by flat functions."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from justjump.data import DataError, Graph, Split, random_split, split_from_masks
from justjump.data.splits import strata
from justjump.nn import ModelConfig, NodeClassifier
from justjump.ops import Adjacency
from justjump.train.checkpoint import Progress, State, load_state, remove_state, save_state
from justjump.train.errors import RunError, TrainingError
from justjump.train.inputs import Inputs, data_hash, prepare
from justjump.train.process import ctrl_c_waits, keep_memory, one_torch_thread
from justjump.train.protocol import Protocol
from justjump.train.run import Run, saved_settings, settings
from justjump.train.saved import RUN_FILE, read_values, tidy

SAVE_EVERY_SECONDS = 10.0


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
) -> Run:
    """Train a node classifier.

    Args:
        graph: a :class:`~justjump.data.Graph` or a PyG ``Data``
        config: which network; the paper's DNA with g=16 by default
        protocol: how it is trained
        split: training, validation and test nodes; by default the graph's own masks, else a random split
        seed: seed of the split, the initialisation and dropout; the same seed gives the same run bit for bit
        output: folder to save the run in; a run that was stopped there goes on where it stopped, and a finished run
            is returned as it is
        on_epoch: called after each epoch
        inputs: ``prepare(graph, protocol.normalize_features)``, if it exists already; runs may share it

    Ctrl-C ends training with the best network so far: ``run.finished`` is then False.

    >>> from justjump.data import load
    >>> run = fit(load("cora"), ModelConfig("gcn", layers=1), Protocol(max_epochs=3))
    >>> run.epochs, run.finished
    (3, True)
    """
    graph = graph if isinstance(graph, Graph) else Graph.from_pyg(graph)
    config = config or ModelConfig()
    protocol = protocol or Protocol()
    if not graph.num_classes:
        raise DataError(f"{graph.name} has no labels to learn from: give some of its nodes a class")
    if graph.num_classes == 1:
        raise DataError(f"all labels of {graph.name} are {graph.class_names[0]!r}: learning takes two classes or more")
    split = split or default_split(graph, protocol, seed)
    split.check(graph.labelled)
    digest = data_hash(graph, split)
    wanted = settings(config, protocol, seed, digest)
    folder = None if output is None else Path(output)
    if folder is not None and (run := finished_run(folder, wanted)) is not None:
        return run
    inputs = inputs or prepare(graph, protocol.normalize_features)

    keep_memory()
    with one_torch_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = NodeClassifier(config, graph.num_features, graph.num_classes)
        state = State(model, make_optimizer(model, protocol), {}, Progress())
        state.keep_best()
        save = None
        if folder is not None:
            load_state(state, wanted, folder)
            save = partial(save_state, state, wanted, folder)
        finished = train_until_done(state, inputs, split, protocol, save, on_epoch)
        model.load_state_dict(state.best)
        accuracy = evaluate(model, inputs, split)
    progress = state.progress
    run = Run(
        model=model,
        graph_name=graph.name,
        class_names=graph.class_names,
        feature_names=graph.feature_names,
        protocol=protocol,
        seed=seed,
        data_hash=digest,
        split_sizes=(len(split.train), len(split.val), len(split.test)),
        finished=finished,
        epochs=progress.epoch,
        best_epoch=progress.best_epoch,
        train_accuracy=accuracy["train"],
        val_accuracy=accuracy["val"],
        test_accuracy=accuracy["test"],
        val_loss=progress.val_loss[progress.best_epoch - 1] if progress.best_epoch else None,
        seconds=progress.seconds,
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


def differences(saved: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    """The settings that differ, named as in ``config`` and ``protocol``."""
    for name in wanted | saved:
        there, here = saved.get(name), wanted.get(name, "unknown")
        if isinstance(there, dict) and isinstance(here, dict):
            yield from differences(there, here)
        elif there != here:
            yield "the data" if name == "data_hash" else f"{name} {there} there, {here} here"


def train_until_done(
    state: State,
    inputs: Inputs,
    split: Split,
    protocol: Protocol,
    save: Callable[[], None] | None,
    on_epoch: Callable[[Progress], None] | None,
) -> bool:
    """Epochs until patience ends (True), or until Ctrl-C or a KeyboardInterrupt of ``on_epoch`` (False)."""
    train, val = (inputs.adj.toward(torch.from_numpy(part)) for part in (split.train, split.val))
    saved = -math.inf
    with ctrl_c_waits() as is_stopped:
        while not is_done(state.progress, protocol):
            start = time.perf_counter()
            loss = train_epoch(state.model, state.optimizer, inputs, train)
            val_loss, val_accuracy = validate(state.model, inputs, val)
            if not (math.isfinite(loss) and math.isfinite(val_loss)):
                raise TrainingError(
                    f"the loss became {loss} (validation {val_loss}) in epoch {state.progress.epoch + 1}: look for "
                    f"extreme feature values, or lower the learning rate (now {protocol.learning_rate})"
                )
            record(state, protocol, loss, val_loss, val_accuracy, time.perf_counter() - start)
            stop = is_stopped()
            try:
                if on_epoch is not None:
                    on_epoch(state.progress)
            except KeyboardInterrupt:
                stop = True
            if save is not None and (stop or time.monotonic() - saved > SAVE_EVERY_SECONDS):
                save()
                saved = time.monotonic()
            if stop:
                return False
    return True


def train_epoch(model: nn.Module, optimizer: torch.optim.Optimizer, inputs: Inputs, adj: Adjacency) -> float:
    """One step on the nodes that the graph is taken toward; the loss before it."""
    model.train()
    optimizer.zero_grad()
    logits = model(inputs.x, adj)
    loss = F.cross_entropy(logits, inputs.labels[adj.nodes])
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.item()


@torch.no_grad()
def validate(model: nn.Module, inputs: Inputs, adj: Adjacency) -> tuple[float, float]:
    """Loss and accuracy on the nodes that the graph is taken toward."""
    model.eval()
    logits = model(inputs.x, adj)
    labels = inputs.labels[adj.nodes]
    return F.cross_entropy(logits, labels).item(), (logits.argmax(1) == labels).double().mean().item()


@torch.no_grad()
def evaluate(model: nn.Module, inputs: Inputs, split: Split) -> dict[str, float | None]:
    """Accuracy on each part of a split, None where it is empty."""
    model.eval()
    right = (model(inputs.x, inputs.adj).argmax(1) == inputs.labels).double()
    parts = {"train": split.train, "val": split.val, "test": split.test}
    return {name: right[torch.from_numpy(part)].mean().item() if len(part) else None for name, part in parts.items()}


def record(state: State, protocol: Protocol, loss: float, val_loss: float, val_accuracy: float, seconds: float) -> None:
    """Count one epoch, and remember the weights if it is the best so far."""
    progress = state.progress
    progress.epoch += 1
    progress.seconds += seconds
    progress.loss.append(loss)
    progress.val_loss.append(val_loss)
    progress.val_accuracy.append(val_accuracy)
    value = -val_loss if protocol.watch == "loss" else val_accuracy
    if value > progress.best_value:
        progress.best_value, progress.best_epoch = value, progress.epoch
        state.keep_best()


def is_done(progress: Progress, protocol: Protocol) -> bool:
    """Whether patience has run out or the last epoch has passed."""
    waited = progress.epoch - max(progress.best_epoch, protocol.patience_start)
    return progress.epoch >= protocol.max_epochs or waited >= protocol.patience


def make_optimizer(model: nn.Module, protocol: Protocol) -> torch.optim.Adam:
    """Adam with the L2 penalty on all parameters, or on those that are not biases."""
    named = list(model.named_parameters())
    plain = [p for name, p in named if protocol.decay == "weights" and name.split(".")[-1].startswith("bias")]
    decayed = [p for _, p in named if not any(p is q for q in plain)]
    groups = [{"params": decayed, "weight_decay": protocol.weight_decay}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.Adam([g for g in groups if g["params"]], lr=protocol.learning_rate, fused=True)


def default_split(graph: Graph, protocol: Protocol, seed: int) -> Split:
    """The graph's own masks if it has some, else a random split."""
    if graph.masks is not None:
        return split_from_masks(graph)
    return random_split(strata(graph), seed, protocol.fractions, protocol.stratified)
