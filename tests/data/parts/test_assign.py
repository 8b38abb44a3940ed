"""Hash parts are a function of the node's number; a user's own parts are checked."""

from pathlib import Path

import numpy as np
import pytest

from justjump.data import DataError
from justjump.data.parts.assign import check_parts, given_parts, hash_parts


def test_hash_parts_depend_on_the_number_alone() -> None:
    few, many = hash_parts(1000, 7), hash_parts(2**20 + 5000, 7)
    assert np.array_equal(few, many[:1000])
    sizes = np.bincount(many)
    assert sizes.max() < 1.01 * sizes.mean()
    assert hash_parts(0, 3).shape == (0,)


def test_own_parts_as_an_array_or_a_file(tmp_path: Path) -> None:
    own = np.array([2, 0, 1, 1])
    np.save(tmp_path / "own.npy", own)
    (tmp_path / "own.csv").write_text("part,id\n1,c\n2,a\n0, b\n1,d\n")
    (tmp_path / "numbers.csv").write_text("id,part\n3,1\n2,1\n1,0\n0,2\n")
    for method, names in (
        (own, None),
        (own.tolist(), None),
        (tmp_path / "own.npy", None),
        (str(tmp_path / "own.csv"), ("a", "b", "c", "d")),
        (tmp_path / "numbers.csv", None),
    ):
        assert given_parts(method, 4, 3, names).tolist() == [2, 0, 1, 1]


WRONG = {
    "id,part\n0,1\n1,1\n": "has no part for the node '2': add it",
    "id,part\n0,1\n7,1\n": "line 3: the id '7' is not that of a node",
    "id,part\n0,1\n1,1\n0,0\n": "line 4: the node '0' has a part already: give each node one line",
    "id,part\n0,x\n": "line 2: the part 'x' must be a number",
    "id,part\n0,-1\n": "line 2: the part '-1' must be a number",
    "id,part\n0,0\n1,3\n2,0\n": "must hold numbers from 0 to 2, but node 1 has 3",
    "id,share\n0,0\n": "has no column 'part'",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_csv_files(text: str, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(text)
    with pytest.raises(DataError, match=WRONG[text]):
        given_parts(tmp_path / "own.csv", 3, 3, None)


def test_wrong_arrays_and_files(tmp_path: Path) -> None:
    for own, message in (
        (np.zeros(2, int), "must be 3 whole numbers, one per node, got int64 of shape .2."),
        (np.zeros(3), "must be 3 whole numbers"),
        (np.array([0, -1, 0]), "but node 1 has -1"),
        (np.array([0, 0, 5]), "must hold numbers from 0 to 2, but node 2 has 5"),
        ("matis", "method='matis' is unknown: choose metis, hash, or a .npy or .csv file"),
        (tmp_path / "no.npy", "cannot read .*no.npy: No such file"),
        (tmp_path / "no.csv", "no.csv does not exist: name a file"),
    ):
        with pytest.raises(DataError, match=message):
            given_parts(own, 3, 3, None)
    (tmp_path / "bad.npy").write_bytes(b"no array at all")
    np.save(tmp_path / "objects.npy", np.array([{}, {}, {}]), allow_pickle=True)
    for name in ("bad.npy", "objects.npy"):
        with pytest.raises(DataError, match="it is no .npy file of whole numbers"):
            given_parts(tmp_path / name, 3, 3, None)


def test_numbers_of_parts() -> None:
    assert check_parts(np.int32(4)) == 4
    for wrong in (2.0, "2", True):
        with pytest.raises(TypeError, match=f"parts={wrong!r} is of type {type(wrong).__name__}, expected an int"):
            check_parts(wrong)
