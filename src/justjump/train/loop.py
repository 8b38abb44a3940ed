"""``fit``: one training run."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from justjump.data import Graph, Split
from justjump.data.parts import Parts
from justjump.nn import ModelConfig, NodeClassifier
from justjump.options import changed, given
from justjump.train.batches import check_batches
from justjump.train.checkpoint import Progress, State, load_state, remove_state, save_state
from justjump.train.choices import as_saved, notes_on_choices, share_is_open, with_share
from justjump.train.device import checked_device
from justjump.train.epochs import both, make_steps, train_until_done
from justjump.train.errors import TrainingWarning
from justjump.train.evaluation import calibrated, evaluate, loss_of, notes_on_data, say_notes
from justjump.train.inputs import Inputs, data_hash, prepare
from justjump.train.linear import check_linear_share, with_linear_model
from justjump.train.measures import SCORE
from justjump.train.memory import WEIGHT_COPIES, check_weights, notes_on_memory
from justjump.train.neighbors import Gain, features_alone, notes_on_features
from justjump.train.objective import Objective
from justjump.train.optimizer import make_average, make_optimizer
from justjump.train.process import keep_memory, one_torch_thread
from justjump.train.protocol import Protocol
from justjump.train.remedies import Remedies
from justjump.train.resume import finished_run
from justjump.train.run import Run, facts_of, settings
from justjump.train.self_training import check_self_training
from justjump.train.show import EpochBar
from justjump.train.start import as_graph, check_learnable, default_split, preprocessing_of, say_task
from justjump.train.stopping import is_stuck
from justjump.warn import warn

OF_PARTS = ("workers", "scratch", "worker_timeout", "log")  # options for graphs in parts


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
        config: which network; ``recommended(ModelConfig)`` by default. ``ModelConfig()`` is the paper's
        protocol: how it is trained; ``recommended(Protocol)`` by default
        split: training, validation and test nodes; by default the graph's own masks, else a random split
        seed: seed of the split, the initialisation and dropout; the same seed gives the same run bit for bit
        output: folder to save the run in; a run that was stopped there goes on where it stopped, and a finished run
            is returned as it is
        on_epoch: called after each epoch
        inputs: ``prepare(graph, protocol.scale)``, if it exists already; runs may share it
        progress: show a bar; by default in a terminal and in a notebook
        device: where it computes, such as ``"cuda"``; on other devices than the CPU by PyTorch, without the kernels
        options: any fields of ``config`` and ``protocol`` by their names, such as ``layers=2, task="regression"``; for
            a graph in parts also ``workers``, the number of processes, ``scratch``, a folder for representations,
            ``worker_timeout``, seconds without an answer after which a worker is replaced, and ``log``, a folder for
            TensorBoard's curves

    Ctrl-C ends training with the best network so far: ``run.finished`` is then False.

    >>> from justjump.data import load
    >>> run = fit(load("cora"), model="gcn", layers=1, max_epochs=3)
    >>> run.epochs, run.finished
    (3, True)
    """
    if isinstance(graph, torch.Tensor):  # fit(x, edge_index, y): what is wrong is not the config
        Graph.of(graph)
    own: dict[str, Any] = {name: options.pop(name) for name in OF_PARTS if name in options}
    if own and not isinstance(graph, Parts):
        raise TypeError(f"{next(iter(own))}=... is for a graph in parts: make one with graph.partition(...)")
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
    is_first = inputs is None
    preprocessing = inputs.preprocessing if inputs else preprocessing_of(graph, protocol)
    folder = None if output is None else Path(output)
    check_self_training(graph, protocol)
    check_linear_share(graph, config)
    asked = config
    if folder is not None:
        config = as_saved(config, folder)
    config = config if share_is_open(config) else config.suited(graph.task == "regression")
    wanted = settings(config, protocol, seed, digest, preprocessing)
    if folder is not None and (run := finished_run(folder, wanted)) is not None:
        return run
    inputs = inputs.with_labels(graph) if inputs else prepare(graph, preprocessing)
    copies = WEIGHT_COPIES if place.type == "cpu" else 1
    check_weights(config, preprocessing.num_outputs, graph.num_classes, copies)
    with one_torch_thread():
        linear = features_alone(graph, inputs, split)
        if share_is_open(config):  # there is no run in the folder
            config = with_share(config, Gain.of(linear, inputs, split)).suited(graph.task == "regression")
            wanted = settings(config, protocol, seed, digest, preprocessing)
    if is_first:
        say_task(graph, protocol, "task=...")
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
        bare = replace(config, linear_share=0.0)  # the linear model is none of training's concern
        model = NodeClassifier(bare, preprocessing.num_outputs, graph.num_classes).to(place)
        state = State(
            model,
            make_optimizer(model, protocol, len(split.train)),
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
        step, check = make_steps(state, inputs, split, protocol, objective, seed)
        finished = train_until_done(state, protocol, step, check, save, both(bar, on_epoch))
        model.load_state_dict(state.best)
        model = with_linear_model(model, config.linear_share, inputs, split, objective)
        for line in notes_on_choices(asked, model.config) if is_first else ():
            print(line, file=sys.stderr)
        if protocol.calibrate:
            objective = replace(objective, temperature=calibrated(model, inputs, split, objective))
        constant_loss = objective.constant_loss(inputs.labels[torch.from_numpy(split.train).to(place)])
        remedies = Remedies(config, protocol, state.progress.epoch)
        found = evaluate(model, inputs, graph, split, objective, remedies)
        if model.config.linear_share:
            found["val_loss"] = loss_of(model, inputs, split.val, objective)  # that of the epochs is the network's own
        found["notes"] += tuple(notes_on_features(linear, inputs, split, found["val_accuracy"] or 0.0, remedies))
    model, objective = model.cpu(), objective.to(torch.device("cpu"))
    say_notes(found, odd, aloud=finished)
    done = state.progress
    run = Run(
        model=model,
        feature_names=graph.feature_names,
        preprocessing=preprocessing,
        protocol=protocol,
        seed=seed,
        data_hash=digest,
        finished=finished,
        stuck=is_stuck(done, constant_loss),
        objective=objective,
        **(facts_of(graph, split, done) | found),
    )
    if folder is not None:
        run.save(folder)
        if finished:
            remove_state(folder)
    return run
