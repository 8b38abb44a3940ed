"""A grid of configurations, and the choice among them on validation alone."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from justjump.experiments import paper
from justjump.experiments.jobs import Job, Source
from justjump.experiments.reproduce import STORE_FILE, Setting, chosen, end
from justjump.experiments.store import Store
from justjump.experiments.summary import Summary
from justjump.nn import ModelConfig
from justjump.train import Protocol
from justjump.train.files import replace_file

KINDS = ("gcn", "gat", "dna")


@dataclass(frozen=True)
class Candidate:
    """A configuration and how it is trained; ``row`` is the row of Table 1 it competes in."""

    row: str
    config: ModelConfig
    protocol: Protocol


@dataclass(frozen=True)
class Tried:
    """A candidate with its accuracies over all splits, in percent."""

    candidate: Candidate
    val: float
    val_loss: float
    val_std: float
    test: Summary | None
    seconds: float


def rows(model: str) -> list[str]:
    """The rows of Table 1 that a name stands for: itself, or all of ``gcn``, ``gat`` or ``dna``.

    >>> rows("dna")
    ['dna-g1', 'dna-g8', 'dna-g16']
    """
    if model in KINDS:
        return [row for row in paper.MODELS if row.startswith(f"{model}-")]
    return chosen([model], paper.MODELS, "model")


def paper_grid(row: str, protocol: Protocol) -> Iterator[Candidate]:
    for config in paper.grid(row):
        yield Candidate(row, config, protocol)


def small_grid(row: str, protocol: Protocol) -> Iterator[Candidate]:
    """A corner of the paper's grid, for a first look."""
    for config in paper.grid(row):
        if config.layers in (1, 2, 4) and config.hidden in (32, 128) and config.groups != 1 and config.heads != 16:
            yield Candidate(row, config, protocol)


def file_grid(path: Path, row: str, protocol: Protocol) -> Iterator[Candidate]:
    """All combinations of the lists in a JSON file, whose names are options of the network or the protocol."""
    try:
        lists = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"--grid {path}: {error.strerror}; write paper, small or a JSON file") from error
    except ValueError as error:
        raise ValueError(f"--grid {path} is no JSON: {error}") from error
    networks, protocols = {f.name for f in fields(ModelConfig)}, {f.name for f in fields(Protocol)}
    example = '{"layers": [1, 2], "learning_rate": [0.005, 0.01]}'
    if not isinstance(lists, dict) or not all(isinstance(values, list) and values for values in lists.values()):
        raise ValueError(f"--grid {path} must map names to lists of values, such as {example}")
    for name in lists:
        if name not in networks | protocols:
            raise ValueError(
                f"--grid {path}: {name!r} is no option: choose from {', '.join(sorted(networks | protocols))}"
            )
    own = _options_of(row)
    for values in product(*lists.values()):
        options = dict(zip(lists, values, strict=True))
        network = {**own, **{name: value for name, value in options.items() if name in networks}}
        training = {**asdict(protocol), **{name: value for name, value in options.items() if name in protocols}}
        yield Candidate(row, ModelConfig(**network), Protocol(**training))


def _options_of(row: str) -> dict[str, Any]:
    kind, variant = row.split("-")
    return {"model": kind, "groups": int(variant[1:])} if kind == "dna" else {"model": kind, "jump": variant}


def candidates(grid: str, model: str, protocol: Protocol) -> list[Candidate]:
    """What ``--grid`` names, each combination once."""
    makers: dict[str, Callable[[str, Protocol], Iterator[Candidate]]] = {"paper": paper_grid, "small": small_grid}
    make = makers.get(grid) or partial(file_grid, Path(grid))
    return list(dict.fromkeys(candidate for row in rows(model) for candidate in make(row, protocol)))


def tried(candidate: Candidate, jobs: Sequence[Job], store: Store) -> Tried | None:
    """What became of a candidate, if all its splits are there."""
    results = store.results(jobs)
    if len(results) < len(jobs) or any(result["val_accuracy"] is None for result in results):
        return None
    val = [100 * result["val_accuracy"] for result in results]
    return Tried(
        candidate,
        statistics.fmean(val),
        statistics.fmean(result["val_loss"] for result in results),
        statistics.stdev(val) if len(val) > 1 else 0.0,
        Summary.of(results),
        sum(result["seconds"] for result in results),
    )


def best(found: Sequence[Tried]) -> Tried:
    """Highest mean accuracy on validation; of equal ones the lower validation loss. Test nodes have no say."""
    return max(found, key=lambda one: (one.val, -one.val_loss))


def sweep(source: Source, model: str, grid: str, splits: int, setting: Setting, protocol: Protocol) -> None:
    """Run a grid, print the choice for each row beside the paper's, and write all of it as CSV."""
    source.load()  # what is wrong with it is said before anything runs
    todo = {
        candidate: [Job(source, candidate.config, candidate.protocol, seed) for seed in range(splits)]
        for candidate in candidates(grid, model, protocol)
    }
    with Store(setting.store / STORE_FILE) as store:
        outcome = setting.run([job for jobs in todo.values() for job in jobs], store)
        found = [one for candidate, jobs in todo.items() if (one := tried(candidate, jobs, store)) is not None]
    name = setting.store / f"sweep-{source.name}-{model}.csv"
    replace_file(name, lambda path: path.write_text(as_csv(found), encoding="utf-8"))
    report(source, found, len(todo), splits)
    print(f"all of them are in {name}")
    end(outcome)


def report(source: Source, found: Sequence[Tried], candidates: int, splits: int) -> None:
    """The chosen configuration of each row, in the paper's notation, beside the paper's."""
    table = Table(title=f"{source.name}: chosen on validation", box=SIMPLE_HEAD, title_justify="left")
    table.padding, table.pad_edge = (0, 1, 0, 0), False
    for column in ("model", "chosen", "validation", "test", "paper's", "its test"):
        table.add_column(column, justify="left" if column == "model" else "right", no_wrap=True)
    for row in dict.fromkeys(one.candidate.row for one in found):
        choice = best([one for one in found if one.candidate.row == row])
        stated = ("-", "-")
        if source.dataset in paper.DATASETS:
            accuracy = paper.TABLE1[row][source.dataset]
            stated = (paper.published(row, source.dataset).notation, f"{accuracy.mean:.2f} +- {accuracy.std:.2f}")
        test = "-" if choice.test is None else f"{choice.test.mean:.2f} +- {choice.test.std or 0:.2f}"
        table.add_row(row, choice.candidate.config.notation, f"{choice.val:.2f} +- {choice.val_std:.2f}", test, *stated)
    Console().print(table)
    print(f"layers/hidden/groups/heads; {len(found)} of {candidates} configurations complete, {splits} splits each")


def as_csv(found: Sequence[Tried]) -> str:
    """One line a configuration, the best on validation first."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ["model", "config", "val_mean", "val_std", "val_loss", "test_mean", "test_std", "splits", "seconds", "options"]
    )
    for one in sorted(found, key=lambda one: (one.candidate.row, -one.val, one.val_loss)):
        mean, std, splits = one.test or (None, None, 0)
        validation = f"{one.val:.2f}", f"{one.val_std:.2f}", f"{one.val_loss:.4f}"
        test = ["" if value is None else f"{value:.2f}" for value in (mean, std)]
        options = json.dumps(_unusual(one.candidate), sort_keys=True)
        name = one.candidate.row, one.candidate.config.notation
        writer.writerow([*name, *validation, *test, splits, f"{one.seconds:.1f}", options])
    return file.getvalue()


def _unusual(candidate: Candidate) -> dict[str, Any]:
    """Options that differ from the defaults and that the notation does not show."""
    shown = {"model", "layers", "hidden", "groups", "heads", "jump"}
    usual = {**asdict(ModelConfig()), **asdict(Protocol())}
    options = {**asdict(candidate.config), **asdict(candidate.protocol)}
    return {name: value for name, value in options.items() if name not in shown and value != usual[name]}
