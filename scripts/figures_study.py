"""Do the sentences of the paper's Figures 2 and 3 hold? The tables and pictures of results/figures.md.

Trains DNA and GCN JK-Pool with five layers on ten splits of Cora, and measures how much influence comes from each
distance, and what the last layer of DNA attends to. They are trained by a reading of the paper's protocol, by default
the one that fits its figures best. Runs are kept in a folder, and the same command goes on where it was stopped:

    python scripts/figures_study.py --runs figures --nodes 300
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from justjump.analysis.attention import attention_blocks
from justjump.analysis.attention_statistics import attention_statistics
from justjump.analysis.figures import attention_figure, reach_figure
from justjump.analysis.jacobian import influences
from justjump.analysis.receptive_field import ReceptiveFields
from justjump.data import Graph, load
from justjump.experiments.readings import DEFAULT, READINGS, Reading
from justjump.nn import ModelConfig
from justjump.train import Inputs, Run, fit, prepare

NETWORKS = {
    "DNA": ModelConfig("dna", layers=5, hidden=128, heads=8, groups=16),
    "GCN JK-Pool": ModelConfig("gcn", layers=5, hidden=128, groups=16, jump="pool"),
}
LATE = (3, 4)  # of h(0) to h(4), those that the last layer could call later


@dataclass(frozen=True, eq=False)
class Spread:
    """Of some nodes, the influence by distance, and the share of the node itself with the strongest other node."""

    fields: ReceptiveFields
    top_two: np.ndarray


def spread(run: Run, inputs: Inputs, nodes: np.ndarray) -> Spread:
    found = list(influences(run.model, inputs, nodes))
    top_two = np.array([one.share[0] + (one.share[1:].max() if len(one.share) > 1 else 0.0) for one in found])
    return Spread(ReceptiveFields.of(found, run.config.layers), top_two)


def attended(run: Run, inputs: Inputs, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The share of each former representation in the last layer: of all edges, and of the edges into each node."""
    total = torch.zeros(nodes, run.config.layers + 1)
    edges = torch.zeros(nodes)
    for block in attention_blocks(run.model, inputs):
        share = torch.cat([block.weight, block.refused[:, None]], dim=1).mean(2)  # [e, T + 1]
        total.index_add_(0, block.target.long(), share)
        edges.index_add_(0, block.target.long(), torch.ones(len(share)))
    return (total.sum(0) / edges.sum()).numpy(), (total / edges[:, None]).numpy()


def percent(values: Sequence[float]) -> str:
    """Mean and standard deviation over the splits."""
    shares = 100 * np.array(values)
    return f"{shares.mean():.1f} ± {shares.std(ddof=1):.1f}" if len(shares) > 1 else f"{shares.mean():.1f}"


def print_influence(spreads: dict[str, list[Spread]], layers: int) -> None:
    hops = " | ".join(map(str, range(layers + 1)))
    print(f"\n| network | {hops} | node and strongest other | nodes that hold 90 % |")
    print("|---|" + "---:|" * (layers + 3))
    for name, own in spreads.items():
        if not own:
            continue
        by_hop = [percent([float(one.fields.by_hop[:, hop].mean()) for one in own]) for hop in range(layers + 1)]
        top = percent([float(np.median(one.top_two)) for one in own])
        held = np.mean([np.median(one.fields.field) for one in own])
        print(f"| {name} | {' | '.join(by_hop)} | {top} | {held:.0f} |")


def print_attention(shares: list[tuple[np.ndarray, np.ndarray]], layers: int) -> None:
    print(f"\n| | {' | '.join(f'h({s})' for s in range(layers))} | refused |")
    print("|---|" + "---:|" * (layers + 1))
    means = [percent([float(mean[place]) for mean, _ in shares]) for place in range(layers + 1)]
    print(f"| mean share over edges and heads | {' | '.join(means)} |")
    first = [percent([float((own[:, :layers].argmax(1) == s).mean()) for _, own in shares]) for s in range(layers)]
    print(f"| nodes that attend to it most | {' | '.join(first)} | |")
    for least in (0.5, 0.6, 0.75):
        late = [float((own[:, LATE].sum(1) > least * own[:, :layers].sum(1)).mean()) for _, own in shares]
        print(f"\nnodes with more than {least:.0%} of what they attend to in h(3) and h(4): {percent(late)} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="folder for the trained networks")
    parser.add_argument("--reading", default=DEFAULT, choices=list(READINGS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=300, help="number of test nodes of each split to look at")
    parser.add_argument("--pictures", type=Path, help="folder for the pictures")
    options = parser.parse_args()
    cora, layers = load("cora"), 5
    inputs = prepare(cora)
    everywhere: dict[str, list[Spread]] = {name: [] for name in NETWORKS}
    rescued: dict[str, list[Spread]] = {name: [] for name in NETWORKS}
    shares, accuracy = [], {name: [] for name in NETWORKS}  # type: ignore[var-annotated]
    runs: dict[str, Run] = {}
    for seed in range(options.splits):
        runs = {name: trained(cora, name, seed, options.runs, READINGS[options.reading]) for name in NETWORKS}
        test = np.asarray(runs["DNA"].split.test)  # type: ignore[union-attr]
        some = np.random.default_rng(seed).permutation(test)[: options.nodes]
        right = {name: run.predict(cora).classes[test] == cora.labels[test] for name, run in runs.items()}
        only_dna = test[right["DNA"] & ~right["GCN JK-Pool"]][: options.nodes]
        for name, run in runs.items():
            accuracy[name].append(float(right[name].mean()))
            everywhere[name].append(spread(run, inputs, some))
            rescued[name].append(spread(run, inputs, only_dna))
        shares.append(attended(runs["DNA"], inputs, cora.num_nodes))
        print(f"split {seed}: {len(only_dna)} test nodes that DNA alone has right", flush=True)
    for name, values in accuracy.items():
        print(f"test accuracy of {name}: {percent(values)}")
    print("\nShare of the influence by distance, of random test nodes:")
    print_influence(everywhere, layers)
    print("\nThe same, of test nodes that DNA alone has right:")
    print_influence(rescued, layers)
    print("\nWhat the last layer of DNA attends to:")
    print_attention(shares, layers)
    if options.pictures is not None:
        draw(runs["DNA"], inputs, everywhere, options.pictures)


def trained(graph: Graph, name: str, seed: int, folder: Path, reading: Reading) -> Run:
    config = NETWORKS[name]
    output = folder / name.replace(" ", "-") / str(seed)
    protocol = reading.training(config.model)
    return fit(graph, reading.network(config), protocol, seed=seed, output=output, progress=False)


def draw(run: Run, inputs: Inputs, spreads: dict[str, list[Spread]], folder: Path) -> None:
    """The influence of all splits together, and the attention of the last layer of the last split."""
    folder.mkdir(parents=True, exist_ok=True)
    fields = [ReceptiveFields.joined([one.fields for one in own]) for own in spreads.values()]
    figure = reach_figure(fields, list(spreads), "Influence on test nodes of Cora, five layers")
    figure.savefig(folder / "influence.png", dpi=150)
    boxes = attention_statistics(run.model, inputs)
    attention_figure([("", boxes)], "What the last of five layers attends to, Cora").savefig(
        folder / "attention.png", dpi=150
    )


if __name__ == "__main__":
    main()
