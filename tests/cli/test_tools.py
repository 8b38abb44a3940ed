"""The commands datasets, demo, info and bench."""

import json
from pathlib import Path

import pytest
import typer

from command_line import justjump, read_csv
from justjump.bench import report
from justjump.cli.app import app


@pytest.mark.slow
def test_bench_prints_and_keeps_what_it_measures(tmp_path: Path) -> None:
    runs = tmp_path / "speed.csv"
    done = justjump("bench", "layer-cora", "--repetitions", "1", "--threads", "1", "--json", "--csv", runs)
    (row,) = json.loads(done.stdout)["cases"]
    assert row["case"] == "layer-cora"
    assert row["ratio"] == pytest.approx(row["pyg_ms"] / row["ours_ms"])
    assert 0 < row["ours_mb"] < row["pyg_mb"]
    (kept,) = read_csv(runs)
    assert (kept["case"], kept["threads"], kept["note"]) == ("layer-cora", "1", "some cases")
    assert float(kept["ratio"]) == pytest.approx(row["ratio"], rel=1e-3)


def test_growth_has_no_file_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(report, "growth", lambda *values: asked.append(values))
    with pytest.raises(typer.BadParameter, match="leave it out with --growth"):
        app(["bench", "--growth", "--csv", "runs.csv"], standalone_mode=False)
    app(["bench", "--growth", "--threads", "1", "--markdown", "growth.md"], standalone_mode=False)
    assert asked == [(1, False, Path("growth.md"))]


def test_info_and_datasets_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    app(["info", "--json"], standalone_mode=False)
    assert "torch" in json.loads(capsys.readouterr().out)
    app(["datasets", "--json", "--data-dir", str(tmp_path)], standalone_mode=False)
    assert [row["name"] for row in json.loads(capsys.readouterr().out)][:2] == ["cora", "citeseer"]
