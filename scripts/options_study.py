"""What one option changes: validation accuracy of the recommended network with it. For results/wins.md.

    python scripts/options_study.py cora citeseer made --runs study

Each figure is the mean over splits of the difference to the recommended network on the same split, in points, with its
standard error. Test accuracies are not looked at. Runs are kept in a folder, and the same command goes on where it was
stopped. Graphs are named as for wins_study.py.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from justjump.data import Graph
from justjump.train import TrainingWarning, fit
from wins_study import find

ALL_EPOCHS: dict[str, Any] = {"stop": "never", "max_epochs": 200}
CHANGES: dict[str, dict[str, Any]] = {
    "one layer": {"layers": 1},
    "three layers": {"layers": 3},
    "four layers": {"layers": 4},
    "hidden 64": {"hidden": 64},
    "hidden 256": {"hidden": 256},
    "hidden 512": {"hidden": 512},
    "one group": {"groups": 1},
    "the paper's start": {"start": "paper"},
    "attention without biases": {"attention": "learned"},
    "biases alone": {"attention": "steps"},
    "equal shares": {"attention": "equal"},
    "normalised queries and keys": {"qk_norm": True},
    "attention dropout 0": {"attention_dropout": 0.0},
    "attention dropout 0.5": {"attention_dropout": 0.5},
    "attention dropout 0.8": {"attention_dropout": 0.8},
    "attention dropout rises over 50 epochs": {"attention_warmup": 50},
    "no update": {"update": "none"},
    "root term": {"update": "skip"},
    "residual": {"update": "residual"},
    "identity mapping 0.5": {"identity": 0.5},
    "concatenation": {"jump": "concat"},
    "pooling": {"jump": "pool"},
    "layer norm after the sum": {"norm": "layer"},
    "layer norm after ReLU": {"norm": "layer", "norm_after": "relu"},
    "batch norm after the sum": {"norm": "batch"},
    "dropout between layers 0.3": {"layer_dropout": 0.3},
    "edges dropped 0.3": {"drop_edge": 0.3},
    "learning rate 0.01": {"learning_rate": 0.01},
    "warm-up of 20 epochs": {"warmup": 20},
    "200 epochs": ALL_EPOCHS,
    "200 epochs, cosine": {**ALL_EPOCHS, "schedule": "cosine"},
    "AdamW, 0.05": {"optimizer": "adamw", "weight_decay": 0.05},
    "no penalty": {"weight_decay": 0.0},
    "no penalty on the input map": {"input_weight_decay": 0.0},
    "penalty not on biases": {"decay": "weights"},
    "average of the weights 0.95": {"average": 0.95},
    "patience on accuracy": {"watch": "accuracy", "pick": "loss"},
    "self-training 1": {"self_training": 1.0},
}


def accuracies(graph: Graph, name: str, change: dict[str, Any], options: argparse.Namespace) -> np.ndarray:
    """On the validation nodes of each split, in percent."""
    folder = options.runs / graph.name.replace(" ", "-") / name.replace(" ", "-")
    runs = (
        fit(graph, seed=seed, output=folder / str(seed), progress=False, **change) for seed in range(options.splits)
    )
    return np.array([100 * (run.val_accuracy or 0.0) for run in runs])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--changes", nargs="+", choices=list(CHANGES), default=list(CHANGES))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--runs", type=Path, default=Path("options-study"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", TrainingWarning)
    graphs = list(find(options.graphs))
    base = {graph.name: accuracies(graph, "recommended", {}, options) for graph in graphs}
    print(f"| | {' | '.join(base)} | mean |\n|---|{'---:|' * (len(base) + 1)}")
    print(f"| recommended | {' | '.join(f'{own.mean():.2f}' for own in base.values())} | |", flush=True)
    for name in options.changes:
        apart = [accuracies(graph, name, CHANGES[name], options) - base[graph.name] for graph in graphs]
        errors = [own.std(ddof=1) / len(own) ** 0.5 if len(own) > 1 else float("nan") for own in apart]
        cells = [f"{own.mean():+.2f} ± {error:.2f}" for own, error in zip(apart, errors, strict=True)]
        print(f"| {name} | {' | '.join(cells)} | {np.mean([own.mean() for own in apart]):+.2f} |", flush=True)


if __name__ == "__main__":
    main()
