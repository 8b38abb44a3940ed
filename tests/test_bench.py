"""The measurement itself: it runs, compares like with like, and refuses what it cannot measure."""

import json
import os
from pathlib import Path

import pytest
import torch

from justjump.bench import report
from justjump.bench.cases import CASES, build, graph_for
from justjump.bench.compare import Limits, Measured, work
from justjump.ops import native
from test_cli import justjump, read_csv


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
def test_command(tmp_path: Path) -> None:
    runs = tmp_path / "speed.csv"
    done = justjump("bench", "layer-cora", "--repetitions", "1", "--threads", "1", "--json", "--csv", str(runs))
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["cases"]
    assert row["case"] == "layer-cora"
    assert row["ratio"] == pytest.approx(row["pyg_ms"] / row["ours_ms"])
    assert 0 < row["ours_mb"] < row["pyg_mb"]
    (kept,) = read_csv(runs)
    assert (kept["case"], kept["threads"], kept["note"]) == ("layer-cora", "1", "some cases")
    assert float(kept["ratio"]) == pytest.approx(row["ratio"], rel=1e-3)
    assert justjump("bench", "nothing").returncode == 2


def test_runs_are_added_to_those_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "limits", lambda threads: Limits(1.0, 1.0))
    monkeypatch.setattr(
        report, "measure", lambda name, *_: Measured(name, name, 1234.5, 10, 123.45, 60, 7.6, 3, None, None)
    )
    runs = tmp_path / "runs" / "speed.csv"
    for synthetic, keep_memory in ((True, False), (True, True)):
        report.bench(list(CASES), 2, 1, synthetic, keep_memory, None, True, None, runs)
    first, *_, last = read_csv(runs)
    assert len(read_csv(runs)) == 2 * len(CASES)
    assert list(first.values())[2:] == ["layer-cora", "1234", "10", "123.5", "8", "3", "2", "synthetic"]
    assert (last["case"], last["note"]) == ("gcn-computers-adj", "synthetic; keep-memory")


def test_a_table_of_something_else_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("date,speed\n")
    with pytest.raises(ValueError, match="other.csv does not begin with the line date,commit,case"):
        report.bench(["layer-cora"], 1, 1, True, False, None, True, None, other)
    assert other.read_text() == "date,speed\n"


def test_the_runs_that_are_kept_have_these_columns_and_cases() -> None:
    rows = read_csv(Path(__file__).parents[1] / "results" / "speed.csv")
    assert tuple(rows[0]) == report.COLUMNS
    assert {row["case"] for row in rows} == set(CASES)


@pytest.mark.slow
def test_info() -> None:
    facts = json.loads(justjump("info", "--json").stdout)
    if native.available():
        assert facts["path"] == "native kernels"
        assert facts["isa"] in facts["isas"]
    off = json.loads(justjump("info", "--json", env={**os.environ, "JUSTJUMP_ISA": "none"}).stdout)
    assert off["path"].startswith("PyTorch (JUSTJUMP_ISA=none")
    assert "path" in justjump("info").stdout
