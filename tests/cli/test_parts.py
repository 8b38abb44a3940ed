"""``justjump partition`` as a user meets it."""

import json
from pathlib import Path

import pytest

from command_line import justjump
from justjump.data import open_parts


@pytest.mark.slow
def test_a_dataset(tmp_path: Path) -> None:
    done = justjump("partition", "cora", "--parts", "4", "--output", tmp_path / "parts")
    lines = done.stdout.splitlines()
    assert lines[0] == "cora in 4 parts by metis"
    for words in ("nodes          2,708", "edges          10,556", "cut edges", "boundary rows", "balance"):
        assert any(words in line for line in lines), words
    assert open_parts(tmp_path / "parts").manifest.method == "metis"


@pytest.mark.slow
def test_tables_and_json(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,age,kind\na,31,x\nb,,y\nc,44,x\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    tables = ("--nodes", tmp_path / "nodes.csv", "--edges", tmp_path / "edges.csv")
    done = justjump("partition", *tables, "--parts", "2", "--output", tmp_path / "parts", "--label", "kind", "--json")
    facts = json.loads(done.stdout)
    assert (facts["nodes"], facts["edges"], facts["parts"], facts["method"]) == (3, 4, 2, "hash")
    parts = open_parts(tmp_path / "parts")
    assert facts["digest"] == parts.manifest.digest
    assert parts.manifest.class_names == ("x", "y")
    assert facts["boundary_rows"] == sum(part.num_halo for part in parts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name either GRAPH, or both --nodes and --edges"),
        (["--nodes", "nodes.csv"], "name either GRAPH, or both"),
        (["--nodes", "no.csv", "--edges", "edges.csv"], "no.csv does not exist: name a .csv or a .parquet file"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = justjump("partition", *arguments, "--parts", "2", "--output", tmp_path / "parts", code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
