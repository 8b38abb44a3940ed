"""The recommended network beside the paper's, its controls and logistic regression. The tables of results/wins.md.

    python scripts/wins_study.py cora citeseer wordnet.npz made --runs study --csv results/wins.csv

A graph is the name of one of the paper's datasets, or a file or folder that justjump reads; `made` stands for six
graphs that are made here, on most of which neighbours mislead, and "random edges" is one of them. `linear` stands for
those of linear_graphs.py, whose labels are linear in the features and have nothing to do with edges. With
`--models paper-start paper-update ...`, the recommended network has the paper's value of one option. Runs are kept in
a folder, and the same command goes on where it was stopped.

The tuned networks are those of justjump.experiments.tuned. With several models, the last table has the difference of
each to the first one, split by split, with its standard error.
"""

import argparse
import csv
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from justjump.data import NAMES, Graph, load, read_graph
from justjump.experiments import paper
from justjump.experiments.tuned import TUNED, tuned
from justjump.nn import ModelConfig
from justjump.options import changed, recommended
from justjump.train import Protocol, TrainingWarning, fit
from justjump.train.start import default_split
from linear_graphs import KINDS, linear_graph

MODELS = ("dna-recommended", "dna-equal", "gcn-recommended", "dna-paper", "logreg")
TUNED_MODELS = tuple(f"{kind}-tuned" for kind in TUNED)
CHANGES: dict[str, dict[str, Any]] = {
    "dna-recommended": {},
    "dna-equal": {"attention": "equal"},
    "gcn-recommended": {"model": "gcn"},
    # The ablation: the recommended network with the paper's value of one option.
    **{
        f"paper-{one.name}": {one.name: one.default}
        for kind in (ModelConfig, Protocol)
        for one in fields(kind)
        if one.metadata["recommended"] != one.default and one.name not in ("initial_share", "identity", "window")
    },
}


def network(model: str, graph: str) -> tuple[ModelConfig, Protocol]:
    if model == "dna-paper":
        config = paper.published("dna-g16", graph) if graph in paper.TABLE1["dna-g16"] else ModelConfig()
        return config, Protocol()
    if model in TUNED_MODELS:
        return tuned(graph, model.partition("-")[0])
    config = changed(recommended(ModelConfig), CHANGES[model], ModelConfig, Protocol)
    protocol = changed(recommended(Protocol), CHANGES[model], ModelConfig, Protocol)
    return config, protocol


@dataclass(frozen=True)
class Made:
    """A graph of 2,000 nodes in five classes.

    Args:
        degree: the number of edges that each node draws
        share: the share of the edges that depend on classes; the others are random
        step: such an edge leads from class c to class c + step; 0 is homophily, and None any class but c
        strength: how far apart the features of the classes are
    """

    degree: int
    share: float
    step: int | None
    strength: float

    def graph(self, name: str, nodes: int = 2000, classes: int = 5, columns: int = 32) -> Graph:
        rng = np.random.default_rng(0)
        labels = rng.integers(0, classes, nodes)
        source = np.repeat(np.arange(nodes), self.degree)
        step = rng.integers(1, classes, len(source)) if self.step is None else self.step
        wanted = (labels[source] + step) % classes
        by_class = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels, minlength=classes)
        chosen = by_class[(np.cumsum(sizes) - sizes)[wanted] + rng.integers(0, sizes[wanted])]
        target = np.where(rng.random(len(source)) < self.share, chosen, rng.integers(0, nodes, len(source)))
        pairs = np.stack([source, target])[:, source != target]
        means = rng.normal(size=(classes, columns)) * self.strength * 2 / columns**0.5
        return Graph(
            edge_index=np.unique(np.concatenate([pairs, pairs[::-1]], axis=1), axis=1),
            features=(means[labels] + rng.normal(size=(nodes, columns))).astype(np.float32),
            labels=labels,
            class_names=tuple("abcde"[:classes]),
            name=name,
        )


MADE = {
    "random edges": Made(4, 0.0, 0, 1.6),
    "many random edges": Made(30, 0.0, 0, 1.6),
    "edges to other classes": Made(4, 0.9, None, 1.2),
    "edges to the next class": Made(4, 0.8, 1, 1.0),
    "two of three edges random": Made(6, 0.33, 0, 1.2),
    "edges within classes": Made(3, 0.7, 0, 0.8),
}


def find(names: list[str]) -> Iterator[Graph]:
    for name in names:
        if name == "made" or name in MADE:
            yield from (made.graph(title) for title, made in MADE.items() if name in ("made", title))
        elif name == "linear" or name in KINDS:
            yield from (linear_graph(title) for title in KINDS if name in ("linear", title))
        else:
            yield load(name) if name in NAMES else read_graph(name)


def logistic_regression(graph: Graph, seed: int) -> float:
    """Its test accuracy on the features, with the strength of the penalty that is best on validation."""
    from sklearn.linear_model import LogisticRegression

    split = default_split(graph, Protocol(), seed)
    x: Any = graph.features  # a matrix, which a Table is not
    y = graph.labels
    tried = []
    for strength in (0.01, 0.1, 1.0, 10.0, 100.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a penalty with which it does not converge is not chosen
            model = LogisticRegression(C=strength, max_iter=300).fit(x[split.train], y[split.train])
        tried.append((model.score(x[split.val], y[split.val]), -strength, model))
    return float(max(tried, key=lambda one: one[:2])[2].score(x[split.test], y[split.test]))


class Row(NamedTuple):
    dataset: str
    model: str
    config: str
    splits: str
    accuracy_mean: str
    accuracy_std: str


def rows(options: argparse.Namespace, found_in: dict[tuple[str, str], list[float]]) -> Iterator[Row]:
    first, last = (int(number) for number in options.splits.split("-"))
    for graph in find(options.graphs):
        for model in options.models:
            found: list[float] = []
            found_in[graph.name, model], config = found, "features"
            for seed in range(first, last + 1):
                if model == "logreg":
                    found.append(logistic_regression(graph, seed))
                    continue
                used, protocol = network(model, graph.name)
                folder = options.runs / graph.name.replace(" ", "-") / model / str(seed)
                run = fit(graph, used, protocol, seed=seed, output=folder, progress=False)
                found.append(run.test_accuracy or 0.0)
                config = used.notation
            mean, std = 100 * np.mean(found), 100 * np.std(found, ddof=1) if len(found) > 1 else 0.0
            yield Row(graph.name, model, config, options.splits, f"{mean:.2f}", f"{std:.2f}")


def differences(found: dict[tuple[str, str], list[float]], models: Sequence[str]) -> Iterator[str]:
    """The first model less each of the others, on the same splits."""
    for graph in dict.fromkeys(graph for graph, _ in found):
        for other in models[1:]:
            apart = 100 * (np.array(found[graph, models[0]]) - np.array(found[graph, other]))
            error = apart.std(ddof=1) / len(apart) ** 0.5 if len(apart) > 1 else float("nan")
            yield f"| {graph} | {models[0]} - {other} | {apart.mean():+.2f} | {error:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--models", nargs="+", choices=[*MODELS, *CHANGES, *TUNED_MODELS], default=MODELS)
    parser.add_argument("--splits", default="5-14", help="the seeds of the splits; 0 to 4 chose what is recommended")
    parser.add_argument("--runs", type=Path, default=Path("wins-study"))
    parser.add_argument("--csv", type=Path, help="a file with one row per graph and model; rows of other graphs stay")
    options = parser.parse_args()
    warnings.simplefilter("ignore", TrainingWarning)
    kept: dict[tuple[str, str], Row] = {}
    if options.csv and options.csv.exists():
        with options.csv.open(newline="") as file:
            kept = {(row["dataset"], row["model"]): Row(**row) for row in csv.DictReader(file)}
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows(options, found):
        print(f"| {' | '.join(row)} |", flush=True)
        kept[row.dataset, row.model] = row
        if options.csv:
            with options.csv.open("w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows([Row._fields, *kept.values()])
    if len(options.models) > 1:
        print("\n".join(["", "| graph | difference | mean | standard error |", "|---|---|---:|---:|"]))
        print("\n".join(differences(found, options.models)))


if __name__ == "__main__":
    main()
