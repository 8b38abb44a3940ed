"""The paper's Table 1, run or completed, printed and written."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from justjump.data import DataError
from justjump.experiments import paper, table1
from justjump.experiments.display import RunsDisplay
from justjump.experiments.execute import Engine, LocalEngine, Outcome, execute
from justjump.experiments.jobs import Job, Source
from justjump.experiments.picture import draw
from justjump.experiments.store import Store
from justjump.experiments.summary import Summary
from justjump.train import Protocol
from justjump.train.files import replace_file
from justjump.train.tensorboard import check_log_folder

STORE_FILE = "results.sqlite"


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
        """Run what is missing of this machine's share, with progress on stderr."""
        mine = [job for job in jobs if self.shard is None or _shard_of(job, self.shard[1]) == self.shard[0]]
        have = len(store.results(mine))
        share = f"shard {self.shard[0]}/{self.shard[1]}: " if self.shard else ""
        print(f"{share}{len(mine)} jobs, {have} of them in {store.path}, {len(mine) - have} to run", file=sys.stderr)

        def watch(todo: Sequence[Job]) -> RunsDisplay:
            titles = [f"{job.source.name} {job.config.model} {job.config.notation}" for job in todo]
            return RunsDisplay(todo, titles, self.jobs)

        outcome = execute(mine, store, self.make_engine(), watch)
        report_failures(outcome)
        return outcome


def _shard_of(job: Job, shards: int) -> int:
    return int(job.key, 16) % shards + 1


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """``i/n`` with i from 1 to n.

    >>> parse_shard("2/8")
    (2, 8)
    """
    if text is None:
        return None
    own, slash, count = text.partition("/")
    if not slash or not own.isdigit() or not count.isdigit() or not 1 <= int(own) <= int(count):
        raise ValueError(f"--shard {text}: write i/n with i from 1 to n, such as 2/8")
    return int(own), int(count)


def report_failures(outcome: Outcome) -> None:
    for job, message in outcome.failed:
        line = " ".join(message.split())
        print(
            f"failed: {job.source.name} {job.config.model} {job.config.notation} split {job.seed}: {line}",
            file=sys.stderr,
        )


def end(outcome: Outcome) -> None:
    """Leave with the exit code of what happened: 130 after Ctrl-C, 1 after a failure."""
    if outcome.missing:
        print(f"stopped with {outcome.missing} jobs to go: the same command goes on from here", file=sys.stderr)
        sys.exit(130)
    if outcome.failed:
        sys.exit(1)


def chosen(names: Sequence[str], known: Sequence[str], what: str) -> list[str]:
    """Names as they were asked for, one by one, with commas, or ``all``."""
    wanted = [part for name in names for part in name.split(",") if part]
    for name in wanted:
        if name != "all" and name not in known:
            raise ValueError(f"there is no {what} {name!r}: choose from all, {', '.join(known)}")
    return [name for name in known if "all" in wanted or name in wanted]


def reproduce(
    datasets: Sequence[str],
    models: Sequence[str],
    splits: int,
    setting: Setting,
    protocol: Protocol,
    data_dir: str | None,
    show_only: bool = False,
) -> None:
    """Run the published configurations, print Table 1, and write it beside the store.

    With ``show_only`` nothing is run: the table is made of what the store holds.
    """
    names = chosen(datasets, list(paper.DATASETS), "dataset")
    rows = chosen(models, paper.MODELS, "model")
    if not names or not rows:
        raise ValueError("name at least one --dataset and one --model")
    if setting.tensorboard is not None:
        check_log_folder(setting.tensorboard)
    curves = None if setting.tensorboard is None else str(setting.tensorboard)
    start = time.perf_counter()
    sources, absent = available([Source(name, data_dir=data_dir) for name in names])
    for name, reason in absent.items():
        print(f"not run: {name}: {reason}", file=sys.stderr)
    todo = {
        (source.name, model): [
            Job(
                source,
                paper.published(model, source.name),
                protocol,
                seed,
                tensorboard=curves,
            )
            for seed in range(splits)
        ]
        for source in sources
        for model in rows
    }
    with Store(setting.store / STORE_FILE) as store:
        outcome = Outcome((), 0)
        if not show_only:
            outcome = setting.run([job for own in todo.values() for job in own], store)
        cells = [
            _cell(name, model, todo.get((name, model), []), store, absent.get(name)) for name in names for model in rows
        ]
    write_all(cells, setting.store)
    console = Console()
    for table in table1.tables(cells):
        console.print(table)
    print(table1.summary_line(cells))
    print(table1.VERDICTS)
    print(f"{time.perf_counter() - start:.0f} seconds; table1.md, .tex, .csv and .png are in {setting.store}")
    end(outcome)


def available(sources: Sequence[Source]) -> tuple[list[Source], dict[str, str]]:
    """Those graphs that can be had, and why the others cannot."""
    here, absent = [], {}
    for source in sources:
        try:
            source.load()
            here.append(source)
        except DataError as error:
            absent[source.name] = " ".join(str(error).split())
    return here, absent


def _cell(dataset: str, model: str, jobs: Sequence[Job], store: Store, absent: str | None) -> table1.Cell:
    results = store.results(jobs)
    why_not = "not run: data not at hand" if absent else "not run"
    return table1.Cell(dataset, model, Summary.of(results), sum(result["seconds"] for result in results), why_not)


def write_all(cells: Sequence[table1.Cell], folder: Path) -> None:
    """Table 1 as Markdown, LaTeX, CSV and a picture."""
    texts = {"md": table1.as_markdown, "tex": table1.as_latex, "csv": table1.as_csv}
    for ending, render in texts.items():
        _write(folder / f"table1.{ending}", render(cells))
    replace_file(folder / "table1.png", lambda path: draw(cells, path))


def _write(path: Path, text: str) -> None:
    replace_file(path, lambda partial: partial.write_text(text, encoding="utf-8"))
