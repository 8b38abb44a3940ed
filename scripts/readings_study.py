"""Which reading of the paper's protocol fits its figures?

Trains cells of Table 1 under each reading of justjump.experiments.readings, keeps the results in a store (the same
command goes on where it was stopped), and prints how well each reading fits:

    python scripts/readings_study.py --store study --data-dir DATA --splits 5 --dataset cora pubmed --model gcn dna

With --depth it trains instead GCN JK-None with one and two layers, of which the paper chose one:

    python scripts/readings_study.py --store study --data-dir DATA --depth
"""

import argparse
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from justjump.experiments import paper
from justjump.experiments.display import RunsDisplay
from justjump.experiments.execute import LocalEngine, execute
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.jobs import Job
from justjump.experiments.readings import READINGS, Reading
from justjump.experiments.reproduce import rows
from justjump.experiments.store import Store
from justjump.experiments.summary import Summary
from justjump.experiments.words import title
from justjump.nn import ModelConfig

Cell = tuple[str, str]  # a row of Table 1 and a dataset


def jobs(reading: Reading, config: ModelConfig, dataset: str, options: argparse.Namespace) -> list[Job]:
    spec = GraphSpec(dataset, data_dir=options.data_dir)
    network, training = reading.network(config), reading.training(config.model)
    return [Job(spec, network, training, seed) for seed in range(options.splits)]


def run(todo: Sequence[Job], options: argparse.Namespace) -> Store:
    store = Store(options.store / "results.sqlite", read_only=options.show)
    if options.show:
        return store
    outcome = execute(
        todo,
        store,
        LocalEngine(options.jobs),
        lambda missing: RunsDisplay(missing, [title(job) for job in missing], options.jobs),
    )
    for job, message in outcome.failed:
        print(f"failed: {title(job)}: {message}")
    return store


def compare_cells(options: argparse.Namespace) -> None:
    cells = [(model, dataset) for dataset in options.dataset for model in rows(options.model)]
    todo = {
        name: {(m, d): jobs(READINGS[name], paper.published(m, d), d, options) for m, d in cells}
        for name in options.reading
    }
    every = [job for own in todo.values() for group in own.values() for job in group]
    with run(every, options) as store:
        found = {n: {c: Summary.of(store.results(own)) for c, own in t.items()} for n, t in todo.items()}
    print(figures(cells, found) if options.figures else fit_table(found))


def fit_table(found: dict[str, dict[Cell, Summary | None]]) -> str:
    """How well each reading fits the cells that all readings have, the best fit first."""
    shared = set.intersection(*({cell for cell, s in own.items() if s is not None} for own in found.values()))
    lines = ["| reading | cells | mean diff | abs diff | rms z | within | largest std |", "|---|" + "---:|" * 6]
    ordered = []
    for name, own in found.items():
        pairs = [(s, paper.TABLE1[c[0]][c[1]]) for c, s in own.items() if s is not None and c in shared]
        if not pairs:
            continue
        differences = [s.mean - a.mean for s, a in pairs]
        absolute = sum(map(abs, differences)) / len(pairs)
        rms = math.sqrt(sum((d / a.std) ** 2 for d, (_, a) in zip(differences, pairs, strict=True)) / len(pairs))
        close = sum(abs(d) <= max(1.0, 2 * a.std) for d, (_, a) in zip(differences, pairs, strict=True))
        widest = max(s.std or 0.0 for s, _ in pairs)
        mean = sum(differences) / len(pairs)
        numbers = [f"{mean:+.2f}", f"{absolute:.2f}", f"{rms:.2f}", f"{close}", f"{widest:.2f}"]
        ordered.append((absolute, f"| {name} | {len(pairs)} | {' | '.join(numbers)} |"))
    return "\n".join(lines + [line for _, line in sorted(ordered)])


def figures(cells: list[Cell], found: dict[str, dict[Cell, Summary | None]]) -> str:
    """The accuracy of each cell under each reading, beside the paper's."""
    lines = [f"| cell | paper | {' | '.join(found)} |", "|---|" + "---:|" * (len(found) + 1)]
    for cell in cells:
        stated = paper.TABLE1[cell[0]][cell[1]]
        shown = ["-" if (s := own[cell]) is None else f"{s.mean:.2f} ± {s.std or 0:.2f}" for own in found.values()]
        lines.append(f"| {cell[1]} {cell[0]} | {stated.mean:.2f} ± {stated.std:.2f} | {' | '.join(shown)} |")
    return "\n".join(lines)


def compare_depth(options: argparse.Namespace) -> None:
    """GCN JK-None: the paper chose one layer in its grid on every dataset, so two must not be better."""
    networks = [replace(paper.published("gcn-none", "cora"), layers=n, groups=g) for g in (16, 1) for n in (1, 2)]
    todo = {
        (dataset, name): [jobs(READINGS[name], config, dataset, options) for config in networks]
        for dataset in options.dataset
        for name in options.reading
    }
    with run([job for own in todo.values() for group in own for job in group], options) as store:
        print(f"| dataset | paper | reading | {' | '.join(config.notation for config in networks)} |")
        print("|---|---:|---|" + "---:|" * len(networks))
        for (dataset, name), own in todo.items():
            summaries = [Summary.of(store.results(group)) for group in own]
            shown = ["-" if s is None else f"{s.mean:.2f} ± {s.std or 0:.2f}" for s in summaries]
            stated = paper.TABLE1["gcn-none"][dataset]
            print(f"| {dataset} | {stated.mean:.2f} ± {stated.std:.2f} | {name} | {' | '.join(shown)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="folder for the results")
    parser.add_argument("--data-dir", help="folder with raw dataset files")
    parser.add_argument("--dataset", nargs="+", default=["cora", "citeseer"], choices=list(paper.DATASETS))
    parser.add_argument("--model", nargs="+", default=["all"], help="rows of Table 1, or gcn, gat, dna")
    parser.add_argument("--reading", nargs="+", default=list(READINGS), choices=list(READINGS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--depth", action="store_true", help="GCN JK-None with one and two layers")
    parser.add_argument("--show", action="store_true", help="run nothing; show what the store holds")
    parser.add_argument("--figures", action="store_true", help="print the accuracies, not how well they fit")
    options = parser.parse_args()
    compare_depth(options) if options.depth else compare_cells(options)


if __name__ == "__main__":
    main()
