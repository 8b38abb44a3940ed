"""What networks take: features stay sparse, and a digest tells data apart."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers import array_features, sparse_features
from justjump.data import Graph, Split, Table
from justjump.ops import SparseMatrix
from justjump.train import fit, prepare
from justjump.train.inputs import data_hash, graph_hash

STEP = """
import sys
from pathlib import Path
from justjump import ModelConfig, Protocol, fit, load
graph = load("coauthor_physics", sys.argv[1])
fit(graph, ModelConfig("dna", layers=1, hidden=128, heads=16, groups=16), Protocol(max_epochs=1))
# Not ru_maxrss, which counts the process that started this one.
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line).split()[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak memory of one process, in /proc")
def test_physics_and_one_dna_step_in_less_than_the_dense_features_and_pyg_take(data_dir: Path) -> None:
    command = [sys.executable, "-c", STEP, str(data_dir)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    gigabytes = int(done.stdout) / 2**20
    assert gigabytes < 2.5  # the dense features alone are 1.16 GB


def test_feature_normalisation(cora: Graph, tiny: Graph) -> None:
    for graph in (cora, tiny):
        x = prepare(graph, preprocessing="rows").x
        dense = x if isinstance(x, torch.Tensor) else x.to_dense()
        torch.testing.assert_close(dense.sum(1), torch.ones(graph.num_nodes))


def test_mostly_zero_dense_features_become_sparse(cora: Graph) -> None:
    features = sparse_features(cora)
    x = prepare(replace(cora, features=features.toarray())).x
    assert isinstance(x, SparseMatrix)
    assert torch.equal(x.to_dense(), prepare(cora).x.to_dense())
    assert x.num_entries == features.nnz


def test_an_empty_row_stays_empty(tiny: Graph) -> None:
    features = np.zeros((20, 30), dtype=np.float32)
    features[1, :4] = 2
    for given in (features, features + (np.arange(20) > 1)[:, None]):  # sparse, dense
        x = prepare(replace(tiny, features=given), preprocessing="rows").x
        dense = x if isinstance(x, torch.Tensor) else x.to_dense()
        assert dense[0].tolist() == [0.0] * 30
        assert dense[1].tolist() == [0.25] * 4 + [0.0] * 26


def test_the_digest_is_that_of_all_that_training_reads(tiny: Graph) -> None:
    split = Split(np.array([0, 10]), np.array([1, 11]), np.array([2, 12]))
    same = replace(tiny, name="other name", features=array_features(tiny).copy())
    assert data_hash(same, split) == data_hash(tiny, split)
    weight = np.ones(tiny.edge_index.shape[1])
    others = [
        (replace(tiny, class_names=("west", "east")), split),
        (replace(tiny, features=array_features(tiny) + 1), split),
        (replace(tiny, labels=1 - tiny.labels), split),
        (replace(tiny, edge_index=tiny.edge_index[::-1]), split),
        (replace(tiny, edge_weight=weight), split),
        (tiny, Split(split.train, split.test, split.val)),
    ]
    assert len({data_hash(tiny, split), *(data_hash(*other) for other in others)}) == 7


def test_masks_belong_to_a_graph(tiny: Graph) -> None:
    train, val, test = (np.arange(20) % 3 == part for part in range(3))
    assert graph_hash(replace(tiny, masks=(train, val, test))) != graph_hash(tiny)


def test_the_digest_covers_tables(tiny: Graph) -> None:
    columns = {"age": [31.5, None] * 10, "city": ["Bonn", "Ulm"] * 10, "member": ["yes", "no"] * 10}
    tables = [
        columns,
        columns | {"age": [31.5, 7] * 10},
        columns | {"city": ["Bonn", "Kiel"] * 10},
        columns | {"city": ["Ulm", "Bonn"] * 10},
        columns | {"member": [1, 0] * 10},
        {"years": columns["age"], "city": columns["city"], "member": columns["member"]},
    ]
    hashes = [graph_hash(replace(tiny, features=Table.of(table))) for table in tables]
    assert len(set(hashes)) == 6
    assert graph_hash(replace(tiny, features=Table.of(columns))) == hashes[0]


def test_a_table_becomes_numbers(tiny: Graph) -> None:
    table = Table.of({"age": [30, None] * 10, "city": ["Bonn", "Ulm"] * 10})
    inputs = prepare(replace(tiny, features=table))
    assert isinstance(inputs.x, torch.Tensor)
    assert inputs.x[:2].tolist() == [[0, 0, 1, 0, 0], [0, 1, 0, 1, 0]]
    assert inputs.preprocessing.describe() == "age: standardised (missing values marked), city: 2 categories"


def test_shared_inputs_take_the_labels_of_the_task(tiny: Graph) -> None:
    graph = replace(tiny, class_names=("3", "7"))
    run = fit(graph, layers=1, hidden=8, heads=1, groups=1, task="regression", inputs=prepare(graph), max_epochs=1)
    assert run.task == "regression"
    assert run.measures["train"]["mae"] is not None
