"""One training run on a graph in parts, by one process or as one of several."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from justjump.data import Graph, Split
from justjump.data.parts import Parts
from justjump.nn import ModelConfig, NodeClassifier
from justjump.train.checkpoint import Progress, State, load_state, remove_state, save_state
from justjump.train.epochs import both, train_until_done
from justjump.train.errors import RunError, TrainingWarning
from justjump.train.evaluation import evaluated, notes_on_data, say_notes
from justjump.train.measures import SCORE
from justjump.train.memory import check_weights
from justjump.train.objective import Objective, fitted_temperature
from justjump.train.optimizer import make_average, make_optimizer
from justjump.train.parts.executor import Executor
from justjump.train.parts.nodes import Chosen, labels_of, nodes_in, split_hash
from justjump.train.parts.outputs import outputs_of, validation
from justjump.train.parts.storage import InMemory, OnDisk, Storage, new_folder
from justjump.train.parts.transport import Transport
from justjump.train.process import keep_memory, one_torch_thread
from justjump.train.protocol import Protocol
from justjump.train.remedies import Remedies
from justjump.train.resume import finished_run
from justjump.train.run import Run, facts_of, settings
from justjump.train.show import EpochBar, shown_bytes
from justjump.train.start import check_learnable, default_split
from justjump.train.stopping import is_stuck
from justjump.train.tensorboard import RunLog
from justjump.warn import warn


def train_as_worker(
    parts: Parts,
    config: ModelConfig,
    protocol: Protocol,
    transport: Transport,
    *,
    split: Split | None,
    seed: int,
    output: Path | None,
    scratch: Path | None,
    on_epoch: Callable[[Progress], None] | None,
    progress: bool | None,
) -> Run:
    """The whole run, of which this process computes its own parts. Every process gets the same result.

    The first process alone writes, and says something.
    """
    leads = transport.rank == 0
    graph = labels_of(parts)
    config = replace(config, linear_share=config.linear_share or 0.0).suited(graph.task == "regression")
    check_learnable(graph, protocol)
    split = split or default_split(graph, protocol, seed)
    split.check(graph)
    preprocessing = parts.manifest.preprocessing
    wanted = settings(config, protocol, seed, split_hash(parts, split), preprocessing)
    if output is not None and (run := finished_run(output, wanted)) is not None:
        return run
    objective = Objective.of(graph, split, protocol.class_weight == "balanced")
    odd = notes_on_data(graph, split)
    for note in odd if leads else ():
        warn(note, TrainingWarning)
    check_weights(config, preprocessing.num_outputs, graph.num_classes)
    if scratch is None:
        keep_memory()
    shown = progress if leads else False
    with (
        one_torch_thread(),
        torch.random.fork_rng(devices=[]),
        storage_in(scratch) as storage,
        EpochBar(protocol, graph.task, shown) as bar,
    ):
        torch.manual_seed(seed)
        model = NodeClassifier(config, preprocessing.num_outputs, graph.num_classes)
        state = _start(model, protocol, graph, len(split.train))
        save = None
        if output is not None:
            load_state(state, wanted, output)
            _check_same_epoch(transport, state.progress.epoch, output)
            if state.progress.epoch and leads and progress is not False:
                print(f"{output}: the run goes on after epoch {state.progress.epoch}", file=sys.stderr)
            save = partial(save_state, state, wanted, output) if leads else None
        executor = Executor(parts, model, transport, storage)
        step = _step(executor, state, Chosen.of(parts, split.train), objective, graph.labels[split.train])
        check = validation(executor, state, Chosen.of(parts, split.val), objective, protocol.measures)
        finished = train_until_done(
            state, protocol, step, check, save, both(_telling(bar, transport), on_epoch), transport.any, save_each=True
        )
        model.load_state_dict(state.best)
        nodes, few, own = nodes_in(graph, split)
        logits = outputs_of(executor, nodes)
    if protocol.calibrate:
        outputs, labels = logits[torch.from_numpy(own.val)], torch.from_numpy(few.labels[own.val])
        objective = replace(objective, temperature=fitted_temperature(objective, outputs, labels))
    constant_loss = objective.constant_loss(torch.from_numpy(graph.labels[split.train]))
    remedies = Remedies(config, protocol, state.progress.epoch)
    found = evaluated(objective.predictions(logits).numpy(), few, own, remedies)
    say_notes(found, odd, aloud=finished and leads)
    run = Run(
        model=model,
        feature_names=preprocessing.names,
        preprocessing=preprocessing,
        protocol=protocol,
        seed=seed,
        data_hash=wanted["data_hash"],
        finished=finished,
        stuck=is_stuck(state.progress, constant_loss),
        objective=objective,
        **facts_of(graph, split, state.progress),
        **found,
    )
    if output is not None and leads:
        run.save(output)
        if finished:
            remove_state(output)
    return run


def train_and_log(
    parts: Parts, config: ModelConfig, protocol: Protocol, transport: Transport, *, log: Path | None, **options: Any
) -> Run:
    """:func:`train_as_worker` with a log for TensorBoard in the folder ``log``, which the first process writes."""
    with RunLog(log if transport.rank == 0 else None) as curves:
        on_epoch = curves.then(options.pop("on_epoch"))
        run = train_as_worker(parts, config, protocol, transport, on_epoch=on_epoch, **options)
        curves.finish(run)
    return run


def _telling(bar: EpochBar, transport: Transport) -> Callable[[Progress], None]:
    """The bar, with the bytes that all workers have sent."""

    def tell(progress: Progress) -> None:
        if transport.world > 1:
            sent = transport.gather(torch.tensor([transport.bytes_sent]), [1] * transport.world)
            bar.note = f"{shown_bytes(sum(int(one) for one in sent))} sent"
        bar(progress)

    return tell


def _check_same_epoch(transport: Transport, epoch: int, output: Path) -> None:
    """Raise unless all workers go on after the same epoch: they would train different networks."""
    found = [int(one.item()) for one in transport.gather(torch.tensor([[float(epoch)]]), [1] * transport.world)]
    for worker, other in enumerate(found):
        if other != found[0]:
            raise RunError(
                f"worker 0 goes on after epoch {found[0]}, but worker {worker} after epoch {other}: all workers must "
                f"see the same folder {output}, and no other command may write to it"
            )


@contextmanager
def storage_in(scratch: Path | None, dtype: torch.dtype = torch.float32) -> Iterator[Storage]:
    """In memory, or in a new folder below ``scratch``, which is gone afterwards."""
    if scratch is None:
        yield InMemory(dtype)
        return
    with new_folder(scratch) as folder:
        yield OnDisk(dtype, folder)


def _start(model: NodeClassifier, protocol: Protocol, graph: Graph, training_nodes: int) -> State:
    optimizer, average = make_optimizer(model, protocol, training_nodes), make_average(model, protocol)
    state = State(model, optimizer, {}, Progress(measure=SCORE[graph.task]), average)
    state.keep_best()
    return state


def _step(executor: Executor, state: State, train: Chosen, objective: Objective, labels: Any) -> Callable[[], float]:
    count = objective.count(torch.from_numpy(labels))

    def step() -> float:
        loss = executor.train(train, objective, count)
        state.optimizer.step()
        return loss

    return step
