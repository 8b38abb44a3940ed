"""A search for as long as it is told."""

import json
from pathlib import Path

import pytest

from command_line import justjump
from justjump.experiments.graph_spec import GraphSpec
from justjump.experiments.tune import CHOICE_FILE, parse_time, tuned
from justjump.train import Protocol, RunError


@pytest.mark.parametrize("text", ["", "10", "5x", "-3m", "0s", "1e9h", "m"])
def test_times_that_are_none(text: str) -> None:
    if text == "10":
        assert parse_time(text) == 10
        return
    with pytest.raises(ValueError, match="write a time such as 90s, 10m or 2h"):
        parse_time(text)


@pytest.mark.slow
def test_tune_searches_and_trains_and_goes_on(tmp_path: Path) -> None:
    asked = (
        "train",
        "--dataset",
        "cora",
        "--tune",
        "1s",
        "--max-epochs",
        "3",
        "--jobs",
        "1",
        "--output",
        tmp_path / "run",
    )
    first = justjump(*asked)
    assert "tuned: " in first.stderr
    assert "accuracy:" in first.stdout
    chosen = json.loads((tmp_path / "run" / "tuning" / CHOICE_FILE).read_text())
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert {**chosen["chosen_config"], "protocol": chosen["chosen_protocol"]} == summary["config"]
    again = justjump(*asked)
    assert "tuned: " not in again.stderr, "it searched before"
    assert again.stdout == first.stdout


def test_a_choice_of_another_search_or_a_damaged_one(tmp_path: Path) -> None:
    folder = tmp_path / "tuning"
    folder.mkdir()
    (folder / CHOICE_FILE).write_text('{"tune": "2h", "seed": 0, "protocol": {}}')
    with pytest.raises(RunError, match="is of another search: choose another --output"):
        tuned(GraphSpec("cora"), "1s", Protocol(), 1, tmp_path, 0)
    (folder / CHOICE_FILE).write_text("[")
    with pytest.raises(RunError, match="delete it to search again"):
        tuned(GraphSpec("cora"), "1s", Protocol(), 1, tmp_path, 0)


def test_a_graph_that_is_not_there_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        tuned(GraphSpec(path=str(tmp_path / "nowhere")), "1s", Protocol(), 1, tmp_path / "runs" / "first", 0)
    assert not list(tmp_path.iterdir())
