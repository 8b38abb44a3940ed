"""Table 1 beside the paper's figures, in every form."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from justjump.experiments import paper, table1
from justjump.experiments.readings import DEFAULT, READINGS
from justjump.experiments.reproduce import write_all
from justjump.experiments.summary import Summary


@pytest.fixture(scope="module")
def cells() -> list[table1.Cell]:
    """A table with a cell that agrees, one that is close, one that is off, and some that are missing."""
    shifts = {"gcn-none": 0.5, "gcn-concat": 0.95, "gat-none": 3.0}
    return [
        table1.Cell(dataset, model, _shifted(model, dataset, shifts.get(model)), 12.0, "not run: data not at hand")
        for dataset in ("cora", "cora_full")
        for model in paper.MODELS
    ]


def _shifted(model: str, dataset: str, by: float | None) -> Summary | None:
    if by is None or dataset == "cora_full":
        return None
    return Summary(paper.TABLE1[model][dataset].mean + by, 0.4, 10)


def test_verdicts(cells: list[table1.Cell]) -> None:
    found = {cell.model: cell.verdict for cell in cells if cell.dataset == "cora"}
    assert found["gcn-none"] == "yes"
    assert found["gcn-concat"] == "close"
    assert found["gat-none"] == "no"
    assert found["dna-g1"] == "-"
    assert table1.summary_line(cells).startswith("within the spread: 1 of 3 cells; within one point")
    assert table1.summary_line(cells).endswith(": 2; 19 not run")


def test_runs_that_are_stuck_are_named(cells: list[table1.Cell]) -> None:
    assert table1.stuck_line(cells) == ""
    assert "Runs that" not in table1.as_markdown(cells)
    stuck = [replace(cells[0], stuck=(3, 8)), *cells[1:]]
    assert "Cora GCN JK-None seed 3, 8." in table1.as_markdown(stuck)


def test_every_form_shows_figures_and_what_is_missing(cells: list[table1.Cell], tmp_path: Path) -> None:
    write_all(cells, tmp_path, READINGS[DEFAULT])
    mean = f"{paper.TABLE1['gcn-none']['cora'].mean + 0.5:.2f}"
    markdown = (tmp_path / "table1.md").read_text()
    assert f"**{mean} ± 0.40**" in markdown
    assert markdown.count("not run: data not at hand") == 2 * 19
    latex = (tmp_path / "table1.tex").read_text()
    assert rf"${mean} \pm 0.40$" in latex
    assert latex.count("--") == 19
    assert latex.startswith(r"% needs \usepackage{booktabs}")
    lines = list(csv.DictReader((tmp_path / "table1.csv").read_text().splitlines()))
    assert len(lines) == 22
    assert list(lines[0]) == list(table1.COLUMNS)
    assert lines[0]["accuracy_mean"] == mean
    assert (lines[-1]["accuracy_mean"], lines[-1]["splits"]) == ("", "0")
    assert (tmp_path / "table1.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "table1.png").stat().st_size > 20_000
