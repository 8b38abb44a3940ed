"""Run what is missing of the paper's Table 1, print the table and write it to files."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from justjump.data import DataError
from justjump.experiments import paper, table1
from justjump.experiments.display import RunsDisplay
from justjump.experiments.execute import Engine, LocalEngine, Outcome, execute
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.picture import draw
from justjump.experiments.readings import DEFAULT, Reading
from justjump.experiments.store import Store
from justjump.experiments.summary import Summary
from justjump.experiments.words import count, title
from justjump.files import replace_file, replace_text
from justjump.train import RunError
from justjump.train.tensorboard import check_log_folder

STORE_FILE = "results.sqlite"
KINDS = ("gcn", "gat", "dna")


@dataclass(frozen=True)
class Setting:
    """Where and how jobs are run: what ``reproduce`` and ``sweep`` share."""

    store: Path
    jobs: int
    engine: Literal["local", "ray"] = "local"
    address: str | None = None
    shard: tuple[int, int] | None = None
    tensorboard: Path | None = None

    def make_engine(self) -> Engine:
        if self.engine == "local":
            if self.address is not None:
                raise ValueError("--address is for --engine ray")
            return LocalEngine(self.jobs)
        from justjump.experiments.ray_engine import RayEngine

        return RayEngine(self.address)

    def run(self, jobs: Sequence[Job], store: Store) -> Outcome:
        """Run the missing jobs of this shard (of all jobs, without shards), with progress on stderr."""
        mine = jobs if self.shard is None else shard_of(jobs, *self.shard)
        have = len(store.results(mine))
        asked_for = count(len(mine), "job")
        if self.shard is not None:
            asked_for = f"shard {self.shard[0]} of {self.shard[1]}: {len(mine)} of all {count(len(jobs), 'job')}"
        print(f"{asked_for}, {have} done before in {store.path}, {len(mine) - have} to run", file=sys.stderr)

        def watch(todo: Sequence[Job]) -> RunsDisplay:
            return RunsDisplay(todo, [title(job) for job in todo], self.jobs)

        outcome = execute(mine, store, self.make_engine(), watch)
        for job, message in outcome.failed:
            print(f"failed: {title(job)}: {' '.join(message.split())}", file=sys.stderr)
        if self.shard is not None and not outcome.missing:
            print(
                f"shard {self.shard[0]} of {self.shard[1]} has ended. After all shards: justjump results ALL --merge "
                f"{self.store} --merge ... joins them; then this command with --store ALL, without --shard, sums up",
                file=sys.stderr,
            )
        return outcome


def shard_of(jobs: Sequence[Job], number: int, shards: int) -> list[Job]:
    """The jobs of one shard, counted from 1. Jobs are dealt out to shards in the order of their keys."""
    ordered = sorted({job.key: job for job in jobs}.items())
    return [job for _, job in ordered[number - 1 :: shards]]


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """``i/n`` with i from 1 to n.

    >>> parse_shard("2/8")
    (2, 8)
    """
    if text is None:
        return None
    own, slash, shards = text.partition("/")
    if not slash or not own.isdigit() or not shards.isdigit() or not 1 <= int(own) <= int(shards):
        raise ValueError(f"--shard {text}: write i/n with i from 1 to n, such as 2/8")
    return int(own), int(shards)


def end(outcome: Outcome, lacking: Sequence[str] = ()) -> None:
    """Exit with code 130 after Ctrl-C, and with 1 if a job failed or a dataset is missing; else return."""
    if lacking:
        print(f"not run for lack of data (see above): {', '.join(lacking)}", file=sys.stderr)
    if outcome.missing:
        left = count(outcome.missing, "job")
        print(f"stopped with {left} to go: the same command goes on from here", file=sys.stderr)
        sys.exit(130)
    if outcome.failed or lacking:
        sys.exit(1)


def names_in(texts: Sequence[str]) -> list[str]:
    """Names that were given one by one or separated by commas."""
    return [name for text in texts for name in text.split(",") if name]


def chosen(texts: Sequence[str], known: Sequence[str], what: str, kinds: Sequence[str] = ()) -> list[str]:
    """The known names that were asked for by name, by kind or by ``all``."""
    wanted, choices = names_in(texts), ("all", *kinds, *known)
    for name in wanted or [""]:
        if name not in choices:
            raise ValueError(f"there is no {what} {name!r}: choose from {', '.join(choices)}")
    return [name for name in known if not {"all", name, name.split("-")[0]}.isdisjoint(wanted)]


def rows(models: Sequence[str]) -> list[str]:
    """Rows of Table 1 that were asked for by name, by kind of layer or by ``all``.

    >>> rows(["dna,gcn-pool"])
    ['gcn-pool', 'dna-g1', 'dna-g8', 'dna-g16']
    """
    return chosen(models, paper.MODELS, "model", KINDS)


def reproduce(
    datasets: Sequence[str],
    models: Sequence[str],
    splits: int,
    setting: Setting,
    reading: Reading,
    data_dir: str | None,
) -> None:
    """Run the published configurations under one reading, print Table 1, and write it beside the store."""
    names, models = chosen(datasets, list(paper.DATASETS), "dataset"), rows(models)
    if setting.tensorboard is not None:
        check_log_folder(setting.tensorboard)
    start = time.perf_counter()
    specs = [GraphSpec(name, data_dir=data_dir) for name in names]
    absent = unavailable(specs)
    for name, reason in absent.items():
        print(f"not run: {name}: {reason}", file=sys.stderr)
    jobs = cell_jobs(specs, models, splits, reading, setting.tensorboard)
    with Store(setting.store / STORE_FILE) as store:
        outcome = setting.run([job for (name, _), own in jobs.items() if name not in absent for job in own], store)
        cells = cells_in(store, jobs, absent)
    publish(cells, setting.store, reading)
    print(f"{time.perf_counter() - start:.0f} seconds")
    end(outcome, [name for name in absent if name in names_in(datasets)])  # "all" means all that are available


def show(datasets: Sequence[str], models: Sequence[str], splits: int, folder: Path, reading: Reading) -> None:
    """Print what a store holds of Table 1, and write it beside the store. Runs and downloads nothing."""
    specs = [GraphSpec(name) for name in chosen(datasets, list(paper.DATASETS), "dataset")]
    jobs = cell_jobs(specs, rows(models), splits, reading)
    with Store(folder / STORE_FILE, read_only=True) as store:
        cells = [cell for cell in cells_in(store, jobs) if cell.ours is not None]
    if not cells:
        raise RunError(
            f"{folder} holds no result of these cells of Table 1 under the reading {reading.name}: leave out --show to "
            "run them, or name another --reading"
        )
    publish(cells, folder, reading)


def cell_jobs(
    specs: Sequence[GraphSpec], models: Sequence[str], splits: int, reading: Reading, tensorboard: Path | None = None
) -> dict[tuple[str, str], list[Job]]:
    """The jobs of each cell, by dataset and row."""
    curves = None if tensorboard is None else str(tensorboard)
    return {
        (spec.name, model): [
            Job(spec, reading.network(config), reading.training(config.model), seed, tensorboard=curves)
            for seed in range(splits)
        ]
        for spec in specs
        for model in models
        for config in [paper.published(model, spec.name)]
    }


def unavailable(specs: Sequence[GraphSpec]) -> dict[str, str]:
    """The graphs that cannot be loaded, and why."""
    absent = {}
    for spec in specs:
        try:
            spec.load()
        except DataError as error:
            absent[spec.name] = " ".join(str(error).split())
    return absent


def cells_in(
    store: Store, jobs: Mapping[tuple[str, str], Sequence[Job]], absent: Collection[str] = ()
) -> list[table1.Cell]:
    """One cell per group of jobs, with the results that the store holds."""
    cells = []
    for (dataset, model), own in jobs.items():
        results = store.results(own)
        why_not = "not run: data not at hand" if dataset in absent else "not run"
        seconds = sum(result["seconds"] for result in results)
        stuck = tuple(result["seed"] for result in results if result.get("stuck"))
        cells.append(table1.Cell(dataset, model, Summary.of(results), seconds, why_not, len(own), stuck))
    return cells


def publish(cells: Sequence[table1.Cell], folder: Path, reading: Reading) -> None:
    """Print the table and write it in all formats, unless there is nothing to show."""
    if all(cell.ours is None for cell in cells):
        print("no run has ended yet: no table")
        return
    write_all(cells, folder, reading)
    console = Console()
    for table in table1.tables(cells):
        console.print(table, "")
    print(table1.summary_line(cells))
    print(table1.VERDICTS)
    if stuck := table1.stuck_line(cells):
        print(stuck)
    print(f"reading {reading.name}: {reading.words}")
    print(f"this table as {file_stem(reading)}.md, .tex, .csv and .png: {folder}")


def file_stem(reading: Reading) -> str:
    """Tables of different readings are different files."""
    return "table1" if reading.name == DEFAULT else f"table1-{reading.name}"


def write_all(cells: Sequence[table1.Cell], folder: Path, reading: Reading) -> None:
    """Table 1 as Markdown, LaTeX, CSV and a picture."""
    texts = {"md": table1.as_markdown, "tex": table1.as_latex, "csv": table1.as_csv}
    for ending, render in texts.items():
        replace_text(folder / f"{file_stem(reading)}.{ending}", render(cells))
    figure = draw(cells)
    replace_file(folder / f"{file_stem(reading)}.png", lambda path: figure.savefig(path, dpi=150, format="png"))
