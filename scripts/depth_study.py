"""Networks of 1 to 64 layers: accuracy, oversmoothing, what attention looks at, and cost. For results/wins.md.

    python scripts/depth_study.py cora citeseer pubmed --csv results/depth.csv --picture docs/images/depth.png

All networks are trained by the recommended protocol on the same splits. A row that is in the CSV file is not run again,
so the same command goes on where it was stopped; with --picture alone, it draws what the file holds.
"""

import argparse
import csv
import statistics
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from justjump.analysis.attention_statistics import attention_statistics
from justjump.data import NAMES, load
from justjump.experiments import paper
from justjump.nn import ModelConfig, NodeClassifier
from justjump.ops import Adjacency
from justjump.options import recommended
from justjump.train import Inputs, Protocol, TrainingWarning, fit, prepare

WINDOW = {"window": 4, "keep_first": True}
NETWORKS: dict[str, dict[str, Any]] = {
    "DNA, the paper's": {},
    "DNA, the paper's, window": WINDOW,
    "DNA, recommended": vars(recommended(ModelConfig)),
    "DNA, recommended, all attended to": vars(recommended(ModelConfig)) | {"window": None},
    "GCN": {"model": "gcn"},
    "GCN JK-Pool": {"model": "gcn", "jump": "pool"},
    "GCNII": {"model": "gcn", "update": "initial", "initial_share": 0.1, "identity": 0.5},
}
LAYERS = (1, 2, 4, 8, 16, 32, 64)


class Row(NamedTuple):
    """Means over the splits; the shares are means over edges and heads of the last layer.

    The megabytes are how far the memory of the process rises above where it was before training (Linux).
    """

    dataset: str
    network: str
    layers: int
    splits: int
    accuracy_mean: float
    accuracy_std: float
    validation: float
    epochs: float
    seconds_per_epoch: float
    megabytes: float
    energy: float
    to_first: float | None
    to_newest: float | None
    refused: float | None


def dirichlet_energy(h: Tensor, adj: Adjacency) -> float:
    """How much neighbours differ, beside how much any two nodes do: 0 if all nodes are alike, 1 if neighbours are as
    different as strangers. Rows are scaled to unit length before.
    """
    h = torch.nn.functional.normalize(h, dim=1)
    source, target = adj.edge_index
    apart = source != target
    between = (h[source[apart]] - h[target[apart]]).square().sum(1).mean()
    anywhere = 2 * (h - h.mean(0)).square().sum(1).mean()
    return float(between / anywhere) if anywhere > 1e-12 else 0.0


def shares(model: NodeClassifier, inputs: Inputs) -> tuple[float | None, float | None, float | None]:
    """What the last layer of a DNA network gives to h(0), to the newest representation and to none."""
    if model.config.model != "dna":
        return None, None, None
    boxes = {box.given_to: box.mean for box in attention_statistics(model, inputs)}
    return boxes.get(0), boxes.get(model.config.layers - 1), boxes[None]


def resident(field: str) -> float:
    """The megabytes that this process has in memory (VmRSS), or has had at its peak (VmHWM)."""
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith(field))
    return int(line.split()[1]) / 1024


def measured(dataset: str, name: str, layers: int, splits: int, data_dir: str | None) -> Row:
    warnings.simplefilter("ignore", TrainingWarning)
    graph = load(dataset, data_dir=data_dir)
    inputs = prepare(graph)
    config = ModelConfig(**NETWORKS[name] | {"layers": layers})
    fit(graph, ModelConfig(layers=1, hidden=16, groups=1), Protocol(max_epochs=1), progress=False)  # imports and data
    before = resident("VmRSS")
    runs = [fit(graph, config, recommended(Protocol), seed=seed, progress=False) for seed in range(splits)]
    megabytes = resident("VmHWM") - before
    tests = [100 * (run.test_accuracy or 0.0) for run in runs]
    for run in runs:
        run.model.eval()
    with torch.no_grad():
        energies = [
            dirichlet_energy(run.model.representations(inputs.x, inputs.adj).newest, inputs.adj) for run in runs
        ]
    seen = [shares(run.model, inputs) for run in runs]
    to = [statistics.fmean(one) if None not in one else None for one in zip(*seen, strict=True)]
    return Row(
        dataset,
        name,
        layers,
        splits,
        statistics.fmean(tests),
        statistics.stdev(tests) if splits > 1 else 0.0,
        statistics.fmean(100 * (run.val_accuracy or 0.0) for run in runs),
        statistics.fmean(run.epochs for run in runs),
        sum(run.seconds for run in runs) / sum(run.epochs for run in runs),
        megabytes,
        statistics.fmean(energies),
        *to,
    )


def read(path: Path) -> dict[tuple[str, str, int], dict[str, str]]:
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {(row["dataset"], row["network"], int(row["layers"])): row for row in csv.DictReader(file)}


def write(path: Path, row: Row) -> dict[str, str]:
    """Add a row to the file."""
    named = {
        name: "" if x is None else f"{x:.4g}" if isinstance(x, float) else str(x) for name, x in row._asdict().items()
    }
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, Row._fields, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(named)
    return named


def draw(rows: dict[tuple[str, str, int], dict[str, str]], path: Path) -> None:
    """Accuracy by depth, one picture per dataset and one line per network; what is far below leaves the frame."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    datasets = list(dict.fromkeys(dataset for dataset, _, _ in rows))
    figure, axes = plt.subplots(
        1, len(datasets), figsize=(4.2 * len(datasets), 4.2), squeeze=False, layout="constrained"
    )
    for axis, dataset in zip(axes[0], datasets, strict=True):
        for number, name in enumerate(NETWORKS):
            found = sorted(
                (layers, float(row["accuracy_mean"]))
                for (d, n, layers), row in rows.items()
                if (d, n) == (dataset, name)
            )
            if found:
                bold = name.startswith("DNA, recommended")
                axis.plot(
                    *zip(*found, strict=True),
                    marker="o",
                    ms=3.5,
                    lw=2.2 if bold else 1.2,
                    color=f"C{number}",
                    label=name,
                )
        axis.set_xscale("log", base=2)
        axis.set_xticks(LAYERS, [str(layers) for layers in LAYERS])
        best = max(float(row["accuracy_mean"]) for (d, _, _), row in rows.items() if d == dataset)
        axis.set_ylim(best - 6, best + 0.7)
        axis.set_title(paper.DATASETS[dataset].title)
        axis.set_xlabel("layers")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("test accuracy, %")
    lines = {line.get_label(): line for axis in axes[0] for line in axis.get_lines()}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", choices=[*NAMES, []], default=[])
    parser.add_argument("--layers", nargs="+", type=int, default=LAYERS)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--data-dir", help="folder with raw dataset files")
    parser.add_argument("--csv", type=Path, default=Path("depth.csv"))
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    rows = read(options.csv)
    for layers in options.layers:
        for dataset in options.datasets:
            for name in options.networks:
                if (dataset, name, layers) not in rows:
                    # A process of its own, because memory that was used once stays with a process.
                    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
                        asked = (dataset, name, layers, options.splits, options.data_dir)
                        row = fresh.submit(measured, *asked).result()
                    rows[dataset, name, layers] = write(options.csv, row)
                    print(" | ".join(rows[dataset, name, layers].values()), flush=True)
    if options.picture:
        draw(rows, options.picture)


if __name__ == "__main__":
    main()
