"""What stores hold: shown, exported, merged."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from job_kinds import small_job
from justjump.experiments.results import results, store_file
from justjump.experiments.store import Store


def outcome(accuracy: float) -> dict[str, Any]:
    return {"graph_name": "cora", "test_accuracy": accuracy, "seconds": 2.0, "finished": True}


def write_store(folder: Path, accuracies: dict[int, float]) -> Path:
    with Store(folder / "results.sqlite") as store:
        for seed, accuracy in accuracies.items():
            store.add(small_job(seed), outcome(accuracy))
    return folder


def test_a_store_is_named_by_its_folder_or_its_file(tmp_path: Path) -> None:
    assert store_file(tmp_path / "new") == tmp_path / "new" / "results.sqlite"
    assert store_file(tmp_path / "mine.sqlite") == tmp_path / "mine.sqlite"
    (tmp_path / "v1.2").mkdir()
    assert store_file(tmp_path / "v1.2") == tmp_path / "v1.2" / "results.sqlite"


def test_one_line_per_kind_of_network_and_files_of_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_store(tmp_path, {0: 0.80, 1: 0.82})
    with Store(folder / "results.sqlite") as store:
        store.add_failure(small_job(7), "no memory")
    results(folder, [], tmp_path / "all.csv", tmp_path / "all.parquet", as_json=False)
    printed = capsys.readouterr()
    assert "81.00" in printed.out
    assert "failed: cora gcn 1/16/1/8 split 7: no memory" in printed.out
    assert "2 results in" in printed.err
    assert len(pd.read_csv(tmp_path / "all.csv")) == len(pd.read_parquet(tmp_path / "all.parquet")) == 2
    results(folder, [], None, None, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert [row["test_accuracy"] for row in found["results"]] == [0.80, 0.82]
    assert [row["message"] for row in found["failures"]] == ["no memory"]


def test_merging_says_what_is_new_and_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = write_store(tmp_path / "a", {0: 0.1, 1: 0.2}), write_store(tmp_path / "b", {1: 0.3, 2: 0.4})
    results(tmp_path / "all", [first, second], None, None, as_json=True)
    printed = capsys.readouterr()
    assert [row["test_accuracy"] for row in json.loads(printed.out)["results"]] == [0.1, 0.2, 0.4]
    assert f"{second}: 1 result added, 1 were here already" in printed.err
    assert "1 of them differ and stay as they are here" in printed.err
    with pytest.raises(ValueError, match="is the store itself"):
        results(first, [first], None, None, as_json=True)


def test_an_empty_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results(write_store(tmp_path, {}), [], None, None, as_json=False)
    assert capsys.readouterr().out == "no results yet\n"
