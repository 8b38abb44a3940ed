"""Text about runs: counts, names, and the command that trains a network."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, fields, replace
from typing import Any

from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.nn import ModelConfig
from justjump.nn.config import FEW_LAYERS
from justjump.options import command_options, for_command
from justjump.train import Protocol


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "split"), count(2, "split")
    ('1 split', '2 splits')
    """
    return f"{number} {noun}{'s' * (number != 1)}"


def percent(mean: float, std: float | None) -> str:
    """A mean, and its deviation if there is one.

    >>> percent(81.234, 0.567), percent(81.234, None)
    ('81.23 +- 0.57', '81.23')
    """
    return f"{mean:.2f}" + ("" if std is None else f" +- {std:.2f}")


# Options that have no effect on a kind of layer.
OF_DNA = {"start", "attention", "window", "keep_first"}
OF_DEPTH = (("initial_share",), ("identity",), ("window", "keep_first"))  # what is recommended depends on the depth
OF_OTHERS: dict[str, set[str]] = {"dna": set(), "gat": OF_DNA, "gcn": {"heads", "attention_dropout", *OF_DNA}}


def unusual(config: ModelConfig, protocol: Protocol) -> dict[str, Any]:
    """Options that differ from the defaults and that neither a row of Table 1 nor the notation shows.

    >>> unusual(ModelConfig("gcn", layers=1, jump="pool"), Protocol(patience=20))
    {'patience': 20}
    """
    shown = {"model", "layers", "hidden", "groups", "heads"} | OF_OTHERS[config.model]
    shown |= {"jump"} if config.model != "dna" else set()
    usual = {**asdict(ModelConfig()), **asdict(Protocol())}
    options = {**asdict(config), **asdict(protocol)}
    return {name: value for name, value in options.items() if name not in shown and value != usual[name]}


def listed(options: dict[str, Any]) -> str:
    """Options with their values.

    >>> listed({"layers": 2, "dropout": None})
    'layers=2 dropout=auto'
    """
    chosen_later = {"dropout": None, "input_dropout": None, "initial_share": None, "identity": None, "window": 0}
    chosen_later |= {"linear_share": None}
    return " ".join(
        f"{name}={'auto' if (name, value) in chosen_later.items() else value}" for name, value in options.items()
    )


def network(config: ModelConfig, protocol: Protocol) -> str:
    """A network and how it is trained.

    >>> network(ModelConfig("gcn", layers=1, jump="pool"), Protocol(patience=20))
    'gcn-pool 1/128/16 patience=20'
    """
    kind = config.model if config.model == "dna" else f"{config.model}-{config.jump}"
    return f"{kind} {config.notation} {listed(unusual(config, protocol))}".rstrip()


def title(job: Job) -> str:
    """What a job is called while it runs.

    >>> title(Job(GraphSpec("cora"), ModelConfig(), Protocol(), seed=3))
    'cora dna 4/128/16/8 split 3'
    """
    return f"{job.spec.label} {network(job.config, job.protocol)} split {job.seed}"


def run_folder(spec: GraphSpec, config: ModelConfig, protocol: Protocol) -> str:
    """A folder for the runs of a network; another network gets another folder.

    >>> run_folder(GraphSpec("cora"), ModelConfig("gcn", layers=1, jump="pool"), Protocol(patience=20))
    'runs/cora-gcn-pool-1-128-16-patience-20'
    """
    return "runs/" + re.sub(r"[^\w.]+", "-", f"{spec.label} {network(config, protocol).replace('=', ' ')}")


def train_command(spec: GraphSpec, config: ModelConfig, protocol: Protocol, splits: int) -> str:
    """The command line that trains a network on the first splits and saves it.

    >>> train_command(GraphSpec("cora"), ModelConfig("gcn", layers=2), Protocol(), 3).partition(" --linear-share")[0]
    'justjump train --dataset cora --model gcn --update none --dropout 0.5 --input-dropout 0.5'
    """
    words = ["--dataset", spec.dataset] if spec.dataset else ["--graph", spec.path or ""]
    words += ["--data-dir", spec.data_dir] if spec.data_dir else []
    words += ["--directed"] if spec.directed else []
    words += ["--label", spec.label_column] if spec.label_column else []
    words += ["--model", config.model]
    left_out = {"model"} | OF_OTHERS[config.model] | ({"initial_share"} if config.update != "initial" else set())
    usual = replace(config, initial_share=None, identity=None, window=0, keep_first=False).suited()
    if config.layers <= FEW_LAYERS:  # which share is usual depends on the graph
        usual = replace(usual, initial_share=None)
    for names in OF_DEPTH:  # together, or not at all
        if all(getattr(config, name) == getattr(usual, name) for name in names):
            left_out |= set(names)
    for settings in (config, protocol):
        for field in command_options(settings):
            value: Any = getattr(settings, field.name)
            if field.name in left_out or value == field.metadata["recommended"]:
                continue
            name = field.name.replace("_", "-")
            if field.name == "window" and value is None:
                value = config.layers  # all that there are
            if isinstance(value, bool):
                words.append(f"--{name}" if value else f"--no-{name}")
            else:
                words += [f"--{name}", str(value)]
    words += ["--splits", str(splits), "--output", run_folder(spec, config, protocol)]
    command = f"justjump train {shlex.join(words)}"
    for settings in (config, protocol):
        hidden = [one for one in fields(settings) if one not in command_options(settings)]
        values = {one.name: getattr(settings, one.name) for one in hidden if one.name not in left_out}
        if changes := {
            one.name: values[one.name] for one in hidden if values.get(one.name, one.default) != one.default
        }:
            options = ", ".join(f"{name}={value!r}" for name, value in changes.items())
            command += f"  # in Python, with {type(settings).__name__}({options})"
    return command


def for_train(note: str) -> str:
    """What a run says about itself, with options as `justjump train` has them.

    >>> for_train("try class_weight='balanced' or a longer patience than 10")
    'try --class-weight balanced or a longer patience than 10'
    """
    return for_command(note, [one.name for kind in (ModelConfig, Protocol) for one in command_options(kind)])
