"""Tables that are streamed give the same files as tables that are read into memory."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generated_tables import TABLES, columns_and_classes, edges
from justjump.data import DataError, open_parts, partition_tables, read_graph
from justjump.data.parts import source

ENDINGS = ("csv", "parquet")


def write(folder: Path, nodes: pd.DataFrame, joined: pd.DataFrame, ending: str) -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    for frame, name in ((nodes, "nodes"), (joined, "edges")):
        if ending == "csv":
            frame.to_csv(folder / f"{name}.csv", index=False)
        else:
            frame.to_parquet(folder / f"{name}.parquet", index=False, row_group_size=50)
    return folder / f"nodes.{ending}", folder / f"edges.{ending}"


def both(tmp_path: Path, files: tuple[Path, Path], parts: int = 3, **options: Any) -> None:
    """The digest of the manifest, and so of all files, is the same for both ways."""
    reading = {key: options[key] for key in ("directed", "label") if key in options}
    graph = read_graph(files[0].parent, **reading)
    whole = graph.partition(parts, tmp_path / "whole", "hash", scale=options.get("scale", "auto"))
    streamed = partition_tables(*files, parts, tmp_path / "streamed", **options)
    open_parts(tmp_path / "streamed")
    assert streamed.manifest.preprocessing == whole.manifest.preprocessing
    different = [
        name
        for one, two in zip(whole.manifest.parts, streamed.manifest.parts, strict=True)
        for name in one.sha256.keys() | two.sha256.keys()
        if one.sha256.get(name) != two.sha256.get(name)
    ]
    assert not different
    assert streamed.manifest.digest == whole.manifest.digest


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "ROWS", 64)


def frames(make: str, nodes: int = 200) -> tuple[pd.DataFrame, pd.DataFrame]:
    columns, y = columns_and_classes(make, nodes)
    ends = edges(y)
    names = np.array([f"node {number}" for number in range(nodes)])
    table = pd.DataFrame({"id": names, "label": np.where(y == 1, "right", "left"), **columns})
    return table, pd.DataFrame({"source": names[ends[0]], "target": names[ends[1]]})


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("make", TABLES)
def test_tables_of_many_kinds(make: str, ending: str, tmp_path: Path) -> None:
    both(tmp_path, write(tmp_path / "graph", *frames(make), ending))


@pytest.mark.parametrize("scale", ["none", "standard", "rows"])
@pytest.mark.parametrize("make", ["missing_values", "words_and_city"])
def test_scales(make: str, scale: str, tmp_path: Path) -> None:
    both(tmp_path, write(tmp_path / "graph", *frames(make), "parquet"), scale=scale)


@pytest.mark.parametrize(
    ("scale", "ending"), [("auto", "csv"), ("none", "csv"), ("standard", "parquet"), ("rows", "parquet")]
)
@pytest.mark.parametrize("words", [(12, 0.02, 1), (12, 0.3, 1), (120, 0.02, 1), (12, 0.05, 5000), (4, 1.0, 2000)])
def test_plain_numbers(words: tuple[int, float, float], scale: str, ending: str, tmp_path: Path) -> None:
    """A sparse matrix or an array, with few or many columns, small or large."""
    width, share, size = words
    random = np.random.RandomState(0)
    values = np.where(random.rand(80, width) < share, size * random.rand(80, width), 0)
    nodes = pd.DataFrame({"id": np.arange(80), **{f"w{number}": values[:, number] for number in range(width)}})
    joined = pd.DataFrame({"source": random.randint(0, 80, 150), "target": random.randint(0, 80, 150)})
    both(tmp_path, write(tmp_path / "graph", nodes, joined, ending), scale=scale)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("directed", [False, True])
def test_weights_directions_and_roles(directed: bool, ending: str, tmp_path: Path) -> None:
    random = np.random.RandomState(1)
    nodes = pd.DataFrame(
        {"id": 10 * np.arange(70), "x": random.randn(70), "split": random.choice(["train", "VAL ", "test", ""], 70)}
    )
    pairs = np.unique(np.sort(random.randint(0, 70, (2, 100)), axis=0), axis=1)
    joined = pd.DataFrame({"source": 10 * pairs[0], "target": 10 * pairs[1], "weight": random.rand(pairs.shape[1])})
    joined = pd.concat([joined, joined[:9]])  # repeated
    both(tmp_path, write(tmp_path / "graph", nodes, joined, ending), directed=directed)


LABELS: dict[str, Any] = {
    "texts": ["b", "a", "", "c"] * 20,
    "whole numbers": [10, 9, 2, 2] * 20,
    "fractions": np.linspace(0, 1, 80),
    "some missing": [1.0, np.nan, 0.0, 2.0] * 20,
    "booleans": [True, False] * 40,
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("labels", LABELS)
def test_labels(labels: str, ending: str, tmp_path: Path) -> None:
    nodes = pd.DataFrame({"id": [f"{number}" for number in range(80)], "label": LABELS[labels], "x": np.arange(80.0)})
    both(tmp_path, write(tmp_path / "graph", nodes, pd.DataFrame({"source": ["0", "5"], "target": ["1", "0"]}), ending))


@pytest.mark.parametrize("ending", ENDINGS)
def test_several_labels(ending: str, tmp_path: Path) -> None:
    random = np.random.RandomState(2)
    nodes = pd.DataFrame(
        {"id": np.arange(50), "a": random.randint(0, 2, 50), "b": random.randint(0, 2, 50), "x": random.rand(50)}
    )
    nodes["a"] = nodes["a"].where(random.rand(50) < 0.8)
    files = write(tmp_path / "graph", nodes, pd.DataFrame({"source": [0], "target": [1]}), ending)
    both(tmp_path, files, label=["a", "b"])


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), nodes=st.integers(1, 30), parts=st.integers(1, 6), data=st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_table(
    seed: int, nodes: int, parts: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Cells of all kinds in any mixture."""
    folder = tmp_path_factory.mktemp("table")
    cell = st.sampled_from(["", "1", "2.5", "-3e2", "na", "yes", "no", "2020-01-02", "ä b", "nan", "007"])
    columns = {f"c{number}": data.draw(st.lists(cell, min_size=nodes, max_size=nodes)) for number in range(2)}
    table = pd.DataFrame({"id": [f" n{number} " for number in range(nodes)], "x": np.arange(nodes), **columns})
    random = np.random.RandomState(seed)
    ends = random.randint(0, nodes, (2, 2 * nodes))
    joined = pd.DataFrame({"source": [f"n{node}" for node in ends[0]], "target": [f"n{node} " for node in ends[1]]})
    files = write(folder / "graph", table, joined, "csv")
    try:
        read_graph(folder / "graph")
    except DataError:  # a date or a number is missing among others
        with pytest.raises(DataError):
            partition_tables(*files, parts, folder / "streamed")
    else:
        both(folder, files, parts)


WEIGHTS = {"target": ["n1", "n1"], "source": ["n0", "n0"], "weight": [1.0, 2.0]}
WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "an unknown id": ({}, {"target": ["n1", "x"]}, "edges.*, (row 1|line 3): the target 'x' is not an id in nodes"),
    "an id twice": (
        {"id": ["n0", "n1", "n0"]},
        {},
        "nodes.*, (row 2|line 4): the id 'n0' is already in (row 0|line 2)",
    ),
    "an empty id": ({"id": ["n0", "", "n2"]}, {}, "nodes.*, (row 1|line 3): the id is empty"),
    "a weight below 0": ({}, {"weight": [1.0, -1.0]}, "edges.*, (row 1|line 3): the weight '-1.0' must be a number"),
    "two weights": (
        {},
        WEIGHTS,
        "edges.*, (row 1|line 3): the edge of (row 0|line 2) is repeated with another weight .1 and 2.: keep one",
    ),
    "a role": ({"split": ["train", "", "oops"]}, {}, "nodes.*, (row 2|line 4): the column 'split' must hold .*'oops'"),
    "a text among numbers": (
        {"id": [f"n{n}" for n in range(30)], "x": [str(n) for n in range(29)] + ["oops"]},
        {},
        "nodes.*, (row 29|line 31): the column 'x' holds 'oops', but most others are numbers",
    ),
    "a wrong date": (
        {"id": [f"n{n}" for n in range(9)], "x": ["2026-02-30"] + 8 * ["2026-02-03"]},
        {},
        "nodes.*, (row 0|line 2): the column 'x' holds '2026-02-30', but most others are dates",
    ),
    "infinity": (
        {"x": [1.0, 2.0, np.inf]},
        {},
        "nodes.*, (row 2|line 4): the feature 'x' must be a finite number, got inf",
    ),
    "an unknown column": ({}, {"colour": ["red", "red"]}, "has the column 'colour', which edges do not have"),
    "the label -1": ({"label": ["a", "b", "-1"]}, {}, "nodes.*, (row 2|line 4): the label -1 is ambiguous"),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_tables(wrong: str, ending: str, tmp_path: Path) -> None:
    of_nodes, of_edges, message = WRONG[wrong]
    nodes = pd.DataFrame({"id": ["n0", "n1", "n2"], "x": [1.0, 2.0, 3.0]} | of_nodes)
    joined = pd.DataFrame({"source": ["n0", "n1"], "target": ["n1", "n2"]} | of_edges)
    with pytest.raises(DataError, match=message):
        partition_tables(*write(tmp_path / "graph", nodes, joined, ending), 2, tmp_path / "parts")
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


def test_folders_with_several_files(tmp_path: Path) -> None:
    nodes, joined = frames("categories", 50)
    files = write(tmp_path / "graph", nodes, joined, "parquet")
    for frame, name in ((nodes, "nodes"), (joined, "edges")):
        (tmp_path / "graph" / name).mkdir()
        for number, start in enumerate(range(0, len(frame), 40)):
            frame[start : start + 40].to_parquet(tmp_path / "graph" / name / f"{number:03}.parquet", index=False)
        (tmp_path / "graph" / name / "_metadata.parquet").write_bytes(b"not a part of the table")
    one = partition_tables(*files, 3, tmp_path / "one")
    several = partition_tables(tmp_path / "graph" / "nodes", tmp_path / "graph" / "edges", 3, tmp_path / "several")
    assert one.manifest.digest == several.manifest.digest

    nodes[["id", "job"]].to_parquet(tmp_path / "graph" / "nodes" / "900.parquet", index=False)
    with pytest.raises(DataError, match="900.parquet has other columns than 000.parquet: all files of a table need"):
        partition_tables(tmp_path / "graph" / "nodes", files[1], 3, tmp_path / "wrong")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty holds no .parquet files"):
        partition_tables(tmp_path / "empty", files[1], 3, tmp_path / "wrong")


def test_lists_are_left_out(tmp_path: Path) -> None:
    nodes, joined = frames("income_and_age", 20)
    both(tmp_path, write(tmp_path / "graph", nodes.assign(tags=[["a", "b"]] * 20), joined, "parquet"))
    assert open_parts(tmp_path / "streamed").manifest.preprocessing.left_out == ("tags",)


def test_metis_needs_the_graph_in_memory(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="method='metis' needs the whole graph in memory"):
        partition_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", 2, tmp_path / "parts", "metis")


def test_own_parts(tmp_path: Path) -> None:
    nodes, joined = frames("income_and_age", 20)
    files = write(tmp_path / "graph", nodes, joined, "csv")
    own = pd.DataFrame({"id": nodes["id"][::-1], "part": np.arange(20)[::-1] % 3})
    own.to_csv(tmp_path / "own.csv", index=False)
    by_file = partition_tables(*files, 3, tmp_path / "one", tmp_path / "own.csv")
    by_array = partition_tables(*files, 3, tmp_path / "two", np.arange(20) % 3)
    assert by_file.manifest.digest == by_array.manifest.digest
    assert by_file.manifest.method == "given"
    assert by_file[1].original.tolist() == [1, 4, 7, 10, 13, 16, 19]


@pytest.mark.parametrize("name", ["nodes.txt", "nothing.csv", "broken.parquet", "broken.csv"])
def test_files_that_are_no_tables(name: str, tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text("id,x\na,1\n")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and so on")
    (tmp_path / "broken.csv").write_text("id,x\na,1\nb\n")
    (tmp_path / "edges.csv").write_text("source,target\na,a\n")
    with pytest.raises(DataError, match=name):
        partition_tables(tmp_path / name, tmp_path / "edges.csv", 2, tmp_path / "parts")


# A table of 1,500,000 edges in both directions; only the largest part of them may be in memory.
LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
import pyarrow as pa, pyarrow.parquet as pq
from justjump import data, files
from justjump.data.parts import source

files._sync = lambda path: None
folder, parts = Path(sys.argv[1]), int(sys.argv[2])
if not (folder / "edges.parquet").exists():
    random = np.random.default_rng(0)
    names = np.char.add("node ", np.arange(20_000).astype(str))
    columns = {f"c{number}": random.normal(size=len(names)) for number in range(8)}
    pq.write_table(pa.table({"id": names, **columns}), folder / "nodes.parquet", row_group_size=4096)
    schema = pa.schema([("source", pa.string()), ("target", pa.string())])
    with pq.ParquetWriter(folder / "edges.parquet", schema) as writer:
        for _ in range(50):
            source_names, target_names = names[random.integers(0, len(names), (2, 15_000))]
            writer.write_table(pa.table({"source": source_names, "target": target_names}))
source.ROWS = 4096
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 90 * 2**20,) * 2)
made = data.partition_tables(folder / "nodes.parquet", folder / "edges.parquet", parts, folder / f"parts-{parts}")
print(made.manifest.num_edges)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads in /proc how much memory is taken, which only Linux has")
def test_memory_is_that_of_one_part(tmp_path: Path) -> None:
    """Under a limit of memory in which the whole graph does not fit, many parts are written."""
    environment = os.environ | {
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    for parts in (32, 1):
        command = [sys.executable, "-c", LIMITED, str(tmp_path), str(parts)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if parts == 32:
            assert done.returncode == 0, done.stderr
            assert int(done.stdout) > 1_400_000
        else:
            assert "one of 1 parts does not fit into memory: use more parts" in done.stderr
    assert not (tmp_path / "parts-1").exists()
    assert len(open_parts(tmp_path / "parts-32")) == 32
