"""A search for as long as it is told, on a user's own graph."""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.local import worker_count
from justjump.experiments.reproduce import STORE_FILE, Setting
from justjump.experiments.search import ROUND, Search, write_trials
from justjump.experiments.store import Store
from justjump.experiments.sweep import Candidate, best
from justjump.experiments.words import count, network
from justjump.files import new_folder, read_file, replace_text
from justjump.nn import ModelConfig
from justjump.train import Protocol, RunError

CHOICE_FILE = "chosen.json"
SPLITS = 3
SECONDS = {"s": 1, "m": 60, "h": 3600, "": 1}


def tuned(
    spec: GraphSpec, text: str, protocol: Protocol, jobs: int, output: Path | None, seed: int
) -> tuple[ModelConfig, Protocol]:
    """The network and the training that a search for a time finds; without ``output`` it leaves no file.

    What was found stands in the folder: the same command does not search again, and trains what is left to train.
    """
    seconds = parse_time(text)
    asked = {"tune": text, "seed": seed, "protocol": asdict(protocol)}
    place = TemporaryDirectory() if output is None else nullcontext(output / "tuning")
    with place as name, new_folder(Path(name), "--output"):
        folder = Path(name)
        if (found := _read_choice(folder / CHOICE_FILE, asked)) is None:
            choice = tune(spec, seconds, Setting(folder, worker_count(jobs)), protocol, seed)
            found = choice.config, choice.protocol
            values = {**asked, "chosen_config": asdict(found[0]), "chosen_protocol": asdict(found[1])}
            replace_text(folder / CHOICE_FILE, json.dumps(values, indent=2) + "\n")
    return found


def _read_choice(path: Path, asked: dict[str, Any]) -> tuple[ModelConfig, Protocol] | None:
    """What an earlier search for the same found, or None."""
    if not path.exists():
        return None
    try:
        values = json.loads(read_file(path).decode("utf-8"))
        if {name: values[name] for name in asked} != json.loads(json.dumps(asked)):
            raise RunError(f"{path} is of another search: choose another --output")
        return ModelConfig(**values["chosen_config"]), Protocol(**values["chosen_protocol"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RunError(f"{path} cannot be read ({error}): delete it to search again") from error


def parse_time(text: str, option: str = "--tune") -> float:
    """Seconds, minutes or hours, as an option has them.

    >>> parse_time("90s"), parse_time("10m"), parse_time("1.5h")
    (90.0, 600.0, 5400.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?)([smh]?)", text.strip())
    if found is None or not 0 < float(found[1]) < threading.TIMEOUT_MAX / 3600:
        raise ValueError(f"{option} {text}: write a time such as 90s, 10m or 2h")
    return float(found[1]) * SECONDS[found[2]]


def tune(spec: GraphSpec, seconds: float, setting: Setting, protocol: Protocol, seed: int = 0) -> Candidate:
    """The network of any kind that is the best on validation after this time, or the first one that was trained.

    Ctrl-C ends the search before its time, and the best so far counts.
    """
    race = Search.start(spec, "all", SPLITS, setting, protocol, seed)
    end = time.monotonic() + seconds
    path = setting.store / STORE_FILE
    with Store(path) as store, _interrupted_after(seconds, path):
        while not race.stopped and time.monotonic() < end:
            race.round(ROUND, store)
    if not race.found:
        raise RunError("the search was stopped before it had trained a network")
    write_trials(race, setting.store)
    choice = best(race.finalists)
    config, training = choice.candidate.config, choice.candidate.protocol
    words = f"{count(len(race.found), 'network')} tried, validation {choice.val:.2f}"
    print(f"tuned: {network(config, training)} ({words})", file=sys.stderr)
    return choice.candidate


@contextmanager
def _interrupted_after(seconds: float, path: Path) -> Iterator[None]:
    """The same as Ctrl-C when the time is over and the store holds a result: running jobs know to end then."""
    ended = threading.Event()

    def interrupt() -> None:
        wait = seconds
        while not ended.wait(wait):
            wait = 0.5
            with Store(path, read_only=True) as store:
                if len(store):
                    print("tuning: the time is over", file=sys.stderr)
                    signal.raise_signal(signal.SIGINT)
                    return

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        yield
    except KeyboardInterrupt:
        pass  # between two jobs
    finally:
        ended.set()
        thread.join()
