"""The sparse matrix by rows and by columns."""

from typing import Any

import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

from justjump.ops import Adjacency, SparseMatrix, matrix, spmm

ENTRIES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=20)


@given(ENTRIES)
def test_entries_in_any_order(entries: list[tuple[int, int]]) -> None:
    row, col = torch.tensor(entries, dtype=torch.int64).reshape(-1, 2).T
    weight = torch.arange(1.0, 1 + len(entries))
    made = SparseMatrix.from_entries((6, 4), row, col, weight)
    dense = torch.zeros(6, 4).index_put((row, col), weight, accumulate=True)
    assert made.num_entries == len(entries)  # two entries at one place stay two entries
    assert torch.equal(made.to_dense(), dense)
    by_column = made.weight_by_column
    assert by_column is not None
    again = torch.zeros(6, 4)
    again.index_put_(
        (made.row.long(), torch.arange(4).repeat_interleave(made.colptr.diff())), by_column, accumulate=True
    )
    assert torch.equal(again, dense)
    counted = SparseMatrix.from_entries((6, 4), row, col)
    assert counted.weight_by_column is None
    assert torch.equal(counted.to_dense(), torch.zeros(6, 4).index_put((row, col), torch.ones(()), accumulate=True))


@given(ENTRIES, st.lists(st.integers(0, 5), max_size=8))
def test_some_rows(entries: list[tuple[int, int]], rows: list[int]) -> None:
    row, col = torch.tensor(entries, dtype=torch.int64).reshape(-1, 2).T
    made = SparseMatrix.from_entries((6, 4), row, col, torch.arange(1.0, 1 + len(entries)))
    wanted = torch.tensor(rows, dtype=torch.int64)
    assert torch.equal(made.take(wanted).to_dense(), made.to_dense()[wanted])


def test_from_scipy() -> None:
    sparse = scipy.sparse.random(5, 7, density=0.4, random_state=0)
    for dtype, expected in (("float64", torch.float64), ("float32", torch.float32), ("int64", torch.float32)):
        made = SparseMatrix.from_scipy(sparse.astype(dtype).tocsc())
        assert made.weight is not None
        assert made.weight.dtype == expected
        assert torch.equal(made.to_dense(), torch.from_numpy(sparse.astype(dtype).toarray()).to(expected))
    assert repr(made) == f"SparseMatrix(shape=(5, 7), entries={sparse.nnz})"


def test_what_is_made_in_inference_mode_serves_training() -> None:
    with torch.inference_mode():
        made = SparseMatrix.from_scipy(scipy.sparse.random(5, 7, density=0.4, random_state=0))
        spmm(made, torch.ones(7, 2))
    x = torch.ones(7, 2, requires_grad=True)
    spmm(made, x).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize(
    ("row", "col", "message"),
    [([0, 1], [1, 7], "col holds 7"), ([0, 3], [1, 1], "row holds 3"), ([0], [-1], "col holds -1")],
)
def test_entries_out_of_range_are_refused(row: list[int], col: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=f"{message}, expected numbers from 0 to 2"):
        SparseMatrix.from_entries((3, 3), torch.tensor(row), torch.tensor(col))


def test_the_constructor_validates() -> None:
    rowptr, col = torch.tensor([0, 1, 2]), torch.tensor([0, 4])
    assert spmm(SparseMatrix((2, 5), rowptr, col), torch.eye(5)).argmax(1).tolist() == [0, 4]
    with pytest.raises(ValueError, match="rowptr holds 3 numbers, expected one per row and one more"):
        SparseMatrix((3, 5), rowptr, col)
    with pytest.raises(ValueError, match="col holds 4, expected numbers from 0 to 3"):
        SparseMatrix((2, 4), rowptr, col)


def test_indices_are_narrow_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ((2, 5), torch.tensor([0, 0, 1, 1, 2])[::2], torch.tensor([0, 4]))
    made = SparseMatrix(*arguments)
    assert (made.rowptr.dtype, made.col.dtype, made.rowptr.is_contiguous()) == (torch.int32, torch.int32, True)
    monkeypatch.setattr(matrix, "INT32_MAX", 4)
    assert SparseMatrix(*arguments).col.dtype == torch.int64


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_a_pointer_whose_differences_wrap_around_is_refused(dtype: torch.dtype) -> None:
    most = torch.iinfo(dtype).max
    rowptr, col = torch.tensor([0, most, -most - 1, -1, 3], dtype=dtype), torch.tensor([0, 1, 2], dtype=dtype)
    assert bool((rowptr.diff() >= 0).all())
    with pytest.raises(ValueError, match="rowptr must ascend from 0 to the number of entries, 3"):
        SparseMatrix((4, 4), rowptr, col)
    with pytest.raises(ValueError, match="rowptr must ascend from 0 to the number of entries, 3"):
        Adjacency(rowptr, col)


@pytest.mark.parametrize(
    ("row", "col", "weight", "message"),
    [
        ([0, 1], [0, 1, 2], None, "row holds 2 numbers and col 3"),
        ([0, 1, 2], [0], None, "row holds 3 numbers and col 1"),
        ([0, 1, 2], [0, 1, 2], [1.0] * 9, r"weight has shape \[9\], expected \[3\]"),
        ([0, 1, 2], [0, 1, 2], [1.0] * 2, r"weight has shape \[2\], expected \[3\]"),
        ([0.9, 1, 2], [0, 1, 2], None, "row is torch.float32 of shape .*, expected a vector of integers"),
        ([0, 1, 2], [0, 1, 2], [1j, 1, 1], "weight has dtype torch.complex64, expected real numbers"),
        ([0, 1, 2], [[0, 1, 2]], None, "col is torch.int64 of shape .*, expected a vector of integers"),
    ],
)
def test_entries_that_do_not_fit_are_refused(row: Any, col: Any, weight: Any, message: str) -> None:
    values = None if weight is None else torch.tensor(weight)
    with pytest.raises(ValueError, match=message):
        SparseMatrix.from_entries((3, 3), torch.tensor(row), torch.tensor(col), values)


def test_arguments_of_another_type_are_refused() -> None:
    row = torch.tensor([0])
    with pytest.raises(TypeError, match="row is of type list, expected a tensor"):
        SparseMatrix.from_entries((3, 3), [0], row)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="weight is of type list, expected a tensor"):
        SparseMatrix.from_entries((3, 3), row, row, [1.0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="rowptr is of type list, expected a tensor"):
        Adjacency([0, 1], [0])  # type: ignore[arg-type]
    for shape in ((1, 2.5), (1, -1), (1,), (1, 2**64)):
        with pytest.raises(ValueError, match="expected two numbers of rows and columns"):
            SparseMatrix(shape, torch.tensor([0, 0]), row[:0])  # type: ignore[arg-type]


def test_rows_that_are_no_integers_are_refused() -> None:
    matrix = SparseMatrix.from_scipy(scipy.sparse.eye(3, format="csr"))
    with pytest.raises(ValueError, match="rows is torch.float32 of shape .1., expected a vector of integers"):
        matrix.take(torch.tensor([0.7]))
    with pytest.raises(ValueError, match="weight has dtype torch.complex128, expected real numbers"):
        SparseMatrix.from_scipy(scipy.sparse.eye(3, format="csr") * 1j)


def test_columns_ascend_in_a_matrix_of_any_width() -> None:
    col = torch.tensor([2**61, 5, 7, 6])
    made = SparseMatrix.from_entries((5, 2**62), torch.tensor([4, 4, 0, 1]), col, torch.arange(4.0))
    assert made.rowptr.tolist() == [0, 1, 2, 2, 2, 4]
    assert made.col.tolist() == [7, 6, 5, 2**61]
    assert made.weight is not None
    assert made.weight.tolist() == [2, 3, 1, 0]
