"""Arrays are written piece by piece, and numpy reads them as its own."""

from pathlib import Path

import numpy as np
import pytest

from justjump.data import DataError
from justjump.data.parts.npy import ArrayFile, check_array, mapped, write_array


@pytest.mark.parametrize("kind", ["<i4", "<i8", "<f4", "|b1", "|u1"])
@pytest.mark.parametrize("row", [(), (3,), (0,)])
def test_rows_in_pieces(kind: str, row: tuple[int, ...], tmp_path: Path) -> None:
    dtype = np.dtype(kind)
    values = np.random.RandomState(0).randint(0, 2, (7, *row)).astype(dtype)
    with ArrayFile(tmp_path / "a.npy", dtype, row) as file:
        for start, end in ((0, 2), (2, 2), (2, 7)):
            file.append(values[start:end])
    again = np.load(tmp_path / "a.npy", allow_pickle=False)
    assert again.dtype == dtype
    assert np.array_equal(again, values)
    assert np.array_equal(mapped(tmp_path / "a.npy", dtype, (7, *row)), values)


def test_an_unfinished_file_holds_nothing(tmp_path: Path) -> None:
    file = ArrayFile(tmp_path / "a.npy", np.dtype("<i8"))
    file.append(np.arange(3))
    with pytest.raises(DataError, match=r"holds int64 of shape .0., expected int64 of shape .3."):
        check_array(tmp_path / "a.npy", np.dtype("<i8"), (3,))


def test_other_arrays_are_refused(tmp_path: Path) -> None:
    long = np.dtype("<i8")
    write_array(tmp_path / "a.npy", np.arange(6), long)
    for dtype, shape in ((np.dtype("<i4"), (6,)), (long, (5,)), (long, (3, 2)), (np.dtype("<f8"), (6,))):
        with pytest.raises(DataError, match="a.npy holds int64 of shape .6., expected"):
            mapped(tmp_path / "a.npy", dtype, shape)
    np.save(tmp_path / "b.npy", np.asfortranarray(np.zeros((2, 3))))
    with pytest.raises(DataError, match="expected float64"):
        mapped(tmp_path / "b.npy", np.dtype("<f8"), (2, 3))
    np.save(tmp_path / "c.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(DataError, match="holds object of shape .1., expected int64"):
        mapped(tmp_path / "c.npy", long, (1,))


def test_sizes_beyond_64_bits_do_not_wrap_around(tmp_path: Path) -> None:
    file = ArrayFile(tmp_path / "a.npy", np.dtype("<i8"), (2**40,))
    file.length = 2**40
    file.close()
    with pytest.raises(DataError, match=f"has 128 bytes, expected {128 + 8 * 2**80}"):
        check_array(tmp_path / "a.npy", np.dtype("<i8"), (2**40, 2**40))
