"""What is done with columns: chosen by their values, kept as JSON, and applied again."""

import contextlib
import json
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, random_array

from generated_tables import TABLES, columns_and_classes
from justjump.data import DataError, Preprocessing, Table
from justjump.data.features import checked_features
from justjump.data.preprocess import Scale
from justjump.train import protocol

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=5)
NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False)


def again(preprocessing: Preprocessing) -> Preprocessing:
    return Preprocessing.from_json(json.loads(json.dumps(preprocessing.to_json())))


def dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.toarray() if isinstance(matrix, csr_matrix) else matrix)


def applied(preprocessing: Preprocessing, features: Any) -> np.ndarray:
    found = preprocessing.apply(features)
    assert found.dtype == np.float32
    assert found.shape[1] == preprocessing.num_outputs
    return dense(found).astype(float)


def column(values: Any, scale: Scale = "auto") -> tuple[str, list[list[float]]]:
    table = Table.of({"x": values})
    preprocessing = Preprocessing.fit(table, scale)
    return preprocessing.describe(), applied(preprocessing, table).T.round(3).tolist()


def test_the_scales_are_those_of_the_protocol() -> None:
    assert get_args(Scale) == get_args(protocol.Scale)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows = draw(st.integers(1, 6))
    kinds = [NUMBERS, TEXTS, st.booleans(), st.sampled_from(["2020-01-01", "2021-05-06T07:08", ""])]
    columns = {}
    for name in draw(st.lists(TEXTS, min_size=1, max_size=5, unique=True)):
        columns[name] = draw(st.lists(draw(st.sampled_from(kinds)), min_size=rows, max_size=rows))
    try:
        return Table.of(columns)
    except DataError:  # a text may say that a number is infinite
        reject()


@given(tables(), st.sampled_from(get_args(Scale)), st.randoms(use_true_random=False))
def test_round_trip_and_any_order_of_columns(table: Table, scale: Scale, random: Any) -> None:
    try:
        preprocessing = Preprocessing.fit(table, scale)
    except DataError:
        assert scale in ("none", "rows")  # as it is, a number may be too large
        return
    expected = applied(preprocessing, table)
    assert again(preprocessing) == preprocessing
    assert "\n" not in preprocessing.describe()
    assert np.isfinite(expected).all()
    names = list(table.names)
    random.shuffle(names)
    np.testing.assert_array_equal(applied(again(preprocessing), table.select(names)), expected)


@given(tables(), tables())
def test_any_other_values_are_finite_or_refused(table: Table, other: Table) -> None:
    place = dict(zip(table.names, other.columns, strict=False))
    if len(place) < len(table.names):
        return
    renamed = Table(tuple(type(found)(name, found.kind, found.values, found.texts) for name, found in place.items()))
    with contextlib.suppress(DataError):
        assert np.isfinite(applied(Preprocessing.fit(table), renamed)).all()


@pytest.mark.parametrize("make", TABLES)
def test_generated_tables_become_numbers_of_a_size_that_networks_take(make: str) -> None:
    table = Table.of(columns_and_classes(make)[0])
    x = applied(Preprocessing.fit(table), table)
    assert np.abs(x.mean(axis=0)).max() <= 1
    assert x.std(axis=0).max() <= 3
    assert np.abs(x).max() <= np.sqrt(len(x))


def test_numbers() -> None:
    assert column([10, 20, 30]) == ("x: standardised", [[-1.225, 0, 1.225]])
    assert column([0.5, -1, 1.5]) == ("", [[0.5, -1, 1.5]])
    assert column([0.5, -1, 1.5], "standard")[0] == "x: standardised"
    assert column([10, 20, 30], "none") == ("", [[10, 20, 30]])
    assert column([0, 1, 1]) == ("", [[0, 1, 1]])
    assert column([1, 1, 1]) == ("", [[1, 1, 1]])  # the features of graphs that have none
    assert column([5, 5, 5]) == ("x: ignored (all equal or missing)", [[0, 0, 0]])
    assert column([None, None]) == ("x: ignored (all equal or missing)", [[0, 0]])
    assert column([7]) == ("x: ignored (all equal or missing)", [[0]])
    assert column([1e308, -1e308, 0])[1] == [[1.225, -1.225, 0]]
    assert column([5e-324, 0, 2]) == ("", [[0, 0, 2]])
    assert column(["yes", "no", "yes"]) == ("", [[1, 0, 1]])


def test_missing_numbers_are_the_mean_and_marked() -> None:
    said, values = column([10, None, 30])
    assert said == "x: standardised (missing values marked)"
    assert values == [[-1, 0, 1], [0, 1, 0]]
    assert column([5, None, 5])[1] == [[0, 0, 0], [0, 1, 0]]
    assert column([10, None, 30], "none")[1] == [[10, 20, 30], [0, 1, 0]]
    complete = Preprocessing.fit(Table.of({"x": [10, 20, 30]}))
    assert applied(complete, Table.of({"x": [None, 30, None]})).T.round(3).tolist() == [[0, 1.225, 0]]
    left = Preprocessing.fit(Table.of({"x": [0.5, 1.5]}))
    assert applied(left, Table.of({"x": [None, 2]})).tolist() == [[1], [2]]


def test_outliers_do_not_hide_the_others() -> None:
    values = np.arange(1000.0)
    values[5] = 1e12
    preprocessing = Preprocessing.fit(Table.of({"x": values}))
    assert preprocessing.describe() == "x: standardised (outliers cut)"
    x = applied(preprocessing, Table.of({"x": values}))[:, 0]
    assert x[5] == 10
    assert 0.5 < np.delete(x, 5).std() < 2


def test_values_of_later_are_finite() -> None:
    preprocessing = Preprocessing.fit(Table.of({"x": [10, 20, 30]}))
    assert applied(preprocessing, Table.of({"x": [1e308, -1e308]})).tolist() == [[1e6], [-1e6]]
    left = Preprocessing.fit(Table.of({"x": [0.5, 1.5]}))
    with pytest.raises(DataError, match=r"node 1 has 1e\+300 in 'x', which is too large for float32"):
        left.apply(Table.of({"x": [0, 1e300]}))


def test_categories() -> None:
    said, values = column(["b", "a", "b"])
    assert said == "x: 2 categories"
    assert values == [[0, 1, 0], [1, 0, 1], [0, 0, 0]]  # a, b, other
    said, values = column(["b", "", "b"])
    assert said == "x: 1 category (missing values marked)"
    assert values == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert column(["b", "b"])[0] == "x: ignored (all equal or missing)"
    known = Preprocessing.fit(Table.of({"x": ["b", "a"]}))
    assert applied(known, Table.of({"x": ["new", "", "a"]})).tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert applied(known, Table.of({"x": [1, 2]})).tolist() == [[0, 0, 1], [0, 0, 1]]
    answers = Preprocessing.fit(Table.of({"x": ["yes", "no", "maybe"]}))
    assert applied(answers, Table.of({"x": ["yes", "no"]})).tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]


def test_rare_categories_share_a_column() -> None:
    values = [f"value {number}" for number in range(120) for _ in range(3 if number < 100 else 2)]
    preprocessing = Preprocessing.fit(Table.of({"x": values}))
    assert preprocessing.describe() == "x: 100 categories"
    x = preprocessing.apply(Table.of({"x": values}))
    assert isinstance(x, csr_matrix)
    assert x.shape == (340, 101)
    assert dense(x)[:, 100].sum() == 40
    assert dense(x).sum(axis=1).tolist() == [1] * 340


def test_arrays() -> None:
    x = np.array([[1000.0, 0, 0.5], [3000, 1, np.nan]], dtype=np.float32)
    preprocessing = Preprocessing.fit(x)
    assert preprocessing.describe() == (
        "column 0: standardised, column 1: as it is, column 2: standardised (missing values marked)"
    )
    assert applied(preprocessing, x).tolist() == [[-1, 0, 0, 0], [1, 1, 0, 1]]
    assert Preprocessing.fit(x, names=("a", "b", "c")).describe().startswith("a: standardised")
    named = Preprocessing.fit(Table.of({"a": [1, 3], "b": [4, 8]}))
    assert applied(named, np.array([[1.0, 8], [3, 4]])).tolist() == [[-1, 1], [1, -1]]


def test_what_networks_take_is_left_to_the_bit() -> None:
    array = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    preprocessing = Preprocessing.fit(array)
    assert not preprocessing.changes
    assert preprocessing.describe() == ""
    assert preprocessing.apply(array) is array
    for matrix in (
        random_array((60, 200), density=0.05, format="csr", random_state=0),
        random_array((60, 500), density=0.12, format="csr", random_state=0) / 100,
        random_array((60, 90), density=0.3, format="csr", random_state=0, data_sampler=lambda size: np.ones(size)),
    ):
        found = csr_matrix(matrix, dtype=np.float32)
        preprocessing = Preprocessing.fit(found)
        assert preprocessing.describe() == ""
        assert preprocessing.apply(found) is found


def test_mostly_zeros() -> None:
    array = np.zeros((40, 20), dtype=np.float32)
    array[3, 4] = 2
    array[5:8, 6] = 5000
    for features in (array, csr_matrix(array)):
        preprocessing = Preprocessing.fit(features)
        assert preprocessing.describe() == "20 columns: 1 scaled, 19 left as they are"
        x = preprocessing.apply(features)
        assert isinstance(x, csr_matrix)
        assert dense(x)[5:8, 6].tolist() == [1, 1, 1]
        assert dense(x)[3, 4] == 2
    array[0, 0] = np.nan
    assert dense(Preprocessing.fit(array).apply(array))[0, 1] == 1  # the mark of the missing value
    table = Table.of({f"word {number}": array[:, number] for number in range(1, 20)} | {"city": ["a", "b"] * 20})
    assert Preprocessing.fit(table).describe() == "20 columns: 1 scaled, 18 left as they are, 1 of categories"


def test_a_narrow_matrix_of_numbers_is_a_table() -> None:
    ages = csr_matrix(np.array([[0, 40, 0], [0, 0, 0], [1, 50, 0]], dtype=np.float32))
    preprocessing = Preprocessing.fit(ages)
    assert preprocessing.describe() == "column 0: as it is, column 1: standardised, column 2: as it is"
    assert isinstance(preprocessing.apply(ages), np.ndarray)
    assert applied(Preprocessing.fit(ages, "standard"), ages).std(axis=0).round(3).tolist() == [1, 1, 0]


def test_rows() -> None:
    table = Table.of({"x": [3, 0], "city": ["a", "b"]})
    preprocessing = Preprocessing.fit(table, "rows")
    assert applied(preprocessing, table).tolist() == [[0.75, 0.25, 0, 0], [0, 0, 1, 0]]
    assert Preprocessing.fit(np.ones((2, 2)), "rows").describe() == "each row divided by its sum"


def test_many_columns_are_counted() -> None:
    random = np.random.default_rng(0)
    table = Table.of(
        {f"amount {number}": random.normal(5, 9, 60) for number in range(12)}
        | {"city": ["a", "b", ""] * 20, "note": [f"note {number}" for number in range(60)], "flag": [0, 1] * 30}
    )
    assert Preprocessing.fit(table).describe() == (
        "14 columns: 12 standardised, 1 left as they are, 1 of categories, 1 with missing values marked, "
        "1 of text left out (note)"
    )


MANY = [str(number) for number in range(101)]
GOOD = Preprocessing.fit(Table.of({"x": [10, None], "city": ["a", "b"]})).to_json()


@pytest.mark.parametrize(
    "damage",
    [
        None,
        [],
        {"scale": "auto"},
        GOOD | {"more": 1},
        GOOD | {"scale": "all"},
        GOOD | {"scale": ["auto"]},
        GOOD | {"width": 0},
        GOOD | {"width": True},
        GOOD | {"width": 2**40},
        GOOD | {"width": 3},
        GOOD | {"names": ["x", "x"]},
        GOOD | {"names": ["x", 1]},
        GOOD | {"left_out": [1]},
        GOOD | {"dates": [1]},
        GOOD | {"dates": "x"},
        GOOD | {"recipes": {}},
        GOOD | {"recipes": [1]},
        GOOD | {"recipes": [{"column": 5, "kind": "constant"}]},
        GOOD | {"recipes": [{"column": 0, "kind": "constant"}] * 2},
        GOOD | {"recipes": [{"column": 0, "kind": "constant", "spread": 1}]},
        GOOD | {"recipes": [{"column": 0, "kind": "code", "text": "import os"}]},
        GOOD | {"recipes": [{"column": 0, "kind": "number", "spread": 0}]},
        GOOD | {"recipes": [{"column": 0, "kind": "number", "center": float("nan")}]},
        GOOD | {"recipes": [{"column": 0, "kind": "number", "center": 10**400}]},
        GOOD | {"recipes": [{"column": 0, "kind": "number", "center": "1"}]},
        GOOD | {"recipes": [{"column": 0, "kind": "number", "indicator": 1}]},
        GOOD | {"recipes": [{"column": 0, "kind": "number", "width": 10**9}]},
        GOOD | {"recipes": [{"column": 0, "kind": "category", "values": ["a", "a"], "indicator": False}]},
        GOOD | {"recipes": [{"column": 0, "kind": "category", "values": [], "indicator": False}]},
        GOOD | {"recipes": [{"column": 0, "kind": "category", "values": list("ab"), "indicator": None}]},
        GOOD | {"recipes": [{"column": 0, "kind": "category", "values": MANY, "indicator": True}]},
    ],
)
def test_damaged_json_is_refused(damage: Any) -> None:
    with pytest.raises(DataError, match="preprocessing") as caught:
        Preprocessing.from_json(damage)
    assert "\n" not in str(caught.value)


def test_other_features_are_refused() -> None:
    preprocessing = Preprocessing.from_json(GOOD)
    with pytest.raises(DataError, match="lacks columns: city"):
        preprocessing.apply(Table.of({"x": [1]}))
    with pytest.raises(DataError, match="3 columns, expected 2"):
        preprocessing.apply(np.ones((2, 3)))
    with pytest.raises(DataError, match="'x' must hold numbers, or yes and no, but node 0 has 'much'"):
        preprocessing.apply(Table.of({"x": ["much"], "city": ["a"]}))
    with pytest.raises(ValueError, match="scale='all' is unknown"):
        Preprocessing.fit(np.ones((2, 2)), "all")  # type: ignore[arg-type]


def test_dates_stay_dates() -> None:
    table = Table.of({"since": ["2026-01-01", "2026-03-01", ""], "age": [10, 20, 30]})
    preprocessing = again(Preprocessing.fit(table))
    later = Table.of({"since": ["2026-01-01", "2026-13-01", ""], "age": [1, 2, 3]})
    with pytest.raises(DataError, match="'since' must hold dates such as 2026-05-31, .* node 1 has '2026-13-01': corr"):
        preprocessing.apply(later)
    with pytest.raises(DataError, match="'since' must hold dates such as 2026-05-31, .* node 0 has '20260101'"):
        preprocessing.apply(Table.of({"since": [20260101], "age": [1]}))
    with pytest.raises(DataError, match="the column 'age' holds dates, but none in the graph of training"):
        preprocessing.apply(Table.of({"since": ["2026-01-01"], "age": ["2026-01-01"]}))
    assert np.isfinite(preprocessing.apply(Table.of({"since": [None, None], "age": [1, None]}))).all()
    older = {name: value for name, value in preprocessing.to_json().items() if name != "dates"}
    assert Preprocessing.from_json(older).digest == preprocessing.digest
    assert np.isfinite(Preprocessing.from_json(older).apply(Table.of({"since": [20260101], "age": [1]}))).all()


def test_every_output_has_a_name() -> None:
    table = Table.of({"age": [30, None, 52.5], "city": ["Bonn", "Ulm", None], "same": [1, 1, 1]})
    preprocessing = Preprocessing.fit(table)
    names = preprocessing.output_names
    assert names == [
        *("age", "age is missing", "city = Bonn", "city = Ulm", "city = another", "city is missing", "same"),
    ]
    numbers = preprocessing.apply(table)
    assert numbers.shape == (3, len(names)) == (3, preprocessing.num_outputs)
    assert numbers[1, names.index("age is missing")] == numbers[1, names.index("city = Ulm")] == 1


def test_missing_values_are_said_where_nothing_else_is_done() -> None:
    x = np.array([[0.5, np.nan], [-0.3, 0.2], [0.1, 0.4]], dtype=np.float32)
    for scale in ("auto", "none"):
        words = Preprocessing.fit(x, scale).describe()
        assert words == "column 0: as it is, column 1: as it is (missing values marked)"
    assert Preprocessing.fit(x[1:], "none").describe() == ""


def test_large_numbers_with_small_differences_keep_them() -> None:
    """Times in seconds differ by less than float32 can tell; ordinary numbers of double precision become float32."""
    times = 1.7e9 + np.random.default_rng(0).random((300, 1)) * 3600
    for features in (times, np.round(times).astype(np.int64)):
        checked = checked_features(features)
        assert isinstance(checked, np.ndarray)
        assert checked.dtype == np.float64
        done = Preprocessing.fit(checked).apply(checked)
        assert done.dtype == np.float32
        assert len(np.unique(done)) == len(np.unique(features))
        assert Preprocessing.fit(checked, "none").apply(checked).dtype == np.float32
    for features in (times - 1.7e9, np.arange(6).reshape(3, 2), np.full((3, 1), np.nan), np.full((2, 1), 1e9 + 1)):
        ordinary = checked_features(features)
        assert isinstance(ordinary, np.ndarray)
        assert ordinary.dtype == np.float32
