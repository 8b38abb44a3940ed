"""What options of a DNA network cost: the time of a training step beside the paper's of the same size.

    python scripts/options_speed.py --data-dir DATA cora pubmed amazon_photo amazon_computers

All networks of a dataset take their steps in turns, so that what else happens on the machine meets all of them. A row
is the ratio of the medians. For results/speed.md.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from justjump.data import Graph, load
from justjump.nn import ModelConfig, NodeClassifier
from justjump.options import recommended
from justjump.train import Inputs, Protocol, prepare
from justjump.train.epochs import train_epoch
from justjump.train.objective import Objective
from justjump.train.optimizer import make_optimizer
from justjump.train.part import Part
from justjump.train.process import keep_memory, one_torch_thread
from justjump.train.start import default_split

NETWORKS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "**recommended**": vars(recommended(ModelConfig)),
    "initial residual": {"update": "initial"},
    "residual": {"update": "residual"},
    "root term": {"update": "skip"},
    "layer norm after the sum": {"norm": "layer"},
    "layer norm after ReLU": {"norm": "layer", "norm_after": "relu"},
    "batch norm after the sum": {"norm": "batch"},
    "concatenation": {"jump": "concat"},
    "biased attention": {"attention": "biased"},
    "normalised queries and keys": {"qk_norm": True},
    "edges dropped (0.2)": {"drop_edge": 0.2},
    "dropout between layers": {"layer_dropout": 0.5},
    "identity mapping": {"identity": 0.5},
}


def stepper(config: ModelConfig, graph: Graph, inputs: Inputs) -> Callable[[], float]:
    """A step of training, which gives the seconds that it took."""
    torch.manual_seed(0)
    split = default_split(graph, Protocol(), 0)
    model = NodeClassifier(config, graph.num_features, graph.num_classes)
    optimizer = make_optimizer(model, Protocol(), len(split.train))
    part, objective = Part.of(inputs, split.train), Objective.of(graph, split, False)

    def step() -> float:
        start = time.perf_counter()
        train_epoch(model, optimizer, inputs, part, objective)
        return time.perf_counter() - start

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--data-dir", help="folder with raw dataset files")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30, help="steps of each network")
    options = parser.parse_args()
    keep_memory()
    columns: list[list[float]] = []
    with one_torch_thread():
        for name in options.datasets:
            graph = load(name, data_dir=options.data_dir)
            inputs = prepare(graph)
            steps = [
                stepper(ModelConfig(**own | {"layers": options.layers}), graph, inputs) for own in NETWORKS.values()
            ]
            for step in steps:  # the first steps take memory and sort the graph
                step(), step()
            times: list[list[float]] = [[] for _ in steps]
            for _ in range(options.steps):
                for step, own_times in zip(steps, times, strict=True):
                    own_times.append(step())
            columns.append([statistics.median(own_times) for own_times in times])
    print(f"| {options.layers}/128/16/8 | {' | '.join(options.datasets)} |")
    print("|---|" + "---:|" * len(options.datasets))
    for row, title in enumerate(NETWORKS):
        cells = [f"{1000 * column[0]:.1f} ms" if row == 0 else f"{column[row] / column[0]:.2f}" for column in columns]
        print(f"| {title} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
