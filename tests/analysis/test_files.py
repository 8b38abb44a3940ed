"""Tables and figures as files."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from justjump.analysis import commands
from justjump.analysis.files import check_extra, check_table, figure_paths, save_figure, write_parquet
from justjump.train import RunError


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = r"pyarrow is not installed: pip install 'justjump\[analysis\]'"
    with pytest.raises(RunError, match=message):
        check_extra()
    with pytest.raises(RunError, match=message):
        commands.attention(tmp_path, "all", None, tmp_path / "x", None, None, False, None)


@pytest.mark.slow
def test_the_library_itself_needs_no_extra() -> None:
    blocked = "import sys; sys.modules.update(dict.fromkeys(['pandas', 'pyarrow', 'matplotlib', 'networkx']))"
    code = f"{blocked}; import justjump.analysis; print(justjump.analysis.influence.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "influence\n", done.stderr


def test_endings_decide_on_formats() -> None:
    assert figure_paths(Path("a.svg")) == [Path("a.svg")]
    assert [path.suffix for path in figure_paths(Path("a"))] == [".png", ".pdf", ".svg"]
    with pytest.raises(RunError, match=r"--output a\.gif must end in \.png, \.pdf, \.svg, or have no ending"):
        figure_paths(Path("a.gif"))
    check_table("--weights", Path("a.parquet"))
    with pytest.raises(RunError, match=r"--weights a\.csv must end in \.parquet"):
        check_table("--weights", Path("a.csv"))


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        figure = Figure()
        figure.subplots().plot([1, 2, 3])
        save_figure(figure, figure_paths(tmp_path / name))
    for ending in (".png", ".pdf", ".svg"):
        assert (tmp_path / f"first{ending}").read_bytes() == (tmp_path / f"second{ending}").read_bytes()


def test_tables_are_written_block_by_block(tmp_path: Path) -> None:
    blocks = ({"run": name, "node": np.arange(3), "label": ["a", None, "b"]} for name in ("dna", "gcn"))
    assert write_parquet(tmp_path / "all.parquet", blocks) == 6
    table = pd.read_parquet(tmp_path / "all.parquet")
    assert table["run"].tolist() == ["dna"] * 3 + ["gcn"] * 3
    assert table["node"].tolist() == [0, 1, 2] * 2


def test_a_table_that_fails_is_not_there(tmp_path: Path) -> None:
    def blocks() -> Iterator[dict[str, np.ndarray]]:
        yield {"node": np.arange(3)}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parquet(tmp_path / "all.parquet", blocks())
    assert list(tmp_path.iterdir()) == []
