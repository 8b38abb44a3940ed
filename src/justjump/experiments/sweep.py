"""Try a grid of configurations, and choose among them on validation alone."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from justjump.experiments import paper
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.readings import DEFAULT, Reading
from justjump.experiments.reproduce import STORE_FILE, Setting, end, rows
from justjump.experiments.store import Store
from justjump.experiments.summary import Summary, score_of
from justjump.experiments.words import count, listed, percent, train_command, unusual
from justjump.files import replace_text
from justjump.nn import ModelConfig
from justjump.train import Protocol
from justjump.train.measures import is_share

NETWORK, TRAINING = ({field.name for field in fields(kind)} for kind in (ModelConfig, Protocol))


@dataclass(frozen=True)
class Candidate:
    """A configuration and how it is trained; ``row`` is the row of Table 1 that it competes in."""

    row: str
    config: ModelConfig
    protocol: Protocol


@dataclass(frozen=True)
class Tried:
    """A candidate with its accuracies over all splits, in percent."""

    candidate: Candidate
    val: float
    val_loss: float
    val_std: float | None
    test: Summary | None
    seconds: float


def paper_grid(row: str) -> Iterator[ModelConfig]:
    return paper.grid(row)


def small_grid(row: str) -> Iterator[ModelConfig]:
    """A corner of the paper's grid, for a first look: 6 configurations of DNA, 12 of GCN and GAT."""
    for config in paper.grid(row):
        is_grouped = config.groups > 1 or config.model == "dna"  # the row fixes the groups of DNA
        if config.layers in (1, 2, 4) and config.hidden in (32, 128) and config.heads < 16 and is_grouped:
            yield config


def file_grid(path: Path, row: str, reading: Reading) -> Iterator[Candidate]:
    """All combinations of the values in a JSON file, which maps options of network and protocol to lists."""
    own = _options_of(row)
    lists = read_lists(path, row, own)
    for values in product(*lists.values()):
        options = dict(zip(lists, values, strict=True))
        network = {name: value for name, value in options.items() if name in NETWORK}
        training = {name: value for name, value in options.items() if name in TRAINING}
        try:
            config = replace(reading.network(ModelConfig(**own)), **network)
            if config.softmax == "outgoing" and "batch_size" in training:
                raise ValueError(f"GAT of the reading {reading.name} needs whole graphs: take --reading patience-100")
            candidate = Candidate(row, config, replace(reading.training(config.model), **training))
        except (TypeError, ValueError) as error:
            raise ValueError(f"--grid {path}: {listed(options)}: {error}") from error
        yield candidate


def read_lists(path: Path, row: str, own: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The values of each option in a JSON file. Options that the row of Table 1 fixes must not be in it."""
    try:
        lists = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"--grid {path}: {error.strerror}; write paper, small or a JSON file") from error
    except ValueError as error:
        raise ValueError(f"--grid {path} is no JSON: {error}") from error
    if not isinstance(lists, dict):
        example = '{"layers": [1, 2], "learning_rate": [0.005, 0.01]}'
        raise ValueError(f"--grid {path} must map names to lists of values, such as {example}")
    for name, values in lists.items():
        if name in own:
            raise ValueError(
                f"--grid {path}: {row} has {name}={own[name]}: leave out {name!r}, and choose rows with --model"
            )
        if name not in NETWORK | TRAINING:
            options = ", ".join(sorted((NETWORK | TRAINING) - set(own)))
            raise ValueError(f"--grid {path}: {name!r} is no option: choose from {options}")
        if not isinstance(values, list) or not values:
            raise ValueError(f"--grid {path}: {name!r} needs a list of values, not {json.dumps(values)}")
    return lists


def _options_of(row: str) -> dict[str, Any]:
    kind, variant = row.split("-")
    return {"model": kind, "groups": int(variant[1:])} if kind == "dna" else {"model": kind, "jump": variant}


def candidates(grid: str, model: str, reading: Reading) -> list[Candidate]:
    """The candidates that ``--grid`` names, each combination once."""
    grids: dict[str, Callable[[str], Iterator[ModelConfig]]] = {"paper": paper_grid, "small": small_grid}

    def of(row: str) -> Iterator[Candidate]:
        if grid not in grids:
            return file_grid(Path(grid), row, reading)
        return (Candidate(row, reading.network(c), reading.training(c.model)) for c in grids[grid](row))

    return list(dict.fromkeys(candidate for row in rows([model]) for candidate in of(row)))


def tried(candidate: Candidate, jobs: Sequence[Job], store: Store) -> Tried | None:
    """The results of a candidate, or None if some of its splits are missing."""
    results = store.results(jobs)
    scores = [score_of(result, "val") for result in results]
    val = [value * (100 if is_share(measure) else 1) for measure, value in scores if value is not None]
    if len(val) < len(jobs):
        return None
    return Tried(
        candidate,
        statistics.fmean(val),
        statistics.fmean(result["val_loss"] for result in results),
        statistics.stdev(val) if len(val) > 1 else None,
        Summary.of_score(results),
        sum(result["seconds"] for result in results),
    )


def best(found: Sequence[Tried]) -> Tried:
    """The best on validation, by the measure that stands for the task (the accuracy, R2, ...); among equals, the lowest
    validation loss. Test nodes play no role.
    """
    return max(found, key=lambda one: (one.val, -one.val_loss))


def rungs(splits: int) -> Iterator[int]:
    """The numbers of splits on which candidates are compared, where the better ones go on to more of them.

    >>> list(rungs(5)), list(rungs(2)), list(rungs(1))
    ([1, 3, 5], [1, 2], [1])
    """
    yield from sorted({1, (1 + splits) // 2, splits})


def sweep(
    spec: GraphSpec,
    model: str,
    grid: str,
    splits: int,
    setting: Setting,
    reading: Reading,
    finalists: int | None = None,
) -> None:
    """Run a grid, print the choice for each row beside the paper's, and write all of it as CSV.

    With ``finalists``, all candidates run on one split, the best three times ``finalists`` of each row on half of the
    splits, and the best ``finalists`` of these on all.
    """
    if finalists is not None and setting.shard is not None:
        raise ValueError("--finalists needs all results to decide what runs next: leave out --shard")
    spec.load()  # an error in it shows before anything runs
    racing = asked = candidates(grid, model, reading)
    found: dict[Candidate, tuple[int, Tried]] = {}
    failed: list[tuple[Job, str]] = []
    with Store(setting.store / STORE_FILE) as store:
        for rung in [splits] if finalists is None else rungs(splits):
            jobs = {one: [Job(spec, one.config, one.protocol, seed) for seed in range(rung)] for one in racing}
            outcome = setting.run([job for own in jobs.values() for job in own], store)
            for one, own in jobs.items():
                if (result := tried(one, own, store)) is not None:
                    found[one] = rung, result
            failed += outcome.failed
            if finalists is not None and rung < splits:
                ended = [found[one][1] for one in racing if found.get(one, (0,))[0] == rung]
                racing = leaders(ended, finalists * (3 if rung == 1 and splits > 2 else 1))
            if outcome.missing or not racing:
                break
    if setting.shard is None:  # one shard does not hold all that there is to choose from
        grid_name = "" if grid == "paper" else f"-{Path(grid).stem}"
        under = "" if reading.name == DEFAULT else f"-{reading.name}"
        name = setting.store / f"sweep-{spec.label}-{model}{grid_name}{under}.csv"
        replace_text(name, as_csv([one for _, one in found.values()]))
        report(spec, found, len(asked), splits)
        print(f"all of them are in {name}")
    end(replace(outcome, failed=tuple(failed)))


def leaders(ended: Sequence[Tried], most: int) -> list[Candidate]:
    """The best of each row on validation."""
    ordered = sorted(ended, key=lambda one: (-one.val, one.val_loss))
    rows = dict.fromkeys(one.candidate.row for one in ended)
    return [one.candidate for row in rows for one in [o for o in ordered if o.candidate.row == row][:most]]


def report(spec: GraphSpec, found: Mapping[Candidate, tuple[int, Tried]], candidates: int, splits: int) -> None:
    """Print the chosen configuration of each row beside the paper's, and the command that trains it."""
    ended = [one for rung, one in found.values() if rung == splits]
    names = dict.fromkeys(one.candidate.row for one in ended)
    choices = [best([one for one in ended if one.candidate.row == row]) for row in names]
    if choices:
        Console().print(choice_table(spec, choices))
    complete = f"{len(ended)} of {count(candidates, 'configuration')} complete"
    print(f"layers/hidden/groups/heads (GCN has no heads); {complete}, {count(splits, 'split')} each")
    for choice in choices:
        row, config, protocol = choice.candidate.row, choice.candidate.config, choice.candidate.protocol
        options = listed(unusual(config, protocol))
        command = train_command(spec, config, protocol, splits)
        print(f"train {row}{f' with {options}' if options else ''}: {command}")


def choice_table(spec: GraphSpec, choices: Sequence[Tried]) -> Table:
    """One line per row of Table 1."""
    table = Table(title=f"{spec.label}: chosen on validation", box=SIMPLE_HEAD, title_justify="left")
    table.padding, table.pad_edge = (0, 1, 0, 0), False
    for column in ("model", "chosen", "validation", "test", "paper's", "its test"):
        table.add_column(column, justify="left" if column == "model" else "right", no_wrap=True)
    for choice in choices:
        row, stated = choice.candidate.row, ("-", "-")
        if spec.dataset in paper.DATASETS:
            stated = paper.published(row, spec.dataset).notation, percent(*paper.TABLE1[row][spec.dataset])
        test = "-" if choice.test is None else percent(choice.test.mean, choice.test.std)
        table.add_row(row, choice.candidate.config.notation, percent(choice.val, choice.val_std), test, *stated)
    return table


def as_csv(found: Sequence[Tried]) -> str:
    """One line per configuration, the best on validation first."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ["model", "config", "val_mean", "val_std", "val_loss", "test_mean", "test_std", "splits", "seconds", "options"]
    )
    for one in sorted(found, key=lambda one: (one.candidate.row, -one.val, one.val_loss)):
        mean, std, splits = one.test or (None, None, 0)
        val, val_std, *test = ["" if x is None else f"{x:.2f}" for x in (one.val, one.val_std, mean, std)]
        options = json.dumps(unusual(one.candidate.config, one.candidate.protocol), sort_keys=True)
        name = one.candidate.row, one.candidate.config.notation
        writer.writerow([*name, val, val_std, f"{one.val_loss:.4f}", *test, splits, f"{one.seconds:.1f}", options])
    return file.getvalue()
