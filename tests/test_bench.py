"""The measurement itself: it runs, compares like with like, and refuses what it cannot measure."""

import json
import os

import pytest
import torch

from justjump.bench.cases import CASES, build, graph_for
from justjump.bench.compare import work
from justjump.ops import native
from test_cli import justjump


@pytest.mark.parametrize("name", ["layer-cora", "step-cora"])
def test_both_sides_compute_the_same(name: str) -> None:
    graph = graph_for("cora", synthetic=False)
    outputs = []
    for side in ("ours", "pyg"):
        step = build(CASES[name], side, graph)
        step.layer.eval()  # type: ignore[attr-defined]
        with torch.no_grad():
            outputs.append(step())
    torch.testing.assert_close(*outputs, rtol=1e-4, atol=1e-4)


def test_synthetic_graphs_have_the_counts_of_the_paper() -> None:
    graph = graph_for("amazon_photo", synthetic=True)
    assert (graph.num_nodes, graph.edge_index.shape[1]) == (7650, 2 * 119081)


def test_work_counts_edges_times_steps() -> None:
    gathered, flop = work("layer-computers-folds")
    edges = 2 * 245861 + 13752
    assert gathered == 4 * 128 * edges * (2 * 2 + 2)
    assert flop == 18 * 128 * edges * 2
    assert work("gcn-computers") == (0.0, 0.0)


@pytest.mark.slow
def test_command() -> None:
    done = justjump("bench", "layer-cora", "--repetitions", "1", "--threads", "1", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (row,) = report["cases"]
    assert row["case"] == "layer-cora"
    assert row["ratio"] == pytest.approx(row["pyg_ms"] / row["ours_ms"])
    assert 0 < row["ours_mb"] < row["pyg_mb"]
    assert justjump("bench", "nothing").returncode == 2


@pytest.mark.slow
def test_info() -> None:
    facts = json.loads(justjump("info", "--json").stdout)
    if native.available():
        assert facts["path"] == "native kernels"
        assert facts["isa"] in facts["isas"]
    off = json.loads(justjump("info", "--json", env={**os.environ, "JUSTJUMP_ISA": "none"}).stdout)
    assert off["path"].startswith("PyTorch (JUSTJUMP_ISA=none")
    assert "path" in justjump("info").stdout
