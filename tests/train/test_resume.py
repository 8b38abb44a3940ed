"""A folder that holds a run already."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from justjump.data import Graph
from justjump.train import RunError, fit
from run_helpers import SHORT, SMALL, assert_same_run, stop_after


def test_finished_run_is_not_trained_again(cora: Graph, tmp_path: Path) -> None:
    first = fit(cora, SMALL, SHORT, output=tmp_path)
    again = fit(cora, SMALL, SHORT, output=tmp_path, on_epoch=stop_after(1))
    assert again.finished
    assert_same_run(first, again)


def test_other_settings_in_the_same_folder_are_refused(cora: Graph, tiny: Graph, tmp_path: Path) -> None:
    fit(cora, SMALL, SHORT, output=tmp_path / "done")
    with pytest.raises(RunError, match="other settings.*hidden 16 there, 32 here"):
        fit(cora, replace(SMALL, hidden=32), SHORT, output=tmp_path / "done")
    with pytest.raises(RunError, match="other settings.*the data"):
        fit(tiny, SMALL, SHORT, output=tmp_path / "done")


def test_an_option_that_this_version_does_not_know_is_named(tiny: Graph, tmp_path: Path) -> None:
    fit(tiny, SMALL, SHORT, output=tmp_path)
    values = json.loads((tmp_path / "run.json").read_text())
    values["config"]["colour"] = "red"
    (tmp_path / "run.json").write_text(json.dumps(values))
    with pytest.raises(RunError, match=r"other settings \(colour red there, unknown here\)"):
        fit(tiny, SMALL, SHORT, output=tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_other_files_in_the_folder_stay_as_they_are(tiny: Graph, tmp_path: Path) -> None:
    for name in ("nodes.csv", "edges.csv", "model.pt", ".state.safetensors"):
        (tmp_path / name).write_text(f"my {name}")
    before = contents(tmp_path)
    run = fit(tiny, SMALL, SHORT, output=tmp_path)
    assert before.items() <= contents(tmp_path).items()
    assert_same_run(run, fit(tiny, SMALL, SHORT, output=tmp_path))
    assert before.items() <= contents(tmp_path).items()


@pytest.mark.parametrize("name", ["model.safetensors", "split.safetensors", "state.safetensors", "run.json"])
def test_files_that_are_called_like_those_of_a_run_are_not_overwritten(tiny: Graph, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(RunError, match=name) as caught:
        fit(tiny, SMALL, SHORT, output=tmp_path)
    assert "\n" not in str(caught.value)
    assert contents(tmp_path) == {name: b"mine"}
