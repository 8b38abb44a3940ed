"""Ids are found exactly, whole numbers and texts, also when two texts have the same hash."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from justjump.data import DataError
from justjump.data.faults import Rows
from justjump.data.parts import ids
from justjump.data.parts.ids import Ids, are_integers, text_hash, text_ids
from justjump.data.parts.source import TableSource


def ids_of(values: Any, folder: Path) -> Ids:
    pq.write_table(pa.table({"id": values}), folder / "nodes.parquet", row_group_size=3)
    source = TableSource(folder / "nodes.parquet", [folder / "nodes.parquet"])
    return Ids(source, are_integers(source.columns["id"]), folder)


def numbers(found: Ids, values: Any) -> list[int]:
    return found.numbers(pa.array(values), "source", 0, Rows("edges.parquet")).tolist()


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, min_size=1, max_size=30))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whole_numbers(values: list[int], tmp_path: Path) -> None:
    found = ids_of(values, tmp_path)
    assert found.integers
    assert numbers(found, values[::-1]) == list(range(len(values)))[::-1]
    assert found.names(0, len(values)) == [str(value) for value in values]


@given(values=st.lists(st.text(max_size=6).filter(lambda text: text == text.strip() != ""), unique=True, min_size=1))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_texts(values: list[str], tmp_path: Path) -> None:
    try:
        found = ids_of(values, tmp_path)
    except UnicodeEncodeError:  # half a surrogate pair is no text
        return
    trimmed = text_ids(pa.array(values), 0, Rows("nodes"), "empty").to_pylist()
    assert numbers(found, [f" {value}" for value in trimmed[::-1]]) == list(range(len(values)))[::-1]
    assert [found.name(number) for number in range(len(values))] == trimmed


def test_mixed_types_are_compared_as_texts(tmp_path: Path) -> None:
    assert numbers(ids_of(["7", "8"], tmp_path), [8, 7]) == [1, 0]
    assert numbers(ids_of([7.0, 8.0], tmp_path), ["8", "7"]) == [1, 0]
    assert numbers(ids_of(pa.array(["b", "a"]).dictionary_encode(), tmp_path), ["a", "b"]) == [1, 0]


@pytest.mark.parametrize("values", [[5, 3, 5], ["x", "y", " x"]])
def test_an_id_twice(values: list[Any], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f", row 2: the id '{values[0]}' is already in row 0: all ids must differ"):
        ids_of(values, tmp_path)


@pytest.mark.parametrize(("values", "other"), [([5, 3], 4), ([5, 3], 9), (["x", "y"], "z")])
def test_an_unknown_id(values: list[Any], other: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"edges.parquet, row 1: the source '{other}' is not an id in nodes.parquet"):
        numbers(ids_of(values, tmp_path), [values[0], other])


def test_texts_of_one_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a poor hash, known ids get another seed, and an unknown one is still not taken for a known one."""

    def poor(texts: Any, seed: int) -> np.ndarray:
        return text_hash(texts, seed) % np.uint64(2 if seed == 0 else 2**20)

    monkeypatch.setattr(ids, "text_hash", poor)
    names = [f"node {number}" for number in range(100)]
    found = ids_of(names, tmp_path)
    assert numbers(found, names) == list(range(100))
    monkeypatch.setattr(ids, "text_hash", lambda texts, seed: np.full(len(texts), found._keys[0]))
    with pytest.raises(DataError, match="the source 'stranger' is not an id"):
        numbers(found, ["stranger"])


def test_hashes_do_not_depend_on_the_batch() -> None:
    texts = pa.array([f"{'x' * (number % 7)}{number}" for number in range(5000)], pa.large_string())
    whole = text_hash(texts, 0)
    assert len(set(whole.tolist())) == 5000
    assert np.array_equal(whole[1000:1010], text_hash(texts[1000:1010], 0))
    assert not np.array_equal(whole, text_hash(texts, 1))
    ones = np.unpackbits(whole.view(np.uint8)).mean()
    assert 0.49 < ones < 0.51
