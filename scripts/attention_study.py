"""When does choosing beat averaging?

Makes graphs in which a node must choose what it takes from its neighbours, and compares attention that is learned with
equal shares, under rates of dropout and penalties that help or hinder the choice:

    python scripts/attention_study.py --seeds 3

In each graph, a node's feature "signal" names a class, and other features say what the signal is worth:

- distances: a node's class is the signal of itself, of its neighbours, or of theirs. A feature of the node says which.
- misleading: a node's class is the signal of those neighbours that are marked as honest; the others name any class.
- plain: a node's class is the majority of its neighbours' signals, as graph convolution expects. Nothing to choose.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from justjump.data import Graph
from justjump.nn import ModelConfig
from justjump.train import Protocol, fit

NODES, CLASSES, DEGREE = 2000, 4, 6
NETWORKS: dict[str, dict[str, Any]] = {
    "DNA": {},
    "DNA, equal shares": {"attention": "equal"},
    "GCN JK-Concat": {"model": "gcn", "jump": "concat"},
    "GAT JK-Concat": {"model": "gat", "jump": "concat"},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "attention dropout 0": {"attention_dropout": 0.0},
    "attention dropout 0, penalty 0": {"attention_dropout": 0.0, "weight_decay": 0.0},
    "attention dropout 0, layer norm": {"attention_dropout": 0.0, "norm": "layer", "norm_after": "relu"},
}


@dataclass(frozen=True)
class Made:
    """A random graph, undirected, with its edges as a list of neighbours, and the signal of each node."""

    edge_index: np.ndarray
    signal: np.ndarray
    random: np.random.Generator

    @classmethod
    def of(cls, seed: int) -> "Made":
        random = np.random.default_rng(seed)
        pairs = random.integers(NODES, size=(2, NODES * DEGREE // 2))
        pairs = pairs[:, pairs[0] != pairs[1]]
        return cls(np.concatenate([pairs, pairs[::-1]], 1), random.integers(CLASSES, size=NODES), random)

    def votes(self, weight: np.ndarray) -> np.ndarray:
        """The sum of the neighbours' rows. ``[N, C] -> [N, C]``"""
        out = np.zeros_like(weight)
        np.add.at(out, self.edge_index[1], weight[self.edge_index[0]])
        return out

    def graph(self, name: str, features: list[np.ndarray], labels: np.ndarray) -> Graph:
        x = np.column_stack(features).astype(np.float32)
        names = tuple(map(str, range(CLASSES)))
        return Graph(self.edge_index, x, labels.astype(np.int64), names, name=name)


def distances(seed: int) -> Graph:
    made = Made.of(seed)
    signal = np.eye(CLASSES)[made.signal]
    near = made.votes(signal)
    far = made.votes(near)
    which = made.random.integers(3, size=NODES)
    labels = np.choose(which, [made.signal, near.argmax(1), far.argmax(1)])
    return made.graph("distances", [signal, np.eye(3)[which]], labels)


def misleading(seed: int) -> Graph:
    made = Made.of(seed)
    honest = made.random.random(NODES) < 0.5
    signal = np.eye(CLASSES)[made.signal]
    labels = made.votes(signal * honest[:, None]).argmax(1)
    return made.graph("misleading", [signal, honest, ~honest], labels)


def plain(seed: int) -> Graph:
    made = Made.of(seed)
    signal = np.eye(CLASSES)[made.signal]
    return made.graph("plain", [signal], (made.votes(signal) + signal).argmax(1))


GRAPHS: dict[str, Callable[[int], Graph]] = {"distances": distances, "misleading": misleading, "plain": plain}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--graph", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    options = parser.parse_args()
    print(f"| graph | network | {' | '.join(SETTINGS)} |")
    print("|---|---|" + "---:|" * len(SETTINGS))
    base = {"layers": 2, "hidden": 64, "groups": 8, "patience": 100, "input_dropout": 0.0, "progress": False}
    protocol = Protocol(fractions=(0.4, 0.2, 0.4))
    for name in options.graph:
        for network, own in NETWORKS.items():
            cells = []
            for setting in SETTINGS.values():
                runs = [
                    fit(GRAPHS[name](seed), ModelConfig(), protocol, seed=seed, **base | own | setting)
                    for seed in range(options.seeds)
                ]
                accuracies = [100 * (run.test_accuracy or 0.0) for run in runs]
                cells.append(f"{np.mean(accuracies):.1f} ± {np.std(accuracies, ddof=min(1, len(runs) - 1)):.1f}")
            print(f"| {name} | {network} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
