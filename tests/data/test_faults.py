"""A fault has the same words in CSV and Parquet files, in data frames and in tables that are streamed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from justjump.data import DataError, Graph, partition_tables, read_graph

Frames = tuple[pd.DataFrame, pd.DataFrame]


def written(frames: Frames, folder: Path, ending: str) -> tuple[Path, Path]:
    folder.mkdir()
    files = folder / f"nodes.{ending}", folder / f"edges.{ending}"
    for frame, path in zip(frames, files, strict=True):
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path, index=False)
    return files


def from_csv(frames: Frames, folder: Path, **options: Any) -> Graph:
    return read_graph(written(frames, folder / "csv", "csv")[0].parent, **options)


def from_parquet(frames: Frames, folder: Path, **options: Any) -> Graph:
    return read_graph(written(frames, folder / "parquet", "parquet")[0].parent, **options)


def from_pandas(frames: Frames, folder: Path, **options: Any) -> Graph:
    return Graph.from_pandas(*frames, **options)


def streamed_csv(frames: Frames, folder: Path, **options: Any) -> object:
    return partition_tables(*written(frames, folder / "streamed-csv", "csv"), 2, folder / "parts", **options)


def streamed_parquet(frames: Frames, folder: Path, **options: Any) -> object:
    return partition_tables(*written(frames, folder / "streamed", "parquet"), 2, folder / "parts", **options)


READERS = (from_csv, from_parquet, from_pandas, streamed_csv, streamed_parquet)
NODES = pd.DataFrame({"id": [f"n{n}" for n in range(30)], "x": [n / 8 for n in range(30)]})
EDGES = pd.DataFrame({"source": ["n0", "n1", "n2"], "target": ["n1", "n2", "n0"]})


def with_cell(frame: pd.DataFrame, row: int, column: str, value: Any) -> pd.DataFrame:
    changed = frame.astype({column: object}) if isinstance(value, str) else frame.copy()
    changed.loc[row, column] = value
    return changed.astype({column: str}) if isinstance(value, str) else changed


WEIGHTED = EDGES.assign(weight=[1.0, 2.0, 3.0])
LABELS = NODES.assign(red=[n % 2 for n in range(30)], big=[n % 3 // 2 for n in range(30)])
# The frames, options, which table is wrong in which row (or None for all of it), and what is said about it.
FAULTS: dict[str, tuple[Frames, dict[str, Any], str, int | None, str]] = {
    "an unknown source": (
        (NODES, with_cell(EDGES, 1, "source", "zed")),
        {},
        "edges",
        1,
        "the source 'zed' is not an id in {nodes}: correct it, or add a node with this id",
    ),
    "an empty target": (
        (NODES, with_cell(EDGES, 1, "target", None)),
        {},
        "edges",
        1,
        "the target is empty: name an id in {nodes}, or remove the edge",
    ),
    "an id twice": (
        (with_cell(NODES, 4, "id", "n2"), EDGES),
        {},
        "nodes",
        4,
        "the id 'n2' is already in {2}: all ids must differ",
    ),
    "an empty id": ((with_cell(NODES, 4, "id", None), EDGES), {}, "nodes", 4, "the id is empty: give every node an id"),
    "infinity": (
        (with_cell(NODES, 5, "x", float("inf")), EDGES),
        {},
        "nodes",
        5,
        "the feature 'x' must be a finite number, got inf (or a number beyond 1.8e+308): correct it, or leave it empty "
        "if it is unknown",
    ),
    "a text among numbers": (
        (with_cell(NODES, 6, "x", "oops"), EDGES),
        {},
        "nodes",
        6,
        "the column 'x' holds 'oops', but most others are numbers: correct it, or leave it empty if it is unknown",
    ),
    "a negative weight": (
        (NODES, with_cell(WEIGHTED, 2, "weight", -1.0)),
        {},
        "edges",
        2,
        "the weight '-1.0' must be a number that is not negative: correct it",
    ),
    "a weight that is a text": (
        (NODES, with_cell(WEIGHTED, 1, "weight", "much")),
        {},
        "edges",
        1,
        "the weight 'much' must be a number that is not negative: correct it",
    ),
    "an infinite weight": (
        (NODES, with_cell(WEIGHTED, 1, "weight", float("inf"))),
        {},
        "edges",
        1,
        "the weight 'inf' is too large, expected at most 3.4e+38: correct it, or scale all weights",
    ),
    "a weight beyond float32": (
        (NODES, with_cell(WEIGHTED, 1, "weight", 1e39)),
        {},
        "edges",
        1,
        "the weight '1e+39' is too large, expected at most 3.4e+38: correct it, or scale all weights",
    ),
    "two weights": (
        (NODES, pd.DataFrame({"source": ["n0", "n1", "n1"], "target": ["n1", "n2", "n0"], "weight": [1.0, 2.0, 4.0]})),
        {},
        "edges",
        2,
        "the edge of {0} is repeated with another weight (1 and 4): keep one, or read the graph with directed=True if "
        "they have opposite directions",
    ),
    "a role": (
        (NODES.assign(split=["train"] * 20 + ["exam"] * 10), EDGES),
        {},
        "nodes",
        20,
        "the column 'split' must hold train, val, test or nothing, got 'exam'",
    ),
    "the label -1": (
        (NODES.assign(label=[-1] + [1] * 29), EDGES),
        {},
        "nodes",
        0,
        "the label -1 is ambiguous: leave it empty if it is unknown, or give the class another name",
    ),
    "a text among several labels": (
        (with_cell(LABELS, 7, "big", "huge"), EDGES),
        {"label": ["red", "big"]},
        "nodes",
        7,
        "several labels must be numbers, but 'big' holds 'huge': correct it, or leave it empty if it is unknown",
    ),
    "a text among numbers to predict": (
        (NODES.assign(label=[*(str(n / 4) for n in range(29)), "oops"]), EDGES),
        {},
        "nodes",
        29,
        "the column 'label' holds 'oops', but most others are numbers: correct it, or leave it empty if it is unknown",
    ),
    "no source": (
        (NODES, EDGES.rename(columns={"source": "from"})),
        {},
        "edges",
        None,
        "has no column 'source': its columns are from, target; add it, or ",
    ),
    "two columns": (
        (NODES.assign(**{"x ": 1.0}), EDGES),
        {},
        "nodes",
        None,
        "has two columns 'x': rename one of them",
    ),
    "no rows": ((NODES[:0], EDGES[:0]), {}, "nodes", None, "has no rows: add one per node"),
    "no features": (
        (NODES[["id"]].assign(label="a"), EDGES),
        {},
        "nodes",
        None,
        "has no column of features besides id, label: add at least one",
    ),
    "no such label": (
        (NODES, EDGES),
        {"label": "kind"},
        "nodes",
        None,
        "has no column 'kind' for the label: choose from x",
    ),
}


IN_LINES = (from_csv, streamed_csv)
# Spaces around the name of a column are left out in CSV files alone, so only there two columns become one.
CASES = [(fault, read) for fault in FAULTS for read in READERS if fault != "two columns" or read in IN_LINES]


@pytest.mark.parametrize(("fault", "read"), CASES, ids=[f"{fault}-{read.__name__}" for fault, read in CASES])
def test_the_same_words(fault: str, read: Callable[..., object], tmp_path: Path) -> None:
    frames, options, table, row, problem = FAULTS[fault]
    in_lines = read in IN_LINES
    ending = "" if read is from_pandas else ".csv" if in_lines else ".parquet"
    names = [f"line {number + 2}" if in_lines else f"row {number}" for number in range(30)]
    place = f"{table}{ending} " if row is None else f"{table}{ending}, {names[row]}: "
    with pytest.raises(DataError) as caught:
        read(frames, tmp_path, **options)
    wanted = place + problem.replace("{nodes}", f"nodes{ending}")
    for number, name in enumerate(names):
        wanted = wanted.replace(f"{{{number}}}", name)
    said = str(caught.value).replace("'nan'", "'inf'")
    assert said.startswith(wanted) or f"/{wanted}" in said, said
    assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize("read", READERS, ids=[read.__name__ for read in READERS])
def test_unknown_labels_may_be_written_in_words(read: Callable[..., Any], tmp_path: Path) -> None:
    """NA among numbers to predict is no class, and yes is 1 among several labels."""
    amounts = NODES.assign(label=["NA", *(str(n / 4) for n in range(29))])
    assert _task(read((amounts, EDGES), tmp_path)) == "regression"
    hot = LABELS.assign(red=LABELS["red"] == 1, big=["yes", "no", ""] * 10)
    (tmp_path / "other").mkdir()
    assert _task(read((hot, EDGES), tmp_path / "other", label=["red", "big"])) == "multilabel"


def _task(read: Any) -> str:
    return str(read.task if isinstance(read, Graph) else read.manifest.task)


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        (b"id,x\na,1\n\nb\n", "nodes.csv, line 4: 1 values, expected 2, one for each column"),
        (b"id,x\na,1\nb,2,3\n", "nodes.csv, line 3: 3 values, expected 2, one for each column"),
        (b"id,x\na,1\nb,\xff\n", "nodes.csv is not UTF-8 text in line 3: save it as UTF-8"),
        (b"id;x\na;1\n", "nodes.csv has no column 'id': its columns are id;x; commas must separate the columns"),
        (b"", "nodes.csv is empty: its first line must name the columns id,..."),
        (b'id,x\n"a\nb",1\n\nc,inf\n', "nodes.csv, line 5: the feature 'x' must be a finite number, got inf"),
    ],
)
def test_lines_of_text(nodes: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_bytes(nodes)
    (tmp_path / "edges.csv").write_text("source,target\n")
    with pytest.raises(DataError) as whole:
        read_graph(tmp_path)
    with pytest.raises(DataError) as streamed:
        partition_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", 2, tmp_path / "parts")
    assert str(streamed.value) == str(whole.value)
    assert problem in str(whole.value)


def test_the_file_of_a_row_is_named(tmp_path: Path) -> None:
    files = written((NODES, EDGES), tmp_path / "graph", "parquet")
    (tmp_path / "nodes").mkdir()
    NODES[:10].to_parquet(tmp_path / "nodes" / "a.parquet")
    with_cell(NODES[10:], 12, "id", "n3").to_parquet(tmp_path / "nodes" / "b.parquet")
    with pytest.raises(DataError, match=r"nodes, row 2 of b.parquet: the id 'n3' is already in row 3 of a.parquet"):
        partition_tables(tmp_path / "nodes", files[1], 2, tmp_path / "parts")


def test_two_columns_of_a_parquet_file(tmp_path: Path) -> None:
    _, edges = written((NODES, EDGES), tmp_path / "graph", "parquet")
    table = pa.table([pa.array(["n0", "n1"]), pa.array([1, 2]), pa.array([1, 2])], names=["id", "x", "x"])
    pq.write_table(table, tmp_path / "graph" / "nodes.parquet")
    with pytest.raises(DataError, match=r"nodes.parquet has two columns 'x': rename one of them"):
        read_graph(tmp_path / "graph")
    with pytest.raises(DataError, match=r"nodes.parquet has two columns 'x': rename one of them"):
        partition_tables(tmp_path / "graph" / "nodes.parquet", edges, 2, tmp_path / "parts")
