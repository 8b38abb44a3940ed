"""Which datasets are here, beside the paper's Table 2."""

import json
import os
from pathlib import Path

import pytest

from command_line import justjump
from justjump.experiments.datasets import datasets


@pytest.mark.slow
def test_datasets_without_a_folder_downloads_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "JUSTJUMP_DATA": str(tmp_path)}
    done = justjump("datasets", "--json", env=environment)
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows if row["here"]] == ["cora"]
    assert rows[0]["here"] == {key: rows[0]["paper"][key] for key in ("nodes", "edges", "features", "classes")}
    assert "2,708 / 5,278 / 1,433 / 7" in justjump("datasets", env=environment).stdout


def test_broken_files_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cora_full.npz").write_bytes(b"not a graph")
    datasets(tmp_path, as_json=True)
    row = next(row for row in json.loads(capsys.readouterr().out) if row["name"] == "cora_full")
    assert row["here"] is None
    assert row["location"].startswith("broken: cannot read")


def test_commits_are_shortened_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    datasets(tmp_path, as_json=False)
    printed = capsys.readouterr().out
    assert "kimiyoung/planetoid/af6abf4/data/ind.citeseer.*" in printed
    assert "https://" not in printed
