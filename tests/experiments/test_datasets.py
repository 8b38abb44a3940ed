"""Which datasets are here, beside the paper's Table 2."""

import json
import os
from pathlib import Path

import pytest

from command_line import justjump


@pytest.mark.slow
def test_datasets_without_a_folder_downloads_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "JUSTJUMP_DATA": str(tmp_path)}
    done = justjump("datasets", "--json", env=environment)
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows if row["here"]] == ["cora"]
    assert rows[0]["here"] == {key: rows[0]["paper"][key] for key in ("nodes", "edges", "features", "classes")}
    assert "2,708 / 5,278 / 1,433 / 7" in justjump("datasets", env=environment).stdout
