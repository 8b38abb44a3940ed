"""The tables of the bench command: printed, kept, and added to those that are there."""

from pathlib import Path

import pytest

from command_line import read_csv
from justjump.bench import report
from justjump.bench.cases import CASES
from justjump.bench.compare import Limits, Measured
from justjump.bench.growth import Grown


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
    rows = read_csv(Path(__file__).parents[2] / "results" / "speed.csv")
    assert tuple(rows[0]) == report.COLUMNS
    assert {row["case"] for row in rows} == set(CASES)


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no case 'nothing': choose from layer-cora"):
        report.bench(["nothing"], 1, 1, True, False, None, True, None, None)


def test_growth_as_a_table_and_as_markdown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "EDGES", (1000, 2000))
    monkeypatch.setattr(report, "grow", lambda edges, threads: Grown(edges, edges // 16, 0.25, 3.0))
    report.growth(2, as_json=False, markdown=tmp_path / "growth.md")
    assert "2,000" in capsys.readouterr().out
    lines = (tmp_path / "growth.md").read_text().splitlines()
    assert lines[0].startswith("| edges | nodes | seconds per step |")
    assert lines[2] == "| 1,000 | 62 | 0.25 | 41666.7 | 3 | 3146 |"
