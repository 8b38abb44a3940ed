"""How long does training stay on the plateau on which it starts, and why?

A network that says the same of all nodes has the loss of the class frequencies. This counts the epochs until the
training loss is below 90 % of that, for several starts and depths, and measures how far the nodes are apart in the last
representation before training (the mean over the channels of their standard deviation over the nodes):

    python scripts/plateau_study.py --data-dir DATA --dataset cora amazon_photo wordnet.npz --layers 1 4 16 --seeds 3

A dataset is one of the paper's, or a file or folder that justjump reads. With --sizes, it measures instead how large
each representation is beside h(0) before training.
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import torch

from justjump.data import NAMES, Graph, load, read_graph
from justjump.nn import ModelConfig, NodeClassifier
from justjump.nn.config import Start
from justjump.ops import SparseMatrix
from justjump.options import recommended
from justjump.train import Protocol, fit
from justjump.train.checkpoint import Progress
from justjump.train.inputs import prepare
from justjump.train.objective import Objective
from justjump.train.start import default_split

STARTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "recommended": {**vars(recommended(ModelConfig)), "decay_nodes": recommended(Protocol).decay_nodes},
    "paper, rate 0.01": {"learning_rate": 0.01},
    "paper, no attention dropout": {"attention_dropout": 0.0},
    "scaled": {"start": "scaled"},
    "scaled, no attention dropout": {"start": "scaled", "attention_dropout": 0.0},
    "scaled, attention dropout rises": {"start": "scaled", "attention_warmup": 50},
    "equal": {"attention": "equal"},
    "layer norm": {"norm": "layer", "norm_after": "relu"},
    "concat": {"jump": "concat"},
    "GCN": {"model": "gcn"},
}


def find(name: str, data_dir: str | None) -> Graph:
    return load(name, data_dir=data_dir) if name in NAMES else read_graph(name)


def leave(limit: float, found: list[int]) -> Callable[[Progress], None]:
    """Ends training in the epoch whose loss is below the limit."""

    def on_epoch(progress: Progress) -> None:
        if progress.loss[-1] < limit:
            found.append(progress.epoch)
            raise KeyboardInterrupt

    return on_epoch


def epochs_on_plateau(graph: Graph, options: dict[str, Any], seed: int, most: int) -> int:
    """The epoch in which training leaves the plateau, or ``most`` if it does not."""
    train = default_split(graph, Protocol(), seed).train
    constant = Objective().constant_loss(torch.from_numpy(graph.labels[train]))
    found: list[int] = []
    training = {"patience": most, "max_epochs": most, **options}
    fit(graph, ModelConfig(), Protocol(), seed=seed, progress=False, on_epoch=leave(0.9 * constant, found), **training)
    return found[0] if found else most


def spread(graph: Graph, options: dict[str, Any]) -> float:
    """How far the nodes are apart in the last representation of an untrained network."""
    torch.manual_seed(0)
    inputs = prepare(graph)
    config = {name: value for name, value in options.items() if name in ModelConfig.__dataclass_fields__}
    model = NodeClassifier(ModelConfig(**config), inputs.x.shape[1], graph.num_classes).eval()
    x: torch.Tensor | SparseMatrix = inputs.x
    with torch.no_grad():
        return float(model.representations(x, inputs.adj).newest.std(0).mean())


def print_sizes(name: str, graph: Graph, seeds: int) -> None:
    """The mean distance of a row of h(t) from the mean row, divided by that of h(0), for four layers."""
    inputs = prepare(graph)
    starts: list[tuple[str, Start, bool]] = [
        ("paper", "paper", True),
        ("paper, biases set to zero", "paper", False),
        ("scaled", "scaled", True),
    ]
    for title, start, biases in starts:
        rows = []
        for seed in range(seeds):
            torch.manual_seed(seed)
            model = NodeClassifier(ModelConfig(jump="concat", start=start), inputs.x.shape[1], graph.num_classes).eval()
            with torch.no_grad():
                for parameter in () if biases else [p for key, p in model.convs.named_parameters() if "bias" in key]:
                    parameter.zero_()
                history = model.representations(inputs.x, inputs.adj)
            found = [(history[t] - history[t].mean(0)).norm(dim=1).mean() for t in range(5)]
            rows.append([float(size / found[0]) for size in found[1:]])
        means = [statistics.mean(column) for column in zip(*rows, strict=True)]
        print(f"| {name} | {title} | {' | '.join(f'{mean:.2f}' for mean in means)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder with raw dataset files")
    parser.add_argument("--dataset", nargs="+", default=["cora"])
    parser.add_argument("--layers", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--start", nargs="+", default=list(STARTS), choices=list(STARTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--most", type=int, default=300, help="epochs after which a run is given up")
    parser.add_argument(
        "--sizes", action="store_true", help="measure representations before training, and train nothing"
    )
    options = parser.parse_args()
    if options.sizes:
        for dataset in options.dataset:
            print_sizes(dataset, find(dataset, options.data_dir), options.seeds)
        return
    print(f"| dataset | start | {' | '.join(f'{n} layers' for n in options.layers)} |")
    print("|---|---|" + "---:|" * len(options.layers))
    for dataset in options.dataset:
        graph = find(dataset, options.data_dir)
        for name in options.start:
            cells = []
            for layers in options.layers:
                asked = {**STARTS[name], "layers": layers}
                found = [epochs_on_plateau(graph, asked, seed, options.most) for seed in range(options.seeds)]
                middle = statistics.median(found)
                cells.append(f"{'>' * (middle >= options.most)}{middle:g} ({spread(graph, asked):.2g})")
            print(f"| {dataset} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
