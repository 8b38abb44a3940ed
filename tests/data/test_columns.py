"""Columns of several kinds."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from justjump.data import Column, DataError, Table


def test_kinds_of_values() -> None:
    table = Table.of(
        {
            "int": np.array([1, 2, 3]),
            "float": [0.5, None, 1],
            "bool": np.array([True, False, True]),
            "some bool": [True, None, False],
            "date": np.array(["1970-01-02", "NaT", "1970-01-01"], dtype="datetime64[ns]"),
            "duration": np.array([36, 12, 24], dtype="timedelta64[h]"),
            "text": ["a", b"b", ""],
            "mixed": ["x", 1, None],
        }
    )
    kinds = ["number", "number", "boolean", "boolean", "date", "number", "category", "category"]
    assert [column.kind for column in table.columns] == kinds
    assert table.shape == (3, 8)
    assert str(table["float"].numbers().tolist()) == "[0.5, nan, 1.0]"
    assert str(table["some bool"].numbers().tolist()) == "[1.0, nan, 0.0]"
    assert str(table["date"].numbers().tolist()) == "[1.0, nan, 0.0]"
    assert table["duration"].numbers().tolist() == [1.5, 0.5, 1.0]
    assert table["text"].positions(["b"]).tolist() == [1, 0, -1]
    assert table["mixed"].positions(["1"]).tolist() == [1, 0, -1]


def test_numbers_have_texts_where_a_category_is_wanted() -> None:
    assert Column("zip", "number", np.array([22.0, 0.5, np.nan, 7])).positions(["22", "0.5"]).tolist() == [0, 1, -1, 2]


def test_free_text_is_left_out_by_name() -> None:
    table = Table.of({"note": [f"note {number}" for number in range(100)], "age": np.arange(100)})
    assert table.names == ("age",)
    assert table.left_out == ("note",)
    assert table.take(np.array([3, 5]))["age"].values.tolist() == [3, 5]
    assert table.take(np.array([3, 5])).left_out == ("note",)


def test_concat_matches_texts() -> None:
    first, second = Table.of({"x": ["b", "a"], "n": [1, 2]}), Table.of({"n": [3, None], "x": ["c", "a"]})
    joined = Table.concat([first, second])
    assert joined.names == ("x", "n")
    assert joined["x"].positions(["a", "b", "c"]).tolist() == [1, 0, 2, 0]
    empty = Table.of({"x": [None], "n": [""]})
    assert Table.concat([empty, second])["x"].positions(["a", "c"]).tolist() == [-1, 1, 0]
    assert str(Table.concat([Table.of({"x": ["a"], "n": [None]}), second])["n"].values.tolist()) == "[nan, 3.0, nan]"
    flags = Table.concat([Table.of({"x": ["yes", "no"], "n": [1, 2]}), first])["x"]
    assert (flags.kind, flags.texts) == ("category", ("a", "b", "no", "yes"))
    with pytest.raises(DataError, match="the column 'x' is a category in one table and a number in another"):
        Table.concat([first, Table.of({"x": [1, 2], "n": [1, 2]})])
    with pytest.raises(DataError, match="not all tables have the column 'n'"):
        Table.concat([first, Table.of({"x": ["a"]})])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "there is no column of features"),
        ({"x": [1], "y": [1, 2]}, "one value per node, got 1 and 2"),
        ({"x": np.ones((2, 2))}, r"'x' must have one value per node, got \[2, 2\]"),
        ({"x": [1.0, np.inf]}, "row 1: the feature 'x' must be a finite number, got inf"),
        ({"x": np.array([1j, 2])}, "'x' must hold numbers, texts, booleans or dates, got complex128"),
        ({"note": ["word " * 100, "b"]}, r"all columns of features are free text, which is left out \(note\)"),
        ({"x": ["2026-03-01"] * 9 + ["March"]}, "row 9: the column 'x' holds 'March', but most others are dates"),
        ({"x": [*range(40), "4O"]}, "row 40: the column 'x' holds '4O', but most others are numbers"),
    ],
)
def test_errors(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Table.of(columns)


def test_columns_are_checked() -> None:
    with pytest.raises(DataError, match="none of its texts"):
        Column("x", "category", np.array([0, 2]), ("a", "b"))
    with pytest.raises(DataError, match="not all its texts are true or false"):
        Column("x", "boolean", np.array([0, 1]), ("no", "maybe"))
    with pytest.raises(DataError, match="two columns 'x'"):
        Table((Column("x", "number", np.ones(2)), Column("x", "number", np.ones(2))))
    with pytest.raises(DataError, match="'x' must hold numbers, or yes and no, but node 2 has 'a': correct"):
        Column("x", "category", np.array([1, -1, 0, 2]), ("a", "yes", "1")).numbers()
    with pytest.raises(KeyError):
        Table.of({"x": [1]})["y"]


def test_nan_among_texts_is_missing() -> None:
    column = Table.of({"city": np.array(["Bonn", float("nan"), "Ulm", None], dtype=object)})["city"]
    assert (column.texts, column.values.tolist()) == (("Bonn", "Ulm"), [0, -1, 1, -1])


def test_lists_are_left_out() -> None:
    table = Table.of({"x": [1, 2], "tags": pd.Series([["a"], None])})
    assert (table.names, table.left_out) == (("x",), ("tags",))
