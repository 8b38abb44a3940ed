"""What kind of column some cells make."""

import pytest

from justjump.data.cells import CellReader, CellSniffer, Kind


def sniffed(cells: list[str]) -> CellSniffer:
    sniffer = CellSniffer()
    for cell in cells:
        sniffer.add(cell)
    return sniffer


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", " -2.5e3 ", "0"], "number"),
        (["1", "", "n/a", "NaN", "?"], "number"),
        (["", ""], "number"),
        (["yes", "No", ""], "boolean"),
        (["true", "false", "none"], "boolean"),
        (["2020-02-29", "", "2021-01-01T10:30:00Z"], "date"),
        (["2020-02-30", "2020-01-01"], "category"),
        (["yes", "no", "maybe"], "category"),
        (["1", "2", "A7"], "category"),
        (["yes", "1"], "category"),
        (["2020-01-01", "5"], "category"),
        ([f"text {number}" for number in range(60)], "text"),
        ([f"value {number % 60}" for number in range(600)], "category"),
        (["word " * 100, "", ""], "text"),
        ([f"value {number}" for number in range(50)], "category"),
    ],
)
def test_kinds(cells: list[str], kind: str) -> None:
    assert sniffed(cells).kind() == kind


def test_a_text_among_numbers_is_odd() -> None:
    assert sniffed([str(number) for number in range(40)] + ["4O"]).odd() == (40, "4O", "number")
    assert sniffed(["1", "2", "3", "unknown"]).odd() is None  # codes, with a word for one of them
    assert sniffed([str(number) for number in range(40)] + ["n/a", ""]).odd() is None


def test_what_is_no_date_among_dates_is_odd() -> None:
    dates = [f"2026-03-{day:02}" for day in range(1, 11)]
    assert sniffed([*dates, "", "n/a"]).odd() is None
    assert sniffed([*dates, "", "2026-02-30"]).odd() == (11, "2026-02-30", "date")
    assert sniffed(["soon", *dates]).odd() == (0, "soon", "date")
    assert sniffed([*dates, "20260311"]).odd() == (10, "20260311", "date")
    assert sniffed([*dates, "a", "b", "c"]).odd() is None
    assert sniffed([*dates[:3], "soon"]).odd() is None


def test_plain_cells_are_finite_float32_numbers() -> None:
    assert sniffed(["1", "-3e38"]).is_plain
    for cell in ("1e39", "inf", "nan", "", "x"):
        assert not sniffed(["1", cell]).is_plain


@pytest.mark.parametrize(
    ("kind", "cells", "values", "texts"),
    [
        ("date", ["1970-01-02", "", "1969-12-31T12:00"], "[1.0, nan, -0.5]", ()),
        ("category", ["b", " a", "", "b", "none"], "[1, 0, -1, 1, 2]", ("a", "b", "none")),
        ("boolean", ["yes", "NO", "n/a"], "[1, 0, -1]", ("NO", "yes")),
        ("number", ["1", "", "x", "0x1"], "[1.0, nan, nan, nan]", ()),
    ],
)
def test_values(kind: Kind, cells: list[str], values: str, texts: tuple[str, ...]) -> None:
    reader = CellReader(kind)
    for cell in cells:
        reader.add(cell)
    found, names = reader.values()
    assert str(found.tolist()) == values
    assert names == texts
