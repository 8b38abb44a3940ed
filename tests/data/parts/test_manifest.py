"""A manifest that was altered, or that is none, is refused in one sentence."""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from justjump.data import DataError, open_parts
from justjump.data.parts import Manifest
from made_graphs import made_graph


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "parts"
    made_graph("multiclass", 30).partition(3, folder, "hash")
    return folder


def test_it_is_read_as_it_was_written(written: Path) -> None:
    manifest = Manifest.read(written)
    assert manifest.num_nodes == 30
    assert manifest.num_parts == 3
    assert manifest.ranges.tolist()[-1] == 30
    assert manifest.to_json() | {"digest": manifest.digest} == json.loads((written / "manifest.json").read_text())


def set_to(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        for key in path[:-1]:
            values = values[key]
        values[path[-1]] = value

    return change


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "another format": (set_to("format", value="x"), "is no manifest of a graph in parts"),
    "another version": (set_to("version", value=2), "has version 2, expected 1: partition the graph again"),
    "another name": (set_to("name", value="x"), "was altered: its digest is not that of its content"),
    "another class": (set_to("class_names", 0, value="x"), "was altered"),
    "a digest": (set_to("digest", value="x"), "was altered"),
    "a size": (set_to("parts", 0, "nodes", value=-1), "is damaged .expected a size, got -1."),
    "a huge size": (set_to("parts", 0, "nodes", value=2**70), "is damaged .expected a size"),
    "no size": (lambda values: values["parts"][0].pop("halo"), "is damaged .there is no 'halo'"),
    "no parts": (set_to("parts", value=[]), "is damaged .there are no parts"),
    "a checksum": (set_to("parts", 0, "sha256", "col", value="zz"), "sha256 must be a digest"),
    "a flag": (set_to("sparse", value=1), "expected true or false"),
    "a task": (set_to("task", value="guess"), "name, task and method must be texts"),
    "a preprocessing": (set_to("preprocessing", value=None), "preprocessing must be an object"),
    "a name of a class": (set_to("class_names", value=[1]), "class_names must be texts"),
    "columns of labels": (set_to("label_columns", value=[None]), "label_columns must be texts"),
    "a seed": (set_to("seed", value="0"), "expected a size, got 0"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_noticed(change: str, written: Path, tmp_path: Path) -> None:
    values = json.loads((written / "manifest.json").read_text())
    CHANGES[change][0](values)
    (tmp_path / "manifest.json").write_text(json.dumps(values))
    with pytest.raises(DataError, match=CHANGES[change][1]):
        Manifest.read(tmp_path)


WRONG: tuple[Any, ...] = (None, True, -1, 0, 1.5, float("nan"), 2**70, 2**61, "x", "\ud800", [], [[]], {}, {"x": {}})


def places(values: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in a JSON value, at any depth; one element stands for all of a list."""
    inside = values.items() if isinstance(values, dict) else enumerate(values[:1]) if isinstance(values, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


@pytest.mark.slow
def test_a_wrong_value_in_any_place_is_a_data_error(written: Path, tmp_path: Path) -> None:
    original = (written / "manifest.json").read_text()
    for path in places(json.loads(original)):
        for wrong in WRONG:
            values = json.loads(original)
            set_to(*path, value=wrong)(values)
            (tmp_path / "manifest.json").write_text(json.dumps(values))
            if values != json.loads(original):
                with pytest.raises(DataError, match=r"manifest\.json"):
                    Manifest.read(tmp_path)
            # Whoever changed it may have written a digest that fits.
            values.pop("digest", None)
            digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
            (tmp_path / "manifest.json").write_text(json.dumps(values | {"digest": digest}))
            with contextlib.suppress(DataError):
                str(open_parts(tmp_path)).encode()


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "\ud800".encode("utf-8", "surrogatepass"), "[" * 100_000])
def test_files_that_are_no_json(text: str | bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(DataError, match="manifest.json is (not valid JSON|no manifest)"):
        Manifest.read(tmp_path)


@given(place=st.integers(0, 10_000), letter=st.integers(0, 255))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_other_byte(place: int, letter: int, written: Path, tmp_path: Path) -> None:
    content = bytearray((written / "manifest.json").read_bytes())
    content[place % len(content)] = letter
    (tmp_path / "manifest.json").write_bytes(bytes(content))
    message = ""
    try:
        digest = Manifest.read(tmp_path).digest
    except DataError as error:
        message = str(error)
    assert "\n" not in message
    assert message or digest == Manifest.read(written).digest  # white space means nothing


def test_a_manifest_must_name_the_arrays_of_its_parts(written: Path, tmp_path: Path) -> None:
    from justjump.data.parts.manifest import check_arrays

    manifest = Manifest.read(written)
    del manifest.parts[0].sha256["col"]  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="must name the arrays of part 0, but 'col' is wrong"):
        check_arrays(manifest)
    assert len(open_parts(written)) == 3
