"""A folder that says how good a run is."""

from dataclasses import replace
from pathlib import Path

import pytest

from justjump.analysis.report import report, report_text
from justjump.nn import ModelConfig
from justjump.train import Protocol, Run, fit
from made_graphs import made_graph

pytestmark = pytest.mark.filterwarnings("ignore::justjump.train.TrainingWarning")


def run_on(task: str, output: Path | None = None) -> Run:
    config = ModelConfig("gcn", layers=1, hidden=8, groups=2)
    return fit(made_graph(task, nodes=60), config, Protocol(max_epochs=2), output=output)


@pytest.mark.parametrize(
    ("task", "pictures"),
    [("multiclass", {"confusion.png", "calibration.png"}), ("multilabel", {"calibration.png"}), ("regression", set())],
)
def test_a_report_has_the_pictures_of_its_task(task: str, pictures: set[str], tmp_path: Path) -> None:
    run = run_on(task, tmp_path / "run")
    report(tmp_path / "run", tmp_path / "deep" / "report")
    assert {path.name for path in (tmp_path / "deep" / "report").iterdir()} == {"report.md", *pictures}
    text = (tmp_path / "deep" / "report" / "report.md").read_text()
    assert all(f"({name})" in text for name in pictures)
    assert f"training ({run.split_sizes[0]})" in text
    assert ("class" in text) == (task == "multiclass")


def test_notes_and_an_early_end_come_before_the_measures() -> None:
    text = report_text(replace(run_on("multiclass"), notes=("it predicts 'a' alone",), finished=False))
    note, early = text.index("> **Note:** it predicts 'a' alone"), text.index("training was stopped before its end")
    assert note < early < text.index("## Measures")


def test_names_are_text_in_markdown() -> None:
    run = replace(run_on("multiclass"), graph_name="a|b <img src=x>", class_names=("[x](y)", "`b`", "c"))
    text = report_text(run)
    assert r"a\|b &lt;img src=x>" in text
    assert r"\[x\](y), \`b\`, c" in text


def test_a_run_of_an_older_version_has_its_accuracy() -> None:
    run = replace(run_on("multiclass"), measures={}, confusion=None, calibration=None)
    assert f"| accuracy in % | {100 * (run.train_accuracy or 0):.1f} |" in report_text(run)
