"""The numbers of the paper (Fey, 2019): grids, published configurations, Table 1 and Table 2.

They are written nowhere else: everything that compares with the paper reads them from here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, cast, get_args

from justjump.nn import ModelConfig
from justjump.nn.config import Jump, Model


class Accuracy(NamedTuple):
    """Test accuracy in percent over 10 random splits."""

    mean: float
    std: float


@dataclass(frozen=True)
class DatasetStatistics:
    """A row of Table 2; edges are undirected."""

    title: str
    nodes: int
    edges: int
    features: int
    classes: int


# Table 2
DATASETS: dict[str, DatasetStatistics] = {
    "cora": DatasetStatistics("Cora", 2_708, 5_278, 1_433, 7),
    "citeseer": DatasetStatistics("CiteSeer", 3_327, 4_552, 3_703, 6),
    "pubmed": DatasetStatistics("PubMed", 19_717, 44_324, 500, 3),
    "cora_full": DatasetStatistics("Cora Full", 19_793, 63_421, 8_710, 70),
    "coauthor_cs": DatasetStatistics("Coauthor CS", 18_333, 81_894, 6_805, 15),
    "coauthor_physics": DatasetStatistics("Coauthor Physics", 34_493, 247_962, 8_415, 5),
    "amazon_computers": DatasetStatistics("Amazon Computers", 13_752, 245_861, 767, 10),
    "amazon_photo": DatasetStatistics("Amazon Photo", 7_650, 119_081, 745, 8),
}

MODELS = (
    *(f"{model}-{jump}" for model in ("gcn", "gat") for jump in get_args(Jump)),
    *(f"dna-g{groups}" for groups in (1, 8, 16)),
)

SPLITS = 10


def _accuracies(row: str) -> dict[str, Accuracy]:
    cells = row.split("  ")
    return {name: Accuracy(*map(float, cell.split())) for name, cell in zip(DATASETS, cells, strict=True)}


# Table 1, columns in the order of Table 2
TABLE1: dict[str, dict[str, Accuracy]] = {
    model: _accuracies(row)
    for model, row in {
        "gcn-none": "83.20 0.98  73.87 0.81  86.93 0.25  62.55 0.60  92.90 0.14  95.90 0.16  89.32 0.20  93.11 0.27",
        "gcn-concat": "83.99 0.72  73.77 0.89  87.52 0.25  65.62 0.49  95.44 0.32  96.71 0.15  90.27 0.28  94.74 0.29",
        "gcn-pool": "84.36 0.62  73.86 0.97  87.61 0.27  65.14 0.81  95.47 0.21  96.74 0.17  90.30 0.37  94.64 0.24",
        "gcn-lstm": "80.46 0.88  72.92 0.69  87.38 0.29  55.39 0.40  94.40 0.28  96.55 0.08  90.06 0.23  94.54 0.30",
        "gat-none": "86.35 0.74  73.70 0.53  86.76 0.25  65.70 0.32  93.54 0.17  96.21 0.08  88.02 1.39  93.00 0.42",
        "gat-concat": "84.70 0.57  73.97 0.46  88.73 0.30  66.18 0.47  95.12 0.18  96.66 0.09  89.67 0.59  94.93 0.31",
        "gat-pool": "83.91 0.87  73.42 0.71  88.44 0.33  61.52 1.17  94.84 0.16  96.62 0.06  89.42 0.47  94.80 0.24",
        "gat-lstm": "78.08 1.53  71.84 1.20  87.85 0.26  55.41 0.35  94.09 0.23  96.45 0.05  87.26 1.82  94.47 0.33",
        "dna-g1": "83.88 0.50  73.37 0.83  87.80 0.25  63.72 0.44  94.02 0.17  96.49 0.10  90.52 0.40  94.89 0.26",
        "dna-g8": "85.86 0.45  74.19 0.66  88.04 0.17  66.50 0.42  94.46 0.15  96.58 0.09  90.99 0.40  94.96 0.24",
        "dna-g16": "86.15 0.57  74.50 0.62  88.04 0.22  66.64 0.47  94.64 0.15  96.53 0.10  90.81 0.38  95.00 0.19",
    }.items()
}

# Appendix B, columns in the order of Table 2. GCN: layers/hidden/groups, GAT: layers/hidden/groups/heads,
# DNA: layers/hidden/heads.
_CONFIGURATIONS = {
    "gcn-none": "1/128/16 1/128/8 1/16/1 1/128/16 1/128/16 1/32/16 1/128/16 1/64/16",
    "gcn-concat": "2/128/8 2/64/8 2/16/16 2/128/8 2/128/1 3/64/1 1/128/1 3/128/1",
    "gcn-pool": "2/128/1 2/128/1 2/16/16 5/128/16 5/128/16 5/64/1 1/128/8 3/128/16",
    "gcn-lstm": "1/128/8 1/128/1 2/16/8 1/128/8 1/64/1 1/64/8 1/128/16 1/64/1",
    "gat-none": "3/128/16/8 1/128/16/8 1/64/8/8 1/128/16/8 1/128/8/8 1/128/1/8 1/128/1/16 1/128/8/16",
    "gat-concat": "2/128/1/8 2/128/1/8 5/128/16/8 5/128/8/16 3/128/1/8 2/128/1/8 2/128/8/16 2/128/8/16",
    "gat-pool": "5/128/1/16 4/128/1/16 3/128/16/16 2/128/1/16 2/128/1/16 1/128/1/8 2/128/1/16 2/128/8/16",
    "gat-lstm": "1/128/1/16 1/128/1/16 2/16/1/8 1/128/1/8 1/64/1/16 1/64/1/8 1/64/1/16 1/64/1/8",
    "dna-g1": "1/128/16 2/128/8 2/16/8 2/128/8 1/128/16 1/32/16 2/128/8 1/64/8",
    "dna-g8": "4/64/8 3/128/16 2/64/8 3/128/8 1/64/8 1/64/8 2/128/16 1/128/8",
    "dna-g16": "4/128/8 4/128/8 2/64/16 2/128/8 1/128/16 1/128/16 1/128/16 1/128/16",
}

# Section 3: the grid
LAYERS = (1, 2, 3, 4, 5)
HIDDEN = (16, 32, 64, 128)
GROUPS = (1, 8, 16)
HEADS = (8, 16)


def published(model: str, dataset: str) -> ModelConfig:
    """The configuration that the paper reports for one cell of Table 1.

    >>> published("dna-g16", "cora").notation
    '4/128/16/8'
    """
    if model not in MODELS:
        raise ValueError(f"model {model!r} is not in Table 1: choose one of {', '.join(MODELS)}")
    if dataset not in DATASETS:
        raise ValueError(f"dataset {dataset!r} is not in Table 2: choose one of {', '.join(DATASETS)}")
    cell = _CONFIGURATIONS[model].split()[list(DATASETS).index(dataset)]
    sizes = [int(size) for size in cell.split("/")]
    kind, variant = model.split("-")
    if kind == "dna":
        layers, hidden, heads = sizes
        return ModelConfig("dna", layers, hidden, heads, groups=int(variant[1:]))
    layers, hidden, groups = sizes[:3]
    heads = sizes[3] if kind == "gat" else 1
    return ModelConfig(cast(Model, kind), layers, hidden, heads, groups, cast(Jump, variant))


def grid(model: str) -> Iterator[ModelConfig]:
    """All configurations that the paper tries for one row of Table 1.

    >>> len(list(grid("gcn-none"))), len(list(grid("gat-none"))), len(list(grid("dna-g8")))
    (60, 120, 40)
    """
    if model not in MODELS:
        raise ValueError(f"model {model!r} is not in Table 1: choose one of {', '.join(MODELS)}")
    kind, variant = model.split("-")
    groups = (int(variant[1:]),) if kind == "dna" else GROUPS
    heads = (1,) if kind == "gcn" else HEADS
    jump = "none" if kind == "dna" else variant
    for layers, d, h, g in product(LAYERS, HIDDEN, heads, groups):
        yield ModelConfig(cast(Model, kind), layers, d, h, g, cast(Jump, jump))
