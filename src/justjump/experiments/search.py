"""Search for a good network with a fixed number of trials; each trial learns from the ones before it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from justjump.experiments import paper
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.reproduce import KINDS, STORE_FILE, Setting
from justjump.experiments.store import Store
from justjump.experiments.sweep import Candidate, Tried, best, tried
from justjump.experiments.words import network, train_command
from justjump.nn import ModelConfig
from justjump.train import Protocol, RunError

if TYPE_CHECKING:
    import optuna


def search(
    spec: GraphSpec, model: str, trials: int, splits: int, setting: Setting, protocol: Protocol, seed: int
) -> None:
    """Try configurations, each on all splits, and print the best on validation with the command that trains it.

    The sampler is seeded and finished jobs are in the store, so the same command goes on where it was stopped.
    """
    try:
        import optuna
    except ImportError as error:
        raise RunError("a search needs optuna: pip install 'justjump[search]'") from error
    if model not in KINDS:
        raise ValueError(f"--search takes a kind of layer, not a row of Table 1: choose from {', '.join(KINDS)}")
    if setting.shard is not None:
        raise ValueError("--shard is for a grid: a search decides what to try next from all results so far")
    spec.load()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    found: list[Tried] = []
    with Store(setting.store / STORE_FILE) as store:
        for number in range(trials):
            trial = study.ask()
            candidate = propose(trial, model, protocol)
            jobs = [Job(spec, candidate.config, candidate.protocol, split) for split in range(splits)]
            print(f"trial {number + 1} of {trials}: {network(candidate.config, candidate.protocol)}", file=sys.stderr)
            outcome = setting.run(jobs, store)
            if outcome.missing:
                print("stopped: the same command goes on from here", file=sys.stderr)
                break
            one = tried(candidate, jobs, store)
            if one is None:  # a job failed
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                continue
            study.tell(trial, one.val)
            found.append(one)
            print(f"  validation {one.val:.2f}, best so far {best(found).val:.2f}", file=sys.stderr)
    if not found:
        raise RunError("no trial was completed")
    choice = best(found)
    config, training = choice.candidate.config, choice.candidate.protocol
    test = "" if choice.test is None else f", test accuracy {choice.test}"
    print(f"best of {len(found)} on validation: {network(config, training)}, validation {choice.val:.2f}{test}")
    print(f"train it: {train_command(spec, config, training, splits)}")
    if len(found) < trials and outcome.missing:
        sys.exit(130)


def propose(trial: optuna.Trial, model: str, protocol: Protocol) -> Candidate:
    """A configuration of the paper's grid; it also varies the rates that the paper keeps fixed."""

    def rate(name: str, low: float, high: float, step: float | None = None) -> float:
        value = trial.suggest_float(name, low, high, step=step, log=step is None)
        return float(f"{value:.3g}")  # 0.6, not 0.6000000000000001

    hidden = trial.suggest_categorical("hidden", paper.HIDDEN)
    heads = trial.suggest_categorical("heads", paper.HEADS) if model != "gcn" else 1
    groups = trial.suggest_categorical("groups", paper.GROUPS)
    jump = trial.suggest_categorical("jump", ("none", "concat", "pool")) if model != "dna" else "none"
    config = ModelConfig(
        model=model,  # type: ignore[arg-type]
        layers=trial.suggest_int("layers", min(paper.LAYERS), max(paper.LAYERS)),
        hidden=hidden,
        heads=heads,
        groups=groups,
        jump=jump,  # type: ignore[arg-type]
        dropout=rate("dropout", 0.2, 0.8, step=0.1),
        input_dropout=rate("input_dropout", 0.0, 0.8, step=0.1),
        attention_dropout=rate("attention_dropout", 0.0, 0.8, step=0.2) if model != "gcn" else 0.8,
    )
    training = {
        **asdict(protocol),
        "learning_rate": rate("learning_rate", 1e-3, 2e-2),
        "weight_decay": rate("weight_decay", 1e-5, 1e-2),
    }
    return Candidate(f"{model}-search", config, Protocol(**training))
