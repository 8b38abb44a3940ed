"""Which dropout suits columns of numbers? The table of results/wins.md on dropout on the input.

    python scripts/columns_study.py

Graphs of 1,500 nodes are made whose classes are three intervals of a random direction, three clouds, or the number
itself. Each line has the validation value and the test value for each pair of rates, and that of a linear model.
"""

import warnings
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LinearRegression, LogisticRegression
from torch_geometric.data import Data

from justjump.train import fit

NODES, CLASSES, SPLITS = 1500, 3, (0, 1)
CASES = (
    *((2, "clouds", "random"), (2, "clouds", "next"), (3, "interval", "random"), (3, "interval", "within")),
    *((5, "clouds", "within"), (6, "interval", "next"), (8, "clouds", "random"), (12, "interval", "random")),
    *((12, "clouds", "within"), (20, "interval", "next"), (32, "interval", "random"), (32, "interval", "within")),
    *((3, "number", "random"), (12, "number", "random"), (30, "number", "within")),
)
RATES = ((0.5, 0.5), (0.2, 0.5), (0.0, 0.5), (0.0, 0.2), (0.0, 0.0))  # on the input, in the layers


def made(columns: int, kind: str, edges: str, seed: int = 7) -> Data:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(NODES, columns))
    direction = rng.normal(size=columns)
    number = x @ (direction / np.linalg.norm(direction))
    if kind == "clouds":
        labels = rng.integers(0, CLASSES, NODES)
        x = x + 1.2 * rng.normal(size=(CLASSES, columns))[labels]
    else:
        labels = np.digitize(number + (0.15 if kind == "interval" else 0.3) * rng.normal(size=NODES), [-0.43, 0.43])
    source = np.repeat(np.arange(NODES), 4)
    members = [np.flatnonzero(labels == one) for one in range(CLASSES)]
    anyone = rng.integers(0, NODES, len(source))
    same = np.array([rng.choice(members[labels[node]]) for node in source])
    after = np.array([rng.choice(members[(labels[node] + 1) % CLASSES]) for node in source])
    chosen = rng.random(len(source)) < 0.7
    target = {"random": anyone, "within": np.where(chosen, same, anyone), "next": np.where(chosen, after, anyone)}[
        edges
    ]
    pairs = np.stack([np.r_[source, target], np.r_[target, source]])
    y: Any = labels if kind != "number" else (2 * number + 0.3 * rng.normal(size=NODES)).astype(np.float32)
    return Data(
        x=torch.tensor(x, dtype=torch.float32),
        edge_index=torch.tensor(pairs[:, pairs[0] != pairs[1]]),
        y=torch.tensor(y),
    )


def main() -> None:
    warnings.simplefilter("ignore")
    for case in CASES:
        data, measure = made(*case), "r2" if case[1] == "number" else "accuracy"
        cells, runs = [], []
        for on_input, in_layers in RATES:
            options: Any = {"input_dropout": on_input, "dropout": in_layers, "progress": False}
            runs = [fit(data, seed=seed, **options) for seed in SPLITS]
            val, test = (np.mean([run.measures[role][measure] for run in runs]) for role in ("val", "test"))
            cells.append(f"{val:.3f} ({test:.3f})")
        linear: Any = LinearRegression if measure == "r2" else LogisticRegression
        x, y, scores = data.x.numpy(), data.y.numpy(), []
        for run in runs:
            assert run.split is not None
            train, rest = run.split.train, run.split.test
            scores.append(linear().fit(x[train], y[train]).score(x[rest], y[rest]))
        print(f"| {', '.join(map(str, case))} | {' | '.join(cells)} | {np.mean(scores):.3f} |", flush=True)


if __name__ == "__main__":
    main()
