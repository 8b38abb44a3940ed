"""Search for a good network: rounds of trials that learn from those before, and whose best go on to more splits."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from justjump.data.labels import Task
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.reproduce import KINDS, STORE_FILE, Setting
from justjump.experiments.space import first_points, propose
from justjump.experiments.store import Store
from justjump.experiments.sweep import Candidate, Tried, as_csv, best, rungs, tried
from justjump.experiments.words import count, network, train_command
from justjump.files import replace_text
from justjump.train import Protocol, RunError
from justjump.train.start import as_graph

if TYPE_CHECKING:
    import optuna

# Successive halving: the trials of a round run on one split, then one in KEPT on more of them, then one in KEPT of
# these on all. A round has one size whatever the number of workers is, so that they do not change what is tried.
ROUND = 9
KEPT = 3
# Among so many options, draws at random seldom meet a good network: two trials in three change a few of the best one's.
CHANGED = 3


@dataclass
class Search:
    """A search on one graph. The sampler is seeded and finished jobs are in the store: the same search goes on.

    It begins with what is recommended, so that its choice is no worse on validation, and with eight changes of it. Then
    most trials change a few options of the best network so far.

    Attributes:
        found: what has been tried so far, with its results on as many splits as it got to
        stopped: whether Ctrl-C ended it
    """

    spec: GraphSpec
    model: str
    splits: int
    setting: Setting
    protocol: Protocol
    study: optuna.Study
    seed: int
    task: Task
    found: dict[Candidate, tuple[int, Tried]] = field(default_factory=dict)
    stopped: bool = False

    @classmethod
    def start(cls, spec: GraphSpec, model: str, splits: int, setting: Setting, protocol: Protocol, seed: int) -> Search:
        try:
            import optuna
        except ImportError as error:
            raise RunError("a search needs optuna: pip install 'justjump[search]'") from error
        if model not in ("all", *KINDS):
            known = ", ".join(("all", *KINDS))
            raise ValueError(f"a search takes a kind of layer, not a row of Table 1: choose from {known}")
        if setting.shard is not None:
            raise ValueError("--shard is for a grid: a search decides what to try next from all results so far")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        task = as_graph(spec.load(), protocol).task  # an error in the graph shows before anything runs
        kinds = KINDS if model == "all" else (model,)
        for points in zip(*(first_points(kind) for kind in kinds), strict=True):
            for point in points:
                study.enqueue_trial(point)
        return cls(spec, model, splits, setting, protocol, study, seed, task)

    @property
    def finalists(self) -> list[Tried]:
        """Those with the most splits."""
        most = max((splits for splits, _ in self.found.values()), default=0)
        return [one for splits, one in self.found.values() if splits == most]

    def round(self, size: int, store: Store) -> None:
        """Try some candidates on one split, and the better ones on more."""
        import optuna

        self._enqueue_changes(size)
        asked = [self.study.ask() for _ in range(size)]
        racing = [(trial, propose(trial, self.model, self.protocol, self.task)) for trial in asked]
        for splits in rungs(self.splits):
            jobs = {one: self._jobs(one, splits) for _, one in racing}
            words = f"{count(len(jobs), 'network')} on {count(splits, 'split')}"
            print(f"round {self.study.trials[-1].number // ROUND + 1}: {words}", file=sys.stderr)
            outcome = self.setting.run([job for own in jobs.values() for job in own], store)
            for candidate, own in jobs.items():
                if (one := tried(candidate, own, store)) is not None:
                    self.found[candidate] = splits, one
            if outcome.missing:
                self.stopped = True
                return
            ended = [(trial, self.found[one][1]) for trial, one in racing if self.found.get(one, (0,))[0] == splits]
            for trial, _ in racing:
                if all(trial is not other for other, _ in ended):  # a job failed
                    self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            ended.sort(key=lambda pair: (-pair[1].val, pair[1].val_loss))
            keep = len(ended) if splits == self.splits else -(-len(ended) // KEPT)
            for trial, one in ended:
                trial.report(one.val, splits)
            for trial, _ in ended[keep:]:
                self.study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            racing = [(trial, one.candidate) for trial, one in ended[:keep]]
        for trial, candidate in racing:
            self.study.tell(trial, self.found[candidate][1].val)
        if self.found:
            print(f"  best so far on validation: {best(self.finalists).val:.2f}", file=sys.stderr)

    def _enqueue_changes(self, size: int) -> None:
        """Two trials in three of a round after the first points: the best network, but for a few options.

        These are drawn at random, each different from the best one's. What is enqueued depends on the seed and on
        results alone, so a search that is started again goes the same way.
        """
        import optuna

        complete = [trial for trial in self.study.trials if trial.state == optuna.trial.TrialState.COMPLETE]
        if not complete or any(trial.state == optuna.trial.TrialState.WAITING for trial in self.study.trials):
            return
        leader = max(complete, key=lambda trial: trial.value or 0.0)
        rng = random.Random(f"{self.seed} {len(self.study.trials)}")
        names = sorted(set(leader.params) - {"model"})
        for _ in range(2 * size // 3):
            changes = {name: _another(leader, name, rng) for name in rng.sample(names, CHANGED)}
            self.study.enqueue_trial(leader.params | changes)

    def _jobs(self, candidate: Candidate, splits: int) -> list[Job]:
        return [Job(self.spec, candidate.config, candidate.protocol, seed) for seed in range(splits)]


def _another(trial: optuna.trial.FrozenTrial, name: str, rng: random.Random) -> Any:
    """A value of an option that differs from the one that a trial has."""
    import optuna

    values = trial.distributions[name]
    if isinstance(values, optuna.distributions.CategoricalDistribution):
        return rng.choice([one for one in values.choices if one != trial.params[name]])
    assert isinstance(values, optuna.distributions.FloatDistribution)
    if values.step is not None:
        steps = round((values.high - values.low) / values.step)
        points = [round(values.low + number * values.step, 6) for number in range(steps + 1)]
        return rng.choice([one for one in points if abs(one - trial.params[name]) > 1e-6])
    low, high = math.log(values.low), math.log(values.high)
    return math.exp(rng.uniform(low, high)) if values.log else rng.uniform(values.low, values.high)


def search(
    spec: GraphSpec, model: str, trials: int, splits: int, setting: Setting, protocol: Protocol, seed: int
) -> None:
    """Try a number of configurations, and print the best on validation with the command that trains it."""
    race = Search.start(spec, model, splits, setting, protocol, seed)
    with Store(setting.store / STORE_FILE) as store:
        for first in range(0, trials, ROUND):
            race.round(min(ROUND, trials - first), store)
            if race.stopped:
                print("stopped: the same command goes on from here", file=sys.stderr)
                break
    if not race.found:
        raise RunError("no trial was completed")
    name = write_trials(race, setting.store)
    choice = best(race.finalists)
    config, training = choice.candidate.config, choice.candidate.protocol
    test = "" if choice.test is None else f", test accuracy {choice.test}"
    print(f"best of {len(race.found)} on validation: {network(config, training)}, validation {choice.val:.2f}{test}")
    print(f"train it: {train_command(spec, config, training, splits)}")
    print(f"all of them are in {name}")
    if race.stopped:
        sys.exit(130)


def write_trials(race: Search, folder: Path) -> Path:
    """Everything that was tried, as CSV; "splits" says how far each candidate got."""
    path = folder / f"search-{race.spec.label}-{race.model}.csv"
    replace_text(path, as_csv([one for _, one in race.found.values()]))
    return path
